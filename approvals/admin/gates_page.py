"""What the pages of a gate show: terms in words, what changes, who could vote, the past."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from approvals.dry_run import Outcome, Report, try_out
from approvals.durations import in_words
from approvals.gate_diff import Direction, GateChange, compare_gates
from approvals.gates import GateTerms
from approvals.models import ApprovalRequest, GateVersion
from approvals.past_requests import MOST, past_requests
from approvals.preview import StagePreview, preview
from contextos.adminkit.display import Tone, badge
from contextos.adminkit.links import admin_url
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible
from contextos.identity.models import Agent, User
from contextos.review.signed_documents import document_of
from contextos.review.states import VersionState

DAYS = 30
SHOWN_DIFFERENCES = 100
_TONES: dict[Direction, Tone] = {
    Direction.WIDENS: "danger",
    Direction.NARROWS: "success",
    Direction.NEUTRAL: "neutral",
}
OUTCOMES: dict[Outcome, tuple[str, Tone]] = {
    Outcome.APPROVED: ("approved", "success"),
    Outcome.REJECTED: ("rejected", "danger"),
    Outcome.EXPIRED: ("expired", "warning"),
    Outcome.SHORT: ("not enough votes", "warning"),
}
FACTOR_WORDS = {
    "always": "for every approval",
    "destructive": "for destructive calls",
    "never": "never",
}


# --- terms ---------------------------------------------------------------------------------------
def terms_in_words(terms: GateTerms) -> dict[str, Any]:
    """What the overview shows."""
    return {
        "stages": [
            {"name": stage.name, "quorum": stage.quorum, "groups": ", ".join(stage.groups)}
            for stage in terms.stages
        ],
        "deny_threshold": terms.deny_threshold,
        "expires": in_words(terms.expires_after_seconds),
        "factor": FACTOR_WORDS[terms.second_factor.value],
        "reminders": ", ".join(f"after {in_words(s)}" for s in terms.reminders_after_seconds),
        "escalations": [
            f"after {in_words(step.after_seconds)}: {', '.join(step.groups)} may vote too"
            for step in terms.escalations
        ],
    }


# --- the comparison ------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class Comparison:
    """The changes since the version in force; `fault` says why it could not be read."""

    against: GateVersion | None = None
    changes: tuple[dict[str, Any], ...] = ()
    widenings: int = 0
    fault: str = ""


def comparison_of(version: GateVersion) -> Comparison:
    """With what is in force now; where nothing is, all of it is new."""
    against = in_force(version.tenant_id, version.gate_id)
    if against is not None and against.pk == version.pk:
        against = None
    try:
        old = document_of(against) if against is not None else None
        found = compare_gates(old, document_of(version))
    except ContextOSError as refusal:
        return Comparison(against, fault=f"{refusal.message} {refusal.remediation}")
    except (KeyError, TypeError, ValueError):  # a draft may hold anything
        return Comparison(against, fault="Fix the blocking findings first; then it is compared.")
    rows = tuple(_change_row(number, change) for number, change in enumerate(found, start=1))
    widenings = sum(1 for change in found if change.direction is Direction.WIDENS)
    return Comparison(against, rows, widenings)


def _change_row(number: int, change: GateChange) -> dict[str, Any]:
    return {
        "number": number,
        "direction": change.direction.value,
        "badge": badge(change.direction.value, _TONES[change.direction]),
        "title": reveal_invisible(change.title),
        "why": reveal_invisible(change.why),
        "before": reveal_invisible(change.before),
        "after": reveal_invisible(change.after),
    }


def in_force(tenant_id: str, gate_id: str) -> GateVersion | None:
    """The published version of a gate."""
    rows = GateVersion.objects.filter(tenant_id=tenant_id, gate_id=gate_id)
    return rows.filter(state=VersionState.PUBLISHED).first()


# --- who could vote ------------------------------------------------------------------------------
def who_could(
    version: GateVersion, terms: GateTerms, *, agent: str = "", person: str = ""
) -> dict[str, Any]:
    """The stages with their people, for a call of this agent on behalf of this person."""
    tenant_id = version.tenant_id
    chosen = Agent.objects.filter(tenant_id=tenant_id, agent_id=agent).select_related("owner")
    asked_by = chosen.first() if agent else None
    excluded = dict.fromkeys(authors_of(version), "wrote this version of the gate")
    if asked_by is not None:
        excluded[asked_by.owner.user_id] = f"owns the agent {asked_by.name}"
    members = User.objects.filter(memberships__tenant_id=tenant_id).distinct()
    if person and members.filter(user_id=person).exists():
        excluded[person] = "is the one on whose behalf it is asked"
    stages = preview(tenant_id=tenant_id, gate_id=version.gate_id, terms=terms, excluded=excluded)
    return {
        "previewed": [_stage_row(stage) for stage in stages],
        "short_stages": [stage.name for stage in stages if not stage.is_reachable],
        "agents": Agent.objects.filter(tenant_id=tenant_id).order_by("name")[:500],
        "askers": members.order_by("username")[:500],
        "agent": agent,
        "person": person,
    }


def authors_of(version: GateVersion) -> frozenset[str]:
    """Everybody who wrote on it; none of them decides what passes it."""
    return frozenset({version.author.user_id, *version.editors})


def _stage_row(stage: StagePreview) -> dict[str, Any]:
    enough = stage.is_reachable
    words = f"{stage.reach} of {stage.quorum} needed can vote today"
    return {
        "stage": stage,
        "badge": badge(words, "success" if enough else "danger"),
        "later": [(keeper, in_words(keeper.after_seconds or 0)) for keeper in stage.later],
    }


# --- the last days -------------------------------------------------------------------------------
def last_days(version: GateVersion, terms: GateTerms) -> dict[str, Any]:
    """How the requests of the last days would have gone under this version."""
    since = utcnow() - timedelta(days=DAYS)
    requests = past_requests(tenant_id=version.tenant_id, gate_id=version.gate_id, since=since)
    report = try_out(requests, terms, authors_of(version))
    names = _names(report)
    return {
        "report": report,
        "days": DAYS,
        "is_cut": len(requests) >= MOST,
        "most": MOST,
        "outcomes": [
            (badge(*OUTCOMES[item]), report.before[item], report.after[item]) for item in Outcome
        ],
        "differences": [_line(line, names) for line in report.changed[:SHOWN_DIFFERENCES]],
        "more_differences": max(0, len(report.changed) - SHOWN_DIFFERENCES),
    }


def _line(line: Any, names: Mapping[str, str]) -> dict[str, Any]:
    under = line.under
    why = [f"{count} more of {stage}" for stage, count in under.missing]
    lost = [names.get(voter, voter) for voter in dict.fromkeys(under.uncounted)]
    return {
        "approval_id": line.request.approval_id,
        "url": admin_url(ApprovalRequest, "change", line.request.approval_id),
        "at": line.request.created_at,
        "actual": badge(*OUTCOMES[line.request.actual]),
        "under": badge(*OUTCOMES[under.outcome]),
        "missing": f"needs {', '.join(why)}" if why and under.outcome != "rejected" else "",
        "lost": f"not counted: {', '.join(lost)}" if lost else "",
    }


def _names(report: Report) -> dict[str, str]:
    wanted = {voter for line in report.changed for voter in line.under.uncounted}
    return {user.user_id: str(user) for user in User.objects.filter(user_id__in=wanted)}
