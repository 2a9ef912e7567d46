"""Decides who is to be told of what: one notice per event and receiver, however many processes.

What happened is read from the request itself, so nothing is lost between a change and its notice.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction

from approvals.keepers import who_could_decide
from approvals.models import (
    ApprovalRequest,
    ApproverGroup,
    Notice,
    NoticePreference,
    Vote,
    Webhook,
)
from approvals.models.requests import UNTOLD
from approvals.selectors import in_force, why_not
from approvals.services.notices import USUAL
from approvals.states import RequestState
from contextos.core.clock import utcnow
from contextos.identity.models import User

AT_ONCE = 100
OPENED, ESCALATED, REMINDED = "opened", "escalated", "reminded"
WAITING = frozenset({OPENED, ESCALATED, REMINDED})
OUTCOMES = {
    RequestState.APPROVED: "approved",
    RequestState.CONSUMED: "approved",
    RequestState.REJECTED: "rejected",
    RequestState.EXPIRED: "expired",
    RequestState.CANCELLED: "cancelled",
    RequestState.VOIDED: "voided",
}
EMAIL, SIGNED, CHAT = "email", "signed", "chat"
_WISHES = {OPENED: "on_request", ESCALATED: "on_request", REMINDED: "on_reminder"}


@dataclass(frozen=True, slots=True)
class Event:
    """Something to tell of; `level` counts stages, escalations and reminders."""

    name: str
    level: int


def plan_notices(now: datetime | None = None) -> int:
    """Write down whom to tell of what nobody has been told of yet; how many notices."""
    moment = now or utcnow()
    rows = ApprovalRequest.objects.filter(UNTOLD).order_by("created_at")
    return sum(_planned(request, moment) for request in rows[:AT_ONCE])


@transaction.atomic
def _planned(request: ApprovalRequest, now: datetime) -> int:
    """The process that moves the told columns is the one that writes the notices."""
    if not _taken(request):
        return 0
    notices = [
        _notice(request, event, channel, receiver, now)
        for event in events_of(request)
        for channel, receiver in _receivers(request, event)
    ]
    return len(Notice.objects.bulk_create(notices, ignore_conflicts=True))


def _taken(request: ApprovalRequest) -> bool:
    rows = ApprovalRequest.objects.filter(
        pk=request.pk,
        told_state=request.told_state,
        told_stage=request.told_stage,
        told_escalation=request.told_escalation,
        told_reminders=request.told_reminders,
    )
    seen = {
        "told_state": request.state,
        "told_stage": request.stage,
        "told_escalation": request.escalation,
        "told_reminders": request.reminders,
    }
    return rows.update(**seen) == 1


def events_of(request: ApprovalRequest) -> list[Event]:
    """What happened since people were last told; who hears that it waits needs no reminder too."""
    if request.state != RequestState.PENDING:
        return [Event(OUTCOMES[RequestState(request.state)], 0)]
    if request.told_state != RequestState.PENDING or request.stage > request.told_stage:
        return [Event(OPENED, request.stage)]
    if request.escalation > request.told_escalation:
        return [Event(ESCALATED, request.escalation)]
    if request.reminders > request.told_reminders:
        return [Event(REMINDED, request.reminders)]
    return []


# --- who -----------------------------------------------------------------------------------------
def _receivers(request: ApprovalRequest, event: Event) -> Iterator[tuple[str, str]]:
    people = _wanting(request.tenant_id, event, people_to_tell(request, event))
    yield from ((EMAIL, user.user_id) for user in people)
    hooks = Webhook.objects.filter(tenant_id=request.tenant_id, is_active=True)
    for hook in hooks:
        if not hook.gates or request.gate_id in hook.gates:
            yield hook.kind, str(hook.pk)


def people_to_tell(request: ApprovalRequest, event: Event) -> list[User]:
    """Whoever can decide now, stand-ins among them; of an outcome, whoever keeps the gate."""
    if event.name not in WAITING:
        return _keepers(request)
    deciders = who_could_decide(request)
    return list({user.pk: user for user in [*deciders, *_stand_ins(request)]}.values())


def _stand_ins(request: ApprovalRequest) -> list[User]:
    """Those who could vote for somebody who is away."""
    now = utcnow()
    given = in_force(request.tenant_id, now).select_related("giver", "stand_in")
    return [
        item.stand_in
        for item in given
        if item.covers(request.gate_id)
        and why_not(item.stand_in, request, item.giver, now=now) is None
    ]


def _keepers(request: ApprovalRequest) -> list[User]:
    """The groups of every stage and everybody who voted, without those the request is about."""
    stages = request.terms.get("stages", [])
    names = {group for stage in stages for group in stage.get("groups", [])}
    groups = ApproverGroup.objects.filter(tenant_id=request.tenant_id, name__in=names)
    keeping = User.objects.filter(groups__in=groups.values("group"))
    votes = Vote.objects.filter(request=request)
    voting = User.objects.filter(pk__in=votes.values("approver"))
    people = (keeping.distinct() | voting.distinct()).filter(is_active=True)
    return list(people.exclude(user_id__in=request.excluded).order_by("username"))


def _wanting(tenant_id: str, event: Event, people: Iterable[User]) -> list[User]:
    wish = _WISHES.get(event.name, "on_outcome")
    rows = NoticePreference.objects.filter(tenant_id=tenant_id)
    said = dict(rows.values_list("user_id", wish))
    return [user for user in people if said.get(user.pk, USUAL[wish])]


def _notice(
    request: ApprovalRequest, event: Event, channel: str, receiver: str, now: datetime
) -> Notice:
    return Notice(
        mark=f"{request.pk}:{event.name}:{event.level}:{channel}:{receiver}",
        tenant_id=request.tenant_id,
        approval_id=request.pk,
        event=event.name,
        channel=channel,
        receiver=receiver,
        due_at=now,
    )
