"""The last recorded calls under two policies, as the simulator's page shows them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from contextos.core.clock import parse_time
from contextos.core.errors import ContextOSError
from registry.admin.draft_form.fields import whole_number
from registry.policy import PolicyDecision
from registry.recorded_inputs import MOST_RECORDED, RecordedInput
from registry.simulation import Outcome, Retrial, simulate_recorded

USUAL = 100
SHOWN_CHANGED = 200
SHOWN_UNCHANGED = 50
_MEMBERS = {
    "allowed": "whether it is allowed",
    "effective_approval_mode": "effective mode",
    "requires_approval_gate": "gate",
    "quorum": "quorum",
    "requires": "what it has to bring",
    "prohibits": "what it may not bring",
    "arg_constraints": "bounds on arguments",
    "matched_rule_ids": "matched rules",
    "reason": "reason",
}


@dataclass(frozen=True, slots=True)
class Said:
    """One decision in a cell: what happens, in which mode, and why."""

    verdict: str
    tone: str
    mode: str
    sentence: str

    @classmethod
    def of(cls, decision: PolicyDecision) -> Said:
        """Allowed, waiting for a gate, or denied."""
        mode = decision.effective_approval_mode
        sentence = decision.reason.partition(": ")[2] or decision.reason
        if not decision.allowed:
            return cls("denied", "danger", "", sentence)
        gate = decision.requires_approval_gate
        verdict, tone = (f"waits for {gate}", "warning") if gate else ("allowed", "success")
        return cls(verdict, tone, str(mode or ""), sentence)


@dataclass(frozen=True, slots=True)
class RetriedLine:
    """One recorded call, decided again."""

    source: RecordedInput
    recorded_at: Any
    url: str
    published: Said
    candidate: Said
    members: str


def retrial_context(
    request: HttpRequest, tenant_id: str, bundle: Mapping[str, Any], wanted: str
) -> dict[str, Any]:
    """What the page needs to show how the last calls would have fared."""
    count = _count(wanted)
    if count is None:
        return {
            "last_n": wanted[:10],
            "last_n_fault": f"Give a whole number between 1 and {MOST_RECORDED}.",
        }
    try:
        retrial = simulate_recorded(tenant_id=tenant_id, bundle=bundle, count=count)
    except ContextOSError as refusal:
        return {"last_n": count, "recorded_fault": refusal}
    return {"last_n": count, "retrial": retrial, **_tables(request, retrial)}


def _count(wanted: str) -> int | None:
    number = whole_number(wanted.strip() or str(USUAL)) or 0
    return number if 1 <= number <= MOST_RECORDED else None


def _tables(request: HttpRequest, retrial: Retrial) -> dict[str, Any]:
    changed = retrial.changed
    unchanged = [outcome for outcome in retrial.outcomes if not outcome.differences]
    return {
        "shifts": _shifts(changed),
        "changed": _lines(request, changed[:SHOWN_CHANGED]),
        "changed_more": max(0, len(changed) - SHOWN_CHANGED),
        "unchanged": _lines(request, unchanged[:SHOWN_UNCHANGED]),
        "unchanged_total": len(unchanged),
        "unchanged_more": max(0, len(unchanged) - SHOWN_UNCHANGED),
    }


def _shifts(changed: Iterable[Outcome]) -> list[tuple[str, int]]:
    """How many go from what to what, the most frequent first."""
    counted = Counter(_shift(outcome) for outcome in changed)
    return sorted(counted.items(), key=lambda item: (-item[1], item[0]))


def _shift(outcome: Outcome) -> str:
    before, after = Said.of(outcome.published), Said.of(outcome.candidate)
    if before.verdict != after.verdict:
        return f"{before.verdict} → {after.verdict}"
    if before.mode != after.mode:
        return f"{before.mode} → {after.mode}"
    return f"{after.verdict} as before, on other terms"


def _lines(request: HttpRequest, outcomes: Iterable[Outcome]) -> list[RetriedLine]:
    may_follow = request.user.has_perm("gateway.view_toolcall")
    return [
        RetriedLine(
            source=outcome.source,
            recorded_at=parse_time(outcome.source.recorded_at),
            url=_page_of(outcome.source) if may_follow else "",
            published=Said.of(outcome.published),
            candidate=Said.of(outcome.candidate),
            members=_members(outcome),
        )
        for outcome in outcomes
        if outcome.source is not None
    ]


def _members(outcome: Outcome) -> str:
    """What differs, without the sentence, which follows from the rest."""
    names = [difference.member for difference in outcome.differences]
    telling = [name for name in names if name != "reason"] or names
    return ", ".join(_MEMBERS.get(name, name) for name in telling)


def _page_of(source: RecordedInput) -> str:
    """The page of the call, or the one that explains its refusal; the gateway owns both."""
    name, key = ("gateway_toolcall_change", source.tool_call_id)
    if not key:
        name, key = "gateway_refusal", source.decision_id
    try:
        return reverse(f"admin:{name}", args=[key])
    except NoReverseMatch:
        return ""
