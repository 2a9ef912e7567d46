"""Evidence: what was seen, where it came from, what it is worth today, and who relied on it."""

from __future__ import annotations

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from audit.access import Window
from audit.admin.window import within_window
from audit.clearance import Clearance
from audit.decision_record import EVIDENCE_MENTION
from audit.models import DecisionMention, DecisionRow
from contextos.adminkit.actions import display
from contextos.adminkit.display import Tone, badge, when
from contextos.core.text import reveal_invisible
from gateway.admin.access import record_window
from gateway.admin.explorer import ExplorerAdmin
from gateway.admin.frame import frame
from gateway.admin.labels import named_cell, stacked
from gateway.admin.links import call_url, run_url
from gateway.admin.values import ShownValue, stored_value
from gateway.evidence import EvidenceState, state_of, with_worth
from gateway.models import Evidence, ToolCall

STEM = "gateway_evidence"
MOST_USES = 50
STATES: dict[EvidenceState, tuple[Tone, str]] = {
    EvidenceState.CURRENT: ("success", "Nothing newer answers the same question."),
    EvidenceState.STALE: ("warning", "It is older than its manifest calls fresh."),
    EvidenceState.SUPERSEDED: ("warning", "The same question was answered again later."),
    EvidenceState.BROKEN: ("danger", "Its value was erased, or is not what its hash says."),
}
_CLASS_TONES: dict[str, Tone] = {"CONFIDENTIAL": "warning", "RESTRICTED": "danger"}


class ClassFilter(admin.SimpleListFilter):
    """By how confidential it is."""

    title = "classification"
    parameter_name = "class"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The four classes."""
        return [(name.value, name.value.capitalize()) for name in Clearance]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Exactly that class."""
        return queryset.filter(classification=self.value()) if self.value() else queryset


@admin.register(Evidence)
class EvidenceAdmin(ExplorerAdmin):
    """References minted from results; their values only for those who are cleared."""

    list_display = ["what", "state_label", "class_label", "kept", "seen"]
    list_filter = [ClassFilter]
    search_fields = ["=evidence_ref", "=tool_call_id", "=run_id", "=capability_id"]
    search_help_text = "The exact id of evidence, a call or a run, or a capability."
    ordering = ["-evidence_ref"]
    nav_title = "Evidence"
    nav_icon = "fact_check"
    nav_order = 45
    empty_title = "No evidence yet"
    empty_text = (
        "When a capability declares evidence keys and its result carries them, a reference is "
        "minted here. Later calls name it, and policies and decisions can ask for it."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Each with what it is worth; auditors see what was seen in their period."""
        return with_worth(within_window(request, super().get_queryset(request), "observed_at"))

    # --- the list -----------------------------------------------------------------------------
    @display(description="Evidence")
    def what(self, row: Evidence) -> SafeString:
        """The capability, its source, the reference."""
        source = reveal_invisible(row.source)
        return named_cell(reveal_invisible(row.capability_id), source, row.evidence_ref)

    @display(description="State")
    def state_label(self, row: Any) -> SafeString:
        """What it is worth today."""
        return state_badge(state_of(row))

    @display(description="Classification")
    def class_label(self, row: Evidence) -> SafeString:
        """How confidential it is."""
        return class_badge(row.classification)

    @display(description="Kept")
    def kept(self, row: Evidence) -> SafeString:
        """Whether the value is stored, and how large it is."""
        return stacked("value" if row.is_stored else "commitment only", size(row))

    @display(description="Observed", ordering="evidence_ref")
    def seen(self, row: Evidence) -> SafeString:
        """When the result came back."""
        return when(row.observed_at)

    # --- one reference ------------------------------------------------------------------------
    def page(self, request: HttpRequest, row: Any) -> HttpResponse:
        """Source, hash, class, freshness, the value for who is cleared, and where it was used."""
        state, window = state_of(row), record_window(request, row.tenant_id)
        context = {
            **frame(
                request,
                f"Evidence from {reveal_invisible(row.capability_id)}",
                above=(reverse(f"admin:{STEM}_changelist"), "Evidence"),
            ),
            "opts": self.opts,
            "original": row,
            "row": row,
            "state": state_badge(state),
            "state_words": STATES[state][1],
            "classification": class_badge(row.classification),
            "keys": [reveal_invisible(str(key)) for key in row.keys],
            "size": size(row),
            "value": _value(row, window),
            "is_cleared": window is not None and window.reads(row.classification),
            "call_url": call_url(row.tool_call_id),
            "run_url": run_url(row.run_id),
            "newer": _newer(row),
            "uses": _uses(row),
        }
        return TemplateResponse(request, "gateway/evidence.html", context)


def state_badge(state: EvidenceState) -> SafeString:
    """In its colour."""
    return badge(state.value, STATES[state][0])


def class_badge(classification: str) -> SafeString:
    """In its colour."""
    known = reveal_invisible(classification)
    return badge(known.lower(), _CLASS_TONES.get(classification, "neutral"))


def size(row: Evidence) -> str:
    """`412 bytes`."""
    return str(filesizeformat(row.size_bytes)).replace("\u00a0", " ")


def _value(row: Evidence, window: Window | None) -> ShownValue | None:
    if not row.is_stored or window is None or not window.reads(row.classification):
        return None
    if not window.covers(row.observed_at):
        return None
    return stored_value(tenant_id=row.tenant_id, payload_id=row.payload_id)


def _newer(row: Any) -> str:
    """The page of the latest answer to the same question."""
    if not row.mark or not row.newer:
        return ""
    later = Evidence.objects.filter(tenant_id=row.tenant_id, mark=row.mark).order_by("-pk")
    found = later.values_list("pk", flat=True).first()
    return reverse(f"admin:{STEM}_change", args=[found]) if found else ""


def _uses(row: Evidence) -> list[dict[str, Any]]:
    """The decisions whose calls named it, newest first."""
    named = DecisionMention.objects.filter(
        tenant_id=row.tenant_id, kind=EVIDENCE_MENTION, value=row.pk
    )
    names = list(named.order_by("-record_id").values_list("record_id", flat=True)[:MOST_USES])
    heads = DecisionRow.objects.filter(pk__in=names).order_by("-record_id")
    calls = dict(
        ToolCall.objects.filter(
            tenant_id=row.tenant_id, decision_id__in=[head.decision_id for head in heads]
        ).values_list("decision_id", "pk")
    )
    return [
        {
            "capability": reveal_invisible(head.capability_id),
            "decision_id": head.decision_id,
            "status": head.status,
            "at": head.created_at,
            "url": call_url(calls[head.decision_id]) if head.decision_id in calls else "",
        }
        for head in heads
    ]
