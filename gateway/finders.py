"""What the global search finds in the gateway: a run, a call or a decision by its exact id."""

from __future__ import annotations

from django.http import HttpRequest

from audit.models import DecisionRow
from contextos.adminkit.finding import Hit, Hits, register_finder
from contextos.adminkit.links import admin_url, may
from contextos.adminkit.tenancy import acting_tenant
from contextos.core.ids import is_id
from contextos.core.text import single_line
from gateway.admin.labels import state_badge, status_badge
from gateway.admin.links import call_url, refusal_url
from gateway.models import Run, ToolCall


def find_by_id(request: HttpRequest, words: str) -> Hits | None:
    """Ids are long and exact; anything else is not looked for here."""
    tenant = acting_tenant(request)
    if tenant is None or not is_id(words) or not may(request, "view", ToolCall):
        return None
    found = [*_runs(str(tenant.pk), words), *_calls(str(tenant.pk), words)]
    found += [] if found else _decisions(str(tenant.pk), words)
    return Hits("Runs and calls", "swap_horiz", found)


def _runs(tenant_id: str, words: str) -> list[Hit]:
    rows = Run.objects.filter(tenant_id=tenant_id, pk=words).defer("document")
    return [
        Hit(run.pk, admin_url(Run, "change", run.pk), detail=single_line(run.intent))
        for run in rows
    ]


def _calls(tenant_id: str, words: str) -> list[Hit]:
    column = "decision_id" if words.startswith("dec_") else "pk"
    rows = ToolCall.objects.filter(tenant_id=tenant_id, **{column: words})
    return [
        Hit(
            call.pk,
            call_url(call.pk),
            detail=single_line(call.capability_id),
            label=state_badge(call.state),
        )
        for call in rows.defer("envelope", "result")
    ]


def _decisions(tenant_id: str, words: str) -> list[Hit]:
    rows = DecisionRow.objects.filter(tenant_id=tenant_id, decision_id=words, status="REJECTED")
    return [
        Hit(
            row.decision_id,
            refusal_url(row.decision_id),
            detail=single_line(row.capability_id),
            label=status_badge(row.status),
        )
        for row in rows
    ]


register_finder(key="gateway.ids", find=find_by_id, order=5)
