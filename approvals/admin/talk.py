"""Comments, questions that stop the clock, and answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect

from approvals.admin.frame import url_of
from approvals.admin.reading import Reading
from approvals.services import remarks
from contextos.core.errors import ContextOSError

Again = Callable[[dict[str, Any]], HttpResponse]
_KINDS = {
    "comment": (remarks.comment, "Your comment stands below."),
    "question": (remarks.ask, "Your question stands below. The clock is stopped until an answer."),
    "answer": (remarks.answer, "Your answer stands below. The clock goes on."),
}


def say_view(request: HttpRequest, reading: Reading, again: Again) -> HttpResponse:
    """Take what was written; what can't be taken is shown again with the reason."""
    if not reading.may_talk or request.method != "POST":
        raise PermissionDenied
    asked, text = reading.request, request.POST.get("text", "")
    kind = request.POST.get("kind", "comment")
    service, told = _KINDS.get(kind, _KINDS["comment"])
    try:
        service(
            tenant_id=asked.tenant_id, approval_id=asked.pk, author=reading.viewer.user, text=text
        )
    except ContextOSError as refused:
        fault = f"{refused.message} {refused.remediation}"
        return again({"said": text[: remarks.MAX_TEXT], "say_fault": fault})
    messages.success(request, told)
    return HttpResponseRedirect(f"{url_of(asked)}#talk")
