"""The policy simulator's page: one input, or the last calls, before two policies side by side."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse

from contextos.adminkit.tenancy import acting_tenant
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.json_faults import fault_of
from contextos.review.document_text import pretty
from contextos.review.signed_documents import document_of
from registry.admin.comparison import value_text
from registry.admin.retrial import retrial_context
from registry.document_selectors import document_versions
from registry.models import PolicyBundleVersion
from registry.recorded_inputs import MOST_RECORDED
from registry.simulation import Outcome, simulate_input

OFFERED = 100
STARTER = {
    "capability": {
        "capability_id": "payments.issue_refund",
        "adapter_id": "adp_payments",
        "capability_class": "act",
        "approval_mode": "destructive",
        "requires_approval_gate": "GATE_FINANCE_APPROVAL",
    },
    "run": {"intent": "support.refund", "environment": "production", "flags": []},
    "request": {"args": {"amount_inr": 300, "currency": "INR"}},
}
_SHOWN = (
    ("allowed", "Allowed"),
    ("reason", "Reason"),
    ("effective_approval_mode", "Effective mode"),
    ("requires_approval_gate", "Gate"),
    ("quorum", "Quorum"),
    ("requires", "Requires"),
    ("prohibits", "Prohibits"),
    ("arg_constraints", "Bounds on arguments"),
    ("matched_rule_ids", "Matched rules"),
    ("bundle_versions", "Bundles asked"),
)


@dataclass(frozen=True, slots=True)
class ComparedLine:
    """One member of both decisions."""

    title: str
    published: str
    candidate: str
    differs: bool


class SimulatorPage:
    """Mixed into the admin of policy bundles."""

    admin_site: Any
    opts: Any

    def simulator_view(self, request: HttpRequest) -> HttpResponse:
        """Decides without any effect; whoever may read policies may ask."""
        tenant = acting_tenant(request)
        if tenant is None or not self.has_view_permission(request):  # type: ignore[attr-defined]
            raise PermissionDenied
        offered = list(
            document_versions(PolicyBundleVersion, tenant.pk)
            .defer("envelope")
            .order_by("bundle_id", "-version_id")[:OFFERED]
        )
        asked = request.POST if request.method == "POST" else request.GET
        chosen = next((row for row in offered if row.pk == asked.get("version")), None)
        chosen = chosen or next((row for row in offered if row.is_editable), None)
        chosen = chosen or (offered[0] if offered else None)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Policy simulator",
            "trail": [
                (reverse("admin:registry_policybundleversion_changelist"), "Policy bundles"),
                ("", "Simulator"),
            ],
            "offered": offered,
            "chosen": chosen,
            "most_recorded": MOST_RECORDED,
            **_examples(chosen),
        }
        status = 200
        if chosen is not None:
            answer = _answer(tenant.pk, chosen, request, context["examples"])
            status = 422 if answer.get("fault") or answer.get("last_n_fault") else 200
            context |= answer
        return TemplateResponse(request, "registry/simulator.html", context, status=status)


def _examples(chosen: PolicyBundleVersion | None) -> dict[str, Any]:
    """The inputs of the bundle's own tests, to start from."""
    if chosen is None:
        return {"examples": []}
    try:
        tests = document_of(chosen).get("tests")
    except ContextOSError:
        tests = None
    listed = [test for test in tests if isinstance(test, dict)] if isinstance(tests, list) else []
    return {
        "examples": [
            (index, str(test.get("name", f"test {index + 1}")), test.get("input"))
            for index, test in enumerate(listed[:30])
        ]
    }


def _answer(
    tenant_id: str, chosen: PolicyBundleVersion, request: HttpRequest, examples: list[Any]
) -> dict[str, Any]:
    if request.method != "POST":
        first = examples[0][2] if examples else STARTER
        return {"text": pretty(first)}
    action = request.POST.get("action", "input")
    if action.startswith("example:"):
        wanted = {str(index): given for index, _, given in examples}
        text = pretty(wanted.get(action.partition(":")[2], STARTER))
    else:
        text = request.POST.get("input", "")
    if action == "recorded":
        return {"text": text, **_retried(request, tenant_id, chosen)}
    return {"text": text, **_decided(tenant_id, chosen, text)}


def _retried(request: HttpRequest, tenant_id: str, chosen: PolicyBundleVersion) -> dict[str, Any]:
    try:
        bundle = document_of(chosen)
    except ContextOSError as refusal:
        return {"fault": refusal}
    return retrial_context(request, tenant_id, bundle, request.POST.get("last_n", ""))


def _decided(tenant_id: str, chosen: PolicyBundleVersion, text: str) -> dict[str, Any]:
    try:
        document = strict_json.loads_object(text)
    except ContextOSError as refusal:
        return {"fault": fault_of(text, refusal)}
    try:
        outcome = simulate_input(
            tenant_id=tenant_id, bundle=document_of(chosen), document=dict(document)
        )
    except ContextOSError as refusal:
        return {"fault": refusal}
    return {"outcome": outcome, "compared": _compared(outcome)}


def _compared(outcome: Outcome) -> list[ComparedLine]:
    before, after = outcome.published.verdict(), outcome.candidate.verdict()
    differing = {difference.member for difference in outcome.differences}
    return [
        ComparedLine(title, _shown(before[name]), _shown(after[name]), name in differing)
        for name, title in _SHOWN
    ]


def _shown(value: Any) -> str:
    if value is None or value == [] or value == {}:
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return value if isinstance(value, str) else value_text(value)
