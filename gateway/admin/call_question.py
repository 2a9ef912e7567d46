"""A page that asks one thing more about a call before something is done to it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.utils.safestring import SafeString

from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible
from gateway.admin.frame import frame
from gateway.admin.links import call_url
from gateway.models import ToolCall


@dataclass(frozen=True, slots=True, kw_only=True)
class CallQuestion:
    """What the page says; `{}` stands for the capability's name."""

    title: str
    icon: str
    asks: str
    standing: SafeString | str  # what is so now
    consequences: Sequence[str]
    button: str
    done: str
    is_grave: bool = False


def ask_about(
    request: HttpRequest,
    call: ToolCall,
    question: CallQuestion,
    form: forms.Form,
    act: Callable[[dict[str, Any]], object],
) -> HttpResponse:
    """Show the question; on a valid answer act and go back to the call."""
    if form.is_bound and form.is_valid() and _acted(form, act):
        messages.success(request, question.done)
        return HttpResponseRedirect(call_url(call.pk))
    name = reveal_invisible(call.capability_id)
    context = frame(
        request,
        question.title.replace("{}", name),
        above=(call_url(call.pk), name),
        asks=question.asks.replace("{}", name),
        question=question,
        form=form,
        call=call,
        back=call_url(call.pk),
    )
    status = 422 if form.is_bound else 200
    return TemplateResponse(request, "gateway/call_question.html", context, status=status)


def _acted(form: forms.Form, act: Callable[[dict[str, Any]], object]) -> bool:
    try:
        act(form.cleaned_data)
    except ContextOSError as refusal:
        form.add_error(None, f"{refusal.message} {refusal.remediation}")
        return False
    return True
