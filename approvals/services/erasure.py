"""Lets go of what requests say of erased values: amount, summary, likeness, conversation (E6)."""

from __future__ import annotations

from collections.abc import Iterable

from django.db.models import Q, QuerySet

from approvals.models import ApprovalRequest, Notice, Remark, Vote
from approvals.states import REQUESTS

ERASED_WORDS = "(erased)"


def subjects_with_values(tenant_id: str, kind: str, subject_ids: Iterable[str]) -> int:
    """How many requests would lose something."""
    rows = _requests(tenant_id, kind, subject_ids)
    return len(rows.filter(_holds_values()).values_list("pk", flat=True))


def forget_subjects(tenant_id: str, kind: str, subject_ids: Iterable[str]) -> dict[str, int]:
    """Keep who decided what about which digest; the values it was about are gone. Repeatable."""
    rows = _requests(tenant_id, kind, subject_ids)
    remarks = Remark.objects.filter(request__in=rows).exclude(text=ERASED_WORDS)
    emptied = list(rows.filter(_holds_values()))
    for request in emptied:
        view = {**request.view, "summary": _summary(request), "erased": True}
        ApprovalRequest.objects.filter(pk=request.pk).update(
            view=view, amount=None, unit="", likeness="", risk=0
        )
    return {"approvals": len(emptied), "remarks": remarks.update(text=ERASED_WORDS)}


def remove_requests(rows: QuerySet[ApprovalRequest], *, at_most: int) -> dict[str, int]:
    """Requests that have ended, with what people said and were told of them; where -> how many."""
    ended = rows.filter(state__in=REQUESTS.terminal).order_by("pk")
    names = list(ended.values_list("pk", flat=True)[:at_most])
    return {
        "notices": Notice.objects.filter(approval_id__in=names).delete()[0],
        "remarks": Remark.objects.filter(request_id__in=names).delete()[0],
        "votes": Vote.objects.filter(request_id__in=names).delete()[0],
        "approvals": ApprovalRequest.objects.filter(pk__in=names).delete()[0],
    }


def _requests(tenant_id: str, kind: str, subject_ids: Iterable[str]) -> QuerySet[ApprovalRequest]:
    return ApprovalRequest.objects.filter(
        tenant_id=tenant_id, subject_kind=kind, subject_id__in=list(subject_ids)
    )


def _holds_values() -> Q:
    return ~Q(likeness="")


def _summary(request: ApprovalRequest) -> str:
    """What would have happened, without the amount."""
    return f"{request.capability_id} · {request.effective_mode}"
