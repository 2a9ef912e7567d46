"""Everything the page of one request shows."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.core import signing
from django.http import HttpRequest

from approvals.admin.frame import page_url, url_of
from approvals.admin.leaves import shown_arguments
from approvals.admin.past import history, risk_facts, similar_decisions
from approvals.admin.reading import MOST_NAMES, Reading
from approvals.figures import Figures, figures_of, span
from approvals.labels import asks, name, state_badge, time_left
from approvals.models import ApprovalRequest, GateVersion, Remark
from approvals.risk_words import risk_words
from approvals.states import RequestState
from contextos.adminkit.display import mode_badge
from contextos.adminkit.links import admin_url, may, named_url
from contextos.core.clock import utcnow
from contextos.identity.models import User

_BUNDLES = "registry.view_policybundleversion"
_CALLS = "gateway.view_toolcall"
_SEEN = "approvals.seen"


def detail_context(request: HttpRequest, reading: Reading) -> dict[str, Any]:
    """What is asked, by whom, why it waits, who may decide, what was said and done."""
    figures, asked = figures_of(request), reading.request
    remarks = list(Remark.objects.filter(request=asked).select_related("author"))
    return {
        **subject_context(request, reading, figures),
        **_origin(request, asked),
        "policy": _policy(request, asked),
        "evidence": [name(str(ref)) for ref in asked.view.get("evidence_refs") or ()],
        "similar": similar_decisions(reading, figures),
        "history": history(reading, remarks),
        "deciders": reading.deciders[:MOST_NAMES] if reading.waits else [],
        "deciders_more": max(0, len(reading.deciders) - MOST_NAMES) if reading.waits else 0,
        "seen": seen_mark(reading),
        "next_url": f"{page_url('next')}?after={asked.pk}",
        "urls": {page: url_of(asked, page) for page in ("approve", "reject", "withdraw", "say")},
    }


def subject_context(request: HttpRequest, reading: Reading, figures: Figures) -> dict[str, Any]:
    """What will run, in full: the same on the page and in the confirm step."""
    asked, terms = reading.request, reading.terms
    capability = asked.view.get("capability") or {}
    yes, no = reading.counted
    return {
        "asked": asked,
        "reading": reading,
        "amount": figures.amount(asked.amount, asked.unit),
        "capability": name(asked.capability_id),
        "capability_says": str(capability.get("description") or ""),
        "mode": mode_badge(asked.effective_mode),
        "state": state_badge(asked.state),
        "left": time_left(asked, terms),
        "reversible": bool(asked.view.get("reversible")),
        "asks": asks(asked.agent_id, _person(asked)),
        "gate": name(asked.gate_id),
        "gate_url": _gate_url(request, asked),
        "stage_name": name(reading.stage_terms.name),
        "yes": yes,
        "no": no,
        "risk": risk_words(risk_facts(asked), figures.amount),
        "arguments": shown_arguments(asked, figures) if reading.sees_values else None,
        "short_digest": asked.digest.removeprefix("sha256:")[:12],
        "waited": span((asked.decided_at or utcnow()) - asked.created_at),
    }


def _person(asked: ApprovalRequest) -> str:
    if not asked.user_id:
        return ""
    found = User.objects.filter(user_id=asked.user_id).first()
    return str(found) if found else asked.user_id


# --- where it comes from -------------------------------------------------------------------------
def _origin(request: HttpRequest, asked: ApprovalRequest) -> dict[str, Any]:
    view = asked.view
    capability = view.get("capability") or {}
    adapter, version = capability.get("adapter_id", ""), capability.get("version", "")
    return {
        "chain": _chain(view.get("requested_by") or ()),
        "intent": name(str(view.get("intent") or "")),
        "run_environment": name(str(view.get("environment") or "")),
        "adapter": name(f"{adapter} {version}".strip()),
        "manifest_hash": str(capability.get("manifest_hash") or ""),
        "call_id": name(asked.subject_id),
        "call_url": _call_url(request, asked.subject_id),
    }


def _chain(links: Iterable[dict[str, Any]]) -> list[str]:
    """From the person or service that began it to the agent that asks, people by their names."""
    listed = list(links)
    ids = [str(link.get("id")) for link in listed]
    names = {user.user_id: str(user) for user in User.objects.filter(user_id__in=ids)}
    return [
        name(f"{link.get('kind', '')} {names.get(str(link.get('id')), link.get('id', ''))}")
        for link in listed
    ]


def _policy(request: HttpRequest, asked: ApprovalRequest) -> dict[str, Any]:
    said = asked.view.get("policy") or {}
    bundles = [str(ref) for ref in said.get("bundle_versions") or ()]
    code, _, sentence = str(said.get("reason") or "").partition(": ")
    return {
        "reason": name(sentence if " " not in code and sentence else str(said.get("reason") or "")),
        "rules": [name(str(rule)) for rule in said.get("matched_rule_ids") or ()],
        "bundles": [(name(ref), _bundle_url(request, ref)) for ref in bundles],
        "quorum": said.get("quorum"),
        "requires": [name(str(item)) for item in said.get("requires") or ()],
        "decision_id": asked.policy_decision_id,
    }


def _bundle_url(request: HttpRequest, ref: str) -> str:
    """Their list, narrowed to the bundle: the registry is known here by address only."""
    address = named_url("admin:registry_policybundleversion_changelist")
    if not address or not request.user.has_perm(_BUNDLES):
        return ""
    return f"{address}?q={ref.rpartition('@')[0]}"


def _gate_url(request: HttpRequest, asked: ApprovalRequest) -> str:
    if not may(request, "view", GateVersion):
        return ""
    return admin_url(GateVersion, "change", asked.gate_version_id)


def _call_url(request: HttpRequest, pk: str) -> str:
    return named_url("admin:gateway_toolcall_change", pk) if request.user.has_perm(_CALLS) else ""


# --- how long somebody looked --------------------------------------------------------------------
def seen_mark(reading: Reading) -> str:
    """When this person opened this request, signed, to travel with the links and the form."""
    opened = int(utcnow().timestamp() * 1000)
    return signing.Signer(salt=_SEEN).sign(f"{_seen_by(reading)}.{opened}")


def seconds_since(reading: Reading, mark: str) -> float | None:
    """How long ago that was; None for a mark of somebody else, of another request, or forged."""
    try:
        whose, _, opened = signing.Signer(salt=_SEEN).unsign(mark).rpartition(".")
    except signing.BadSignature:
        return None
    if whose != _seen_by(reading):
        return None
    return round(max(0.0, utcnow().timestamp() - int(opened) / 1000), 3)


def _seen_by(reading: Reading) -> str:
    return f"{reading.request.pk}.{reading.viewer.user.pk}"


def outcome_words(asked: ApprovalRequest, reading: Reading) -> str:
    """What became of it, for who has just voted."""
    if asked.state == RequestState.PENDING:
        yes, _ = reading.counted
        needed = reading.stage_terms.quorum
        return f"Your vote counts. {yes} of {needed} have approved; it waits for others."
    return {
        RequestState.APPROVED: "Approved. It is checked once more and runs now.",
        RequestState.CONSUMED: "Approved. It runs now, exactly once.",
        RequestState.REJECTED: "Rejected. It will not run, and the caller is told your reason.",
        RequestState.VOIDED: "It was voided when it was checked again, and will not run.",
    }.get(RequestState(asked.state), str(RequestState(asked.state).label))
