"""A page that asks once more, takes the reason, and calls a service."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.db.models import Model
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from contextos.core.errors import ContextOSError

MAX_REASON = 500


class ReasonForm(forms.Form):
    """Why it is done; kept in the log."""

    reason = forms.CharField(
        label="Reason",
        max_length=MAX_REASON,
        help_text="Kept in the log for whoever asks later.",
        widget=forms.TextInput(attrs={"autofocus": True, "autocomplete": "off"}),
    )


@dataclass(frozen=True, slots=True)
class Question:
    """What the page says and which form it shows."""

    title: str
    text: str
    button: str
    done: str
    form_class: type[forms.Form] = ReasonForm
    form_arguments: dict[str, Any] = field(default_factory=dict)


def confirm(
    model_admin: ModelAdmin[Any],
    request: HttpRequest,
    obj: Model,
    question: Question,
    perform: Callable[[dict[str, Any]], object],
) -> HttpResponse:
    """Show the question; on a valid answer perform it and go back to the object's page."""
    back = _change_url(model_admin, obj)
    data = request.POST if request.method == "POST" else None
    form = question.form_class(data, **question.form_arguments)
    if form.is_bound and form.is_valid() and _performed(form, perform):
        messages.success(request, question.done)
        return HttpResponseRedirect(back)
    return TemplateResponse(
        request,
        "identity/confirmation.html",
        {
            **model_admin.admin_site.each_context(request),
            "opts": model_admin.opts,
            "original": obj,
            "title": question.title,
            "question": question,
            "form": form,
            "back": back,
        },
    )


def _performed(form: forms.Form, perform: Callable[[dict[str, Any]], object]) -> bool:
    try:
        perform(form.cleaned_data)
    except ContextOSError as refusal:
        form.add_error(None, f"{refusal.message} {refusal.remediation}")
        return False
    return True


def _change_url(model_admin: ModelAdmin[Any], obj: Model) -> str:
    opts = model_admin.opts
    return reverse(f"admin:{opts.app_label}_{opts.model_name}_change", args=[obj.pk])
