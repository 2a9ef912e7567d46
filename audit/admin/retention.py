"""How long each class of records is kept, what was purged, and the form that changes it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import reverse

from audit.admin.keeping import frame
from audit.models import AuditEvent, Purge, RecordClass, RetentionRule
from audit.models.retention import DEFAULT_DAYS, FLOOR_DAYS, MOST_DAYS
from audit.retention import MAX_REASON, Terms, set_retention, terms_of
from contextos.adminkit.links import admin_url, may
from contextos.adminkit.tenancy import acting_tenant_id
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.identity.actors import actor_of

SHOWN = 20
NOTES = {
    RecordClass.GATED_RECORD: "Decision records, votes among them. Financial audits look back "
    "seven years.",
    RecordClass.OTHER_RECORD: "Decision records of reads and of calls that policy let through.",
    RecordClass.GATED_VALUE: "Arguments, answers, transcripts and conversations.",
    RecordClass.OTHER_VALUE: "Arguments, answers and transcripts.",
    RecordClass.EVIDENCE: "What results said and later decisions relied on. "
    "The record it came from stays as long.",
    RecordClass.EVENT: "What people and tasks did; approval requests and votes of purged records "
    "go with them. Events about retention, erasures and holds stay for good.",
}


class DaysForm(forms.Form):
    """How long, and why."""

    days = forms.IntegerField(
        label="Days",
        min_value=FLOOR_DAYS,
        max_value=MOST_DAYS,
        help_text=f"At least {FLOOR_DAYS}: no role and no setting goes under it.",
        error_messages={"min_value": f"Records are kept for at least {FLOOR_DAYS} days."},
    )
    reason = forms.CharField(
        label="Reason",
        max_length=MAX_REASON,
        help_text="The rule or decision behind it. Kept in the log.",
        widget=forms.Textarea(attrs={"rows": 2}),
        error_messages={"required": "Say why; auditors will read it."},
    )


def retention_view(request: HttpRequest) -> HttpResponse:
    """What is in force, what was changed, what was purged."""
    if not may(request, "view", RetentionRule):
        raise PermissionDenied
    tenant_id = acting_tenant_id(request)
    rules = RetentionRule.objects.filter(tenant_id=tenant_id)
    purges = Purge.objects.filter(tenant_id=tenant_id)
    context = frame(
        request,
        "Retention",
        classes=[_line(terms) for terms in terms_of(tenant_id).values()],
        may_change=may(request, "change", RetentionRule),
        rules=rules[:SHOWN],
        purges=[(row, admin_url(AuditEvent, "change", row.event_id)) for row in purges[:SHOWN]],
        floor=FLOOR_DAYS,
    )
    return TemplateResponse(request, "audit/retention.html", context)


def _line(terms: Terms) -> dict[str, Any]:
    return {
        "label": terms.record_class.label,
        "note": NOTES[terms.record_class],
        "days": terms.days,
        "words": in_words(terms.days),
        "version": terms.version,
        "cutoff": terms.cutoff(utcnow()),
        "url": reverse("admin:audit_retention_class", args=[terms.record_class.value]),
    }


def retention_class_view(request: HttpRequest, name: str) -> HttpResponse:
    """Keep one class for another time."""
    if not may(request, "change", RetentionRule):
        raise PermissionDenied
    if name not in RecordClass.values:
        raise Http404
    record_class = RecordClass(name)
    terms = terms_of(acting_tenant_id(request))[record_class]
    posted = request.POST if request.method == "POST" else None
    form = DaysForm(posted, initial={"days": terms.days})
    if form.is_bound and form.is_valid() and _changed(request, record_class, form):
        messages.success(request, "Changed. It is applied from tonight on.")
        return HttpResponseRedirect(reverse("admin:audit_retention"))
    context = frame(
        request,
        record_class.label,
        above=(reverse("admin:audit_retention"), "Retention"),
        form=form,
        words=in_words(terms.days),
        note=NOTES[record_class],
        default=DEFAULT_DAYS[record_class],
    )
    status = 422 if form.is_bound else 200
    return TemplateResponse(request, "audit/retention_class.html", context, status=status)


def _changed(request: HttpRequest, record_class: RecordClass, form: DaysForm) -> bool:
    try:
        set_retention(
            tenant_id=acting_tenant_id(request),
            record_class=record_class,
            actor=actor_of(request),
            **form.cleaned_data,
        )
    except ContextOSError as refusal:
        form.add_error(None, f"{refusal.message} {refusal.remediation}")
        return False
    return True


def in_words(days: int) -> str:
    """`7 years`, `184 days`."""
    years = round(days / 365.25)
    whole = years and abs(days - years * 365.25) <= 1
    return f"{years} {'year' if years == 1 else 'years'}" if whole else f"{days} days"
