"""What people want to hear of, and trying a failed message again."""

from __future__ import annotations

from django.db import transaction

from approvals.models import Notice, NoticePreference
from approvals.outbox import revive
from audit.services import record_event
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.identity.actors import person, require_authority
from contextos.identity.models import User

USUAL = {"on_request": True, "on_reminder": True, "on_outcome": False}


def wishes_of(user: User, tenant_id: str) -> dict[str, bool]:
    """What somebody wants to hear of in a tenant; the usual until they choose."""
    row = NoticePreference.objects.filter(user=user, tenant_id=tenant_id).values(*USUAL).first()
    return dict(row) if row else dict(USUAL)


@transaction.atomic
def choose_notices(
    *, user: User, tenant_id: str, on_request: bool, on_reminder: bool, on_outcome: bool
) -> NoticePreference:
    """A person's own choice in one tenant."""
    before = wishes_of(user, tenant_id)
    after = {"on_request": on_request, "on_reminder": on_reminder, "on_outcome": on_outcome}
    row, _ = NoticePreference.objects.update_or_create(
        user=user, tenant_id=tenant_id, defaults=after
    )
    if after != before:
        record_event(
            tenant_id=tenant_id,
            action="notice.preferences_changed",
            actor=person(user, tenant_id),
            subject_kind="user",
            subject_id=user.user_id,
            data={name: {"from": before[name], "to": after[name]} for name in USUAL},
        )
    return row


@transaction.atomic
def try_again(*, mark: str, tenant_id: str, actor: Actor) -> None:
    """Send a notice that was given up once more, with all its attempts."""
    require_authority(actor, tenant_id)
    if not revive(Notice.objects.filter(pk=mark, tenant_id=tenant_id)):
        raise coded_error("notice.not_failed")
    record_event(
        tenant_id=tenant_id,
        action="notice.retried",
        actor=actor,
        subject_kind="notice",
        subject_id=mark,
    )
