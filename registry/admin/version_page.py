"""What each tab of a version's page shows; only the chosen tab is computed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible
from contextos.review.document_text import document_lines
from contextos.review.timeline import timeline_of
from contextos.review.version_pages import SignatureStatus, Tab, finding_groups, signed_by
from registry.admin.comparison import value_text
from registry.admin.five_questions import answers
from registry.admin.icon_display import icon_urls
from registry.models import AdapterVersion, KillSwitch
from registry.models.kill_switches import KillScope
from registry.selectors import manifest_of, signed_manifest

SHOWN_CAPABILITIES = 200


def tabs_of(version: AdapterVersion) -> list[Tab]:
    """The tabs in their order, with how much is behind each; most adapters have no resources."""
    tabs = [
        Tab("overview", "Overview"),
        Tab("findings", "Findings", version.findings.count()),
        Tab("capabilities", "Capabilities", version.capability_count),
        Tab("schemas", "Schemas", version.schemas.count()),
        Tab("access", "Scopes", version.scopes.count()),
        Tab("resources", "Resources", version.resources.count()),
        Tab("prompts", "Prompts", version.prompts.count()),
        Tab("manifest", "Manifest"),
        Tab("timeline", "Timeline"),
        Tab("reviews", "Reviews", version.reviews.count()),
    ]
    return [tab for tab in tabs if tab.count != 0 or tab.key not in ("resources", "prompts")]


def signature_status(version: AdapterVersion) -> SignatureStatus:
    """Checked anew for every page: a stored 'verified' would prove nothing."""
    if version.envelope is None:
        return SignatureStatus("not signed yet: publication signs it", "neutral")
    signed = signed_by(version.envelope)
    try:
        signed_manifest(version)
    except ContextOSError as refusal:
        return SignatureStatus(f"signature refused: {refusal.message}", "danger", signed)
    return SignatureStatus("signature verified now", "success", signed)


def tab_context(version: AdapterVersion, tab: str) -> dict[str, Any]:
    """What the chosen tab needs."""
    build = _TABS.get(tab, _overview)
    try:
        return build(version)
    except ContextOSError as refusal:
        return {"tab_fault": f"{refusal.message} {refusal.remediation}"}


def _overview(version: AdapterVersion) -> dict[str, Any]:
    findings = list(version.findings.all())
    return {"answers": answers(manifest_of(version), findings)}


def _findings(version: AdapterVersion) -> dict[str, Any]:
    return {"groups": finding_groups(version.findings.all())}


def _capabilities(version: AdapterVersion) -> dict[str, Any]:
    rows = list(version.capabilities.order_by("-mode_rank", "capability_id")[:SHOWN_CAPABILITIES])
    icons = icon_urls(version.tenant_id, manifest_of(version))
    return {
        "capabilities": [(row, icons.get(row.capability_id, "")) for row in rows],
        "hidden_capabilities": max(0, version.capability_count - len(rows)),
        "has_icons": bool(icons.declared),
    }


def _schemas(version: AdapterVersion) -> dict[str, Any]:
    uses = version.schemas.select_related("document")
    return {"schemas": [(reveal_invisible(use.ref), use.document) for use in uses]}


def _access(version: AdapterVersion) -> dict[str, Any]:
    auth = manifest_of(version).get("auth")
    return {"scopes": version.scopes.all(), "auth_text": value_text(auth)}


def _resources(version: AdapterVersion) -> dict[str, Any]:
    return {"resources": version.resources.all()}


def _prompts(version: AdapterVersion) -> dict[str, Any]:
    return {"prompts": version.prompts.all()}


def _manifest(version: AdapterVersion) -> dict[str, Any]:
    return {"lines": document_lines(manifest_of(version))}


def _timeline(version: AdapterVersion) -> dict[str, Any]:
    own = timeline_of(version.tenant_id, "adapter_version", [version.version_id])
    switches = KillSwitch.objects.filter(
        tenant_id=version.tenant_id, scope=KillScope.VERSION, target_id=version.version_id
    ) | KillSwitch.objects.filter(
        tenant_id=version.tenant_id,
        scope=KillScope.ADAPTER,
        target_id=version.adapter.adapter_id,
    )
    ids = list(switches.values_list("pk", flat=True)[:50])
    stops = timeline_of(version.tenant_id, "kill_switch", ids)
    return {"moments": sorted([*own, *stops], key=lambda m: m.event_id, reverse=True)}


def _reviews(version: AdapterVersion) -> dict[str, Any]:
    return {"entries": version.reviews.select_related("reviewer")}


_TABS: dict[str, Callable[[AdapterVersion], dict[str, Any]]] = {
    "overview": _overview,
    "findings": _findings,
    "capabilities": _capabilities,
    "schemas": _schemas,
    "access": _access,
    "resources": _resources,
    "prompts": _prompts,
    "manifest": _manifest,
    "timeline": _timeline,
    "reviews": _reviews,
}
