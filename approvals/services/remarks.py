"""Comments and questions: they change nothing that is bound; a question stops the clock."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction

from approvals.models import ApprovalRequest, Remark
from approvals.services.requests import locked, pause_left, tell
from approvals.states import RequestState
from audit.one_statement import write_together
from audit.payloads import seal_payload
from contextos.core.clock import utcnow
from contextos.core.errors import coded_error
from contextos.identity.access import roles_of
from contextos.identity.actors import person
from contextos.identity.models import User
from contextos.identity.roles import AUDITOR

MAX_TEXT = 4000


@transaction.atomic
def comment(*, tenant_id: str, approval_id: str, author: User, text: str) -> Remark:
    """Say something for everybody who reads the request, at any time."""
    request = locked(tenant_id, approval_id)
    return _said(request, author, "comment", text, "commented")


@transaction.atomic
def ask(*, tenant_id: str, approval_id: str, author: User, text: str) -> Remark:
    """Ask those who want it; until they answer, the request's clock stands still.

    All questions together stop it for so long and no longer: nobody keeps a request alive by them.
    """
    request = locked(tenant_id, approval_id)
    _require_pending(request)
    said = _said(request, author, "question", text, "asked")
    if not request.question_open and pause_left(request):
        ApprovalRequest.objects.filter(pk=request.pk).update(
            question_open=True, question_since=utcnow()
        )
    return said


@transaction.atomic
def answer(*, tenant_id: str, approval_id: str, author: User, text: str) -> Remark:
    """Answer an open question; the time it took is added to every term of the request."""
    request = locked(tenant_id, approval_id)
    _require_pending(request)
    if not request.question_open or request.question_since is None:
        raise coded_error("approval.question_not_open")
    said = _said(request, author, "answer", text, "answered")
    stood = max(timedelta(0), min(utcnow() - request.question_since, pause_left(request)))
    ApprovalRequest.objects.filter(pk=request.pk).update(
        question_open=False,
        question_since=None,
        paused_ms=request.paused_ms + int(stood.total_seconds() * 1000),
        expires_at=request.expires_at + stood,
        escalates_at=request.escalates_at + stood if request.escalates_at else None,
        reminds_at=request.reminds_at + stood if request.reminds_at else None,
    )
    return said


def _require_pending(request: ApprovalRequest) -> None:
    if request.state != RequestState.PENDING:
        raise coded_error("approval.not_pending", data={"state": str(request.state)})


def _said(request: ApprovalRequest, author: User, kind: str, text: str, word: str) -> Remark:
    if roles_of(author, request.tenant_id) == {AUDITOR}:
        raise coded_error("auditor.reads_only")
    said = text.strip()[:MAX_TEXT]
    if not said:
        raise coded_error("approval.text_missing")
    remark = Remark.objects.create(
        request=request, author=author, kind=kind, text=said, created_at=utcnow()
    )
    # People quote what they talk about, and an event can't be erased: it commits to the words.
    sealed = seal_payload(
        tenant_id=request.tenant_id,
        decision_id=str(request.view.get("decision_id") or ""),
        kind="remark",
        value={"text": said},
    )
    write_together(sealed.write)
    data = {"payload_id": sealed.payload_id, "commitment": sealed.commitment}
    tell(request, word, person(author, request.tenant_id), data=data)
    return remark
