"""Every standing report by its key."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from audit.reports import approvals, changes, decisions, outcomes
from audit.reports.types import StandingReport
from contextos.core.errors import coded_error

_ALL = (
    StandingReport(
        "approvals-by-person",
        "Approvals by person",
        "Who approved and rejected, how much of it, and did anybody do it alone?",
        approvals.approvals_by_person,
    ),
    StandingReport(
        "time-to-decide",
        "Time to decide",
        "How long did people take to decide, and how many votes came in under 3 seconds?",
        approvals.time_to_decide,
    ),
    StandingReport(
        "quick-votes",
        "Votes under 3 seconds",
        "Which votes were given faster than anybody can read?",
        approvals.quick_votes,
    ),
    StandingReport(
        "self-approval-attempts",
        "Attempts to approve one's own",
        "Did anybody try to approve what they had asked for themselves?",
        approvals.self_approval_attempts,
    ),
    StandingReport(
        "overridden-modes",
        "Overridden modes",
        "Where did policy or a reviewer set another mode than the manifest declares?",
        decisions.overridden_modes,
    ),
    StandingReport(
        "expired",
        "Expired requests",
        "Which requests did nobody decide in time, and had anybody looked at them?",
        decisions.expired_requests,
    ),
    StandingReport(
        "denied",
        "Denied per 1,000",
        "How often was a call denied, of which capability, and why?",
        decisions.denied,
    ),
    StandingReport(
        "widenings",
        "Widenings published",
        "After which publications may an adapter do more, and who reviewed them?",
        changes.widenings,
    ),
    StandingReport(
        "gate-and-policy-changes",
        "Gate and policy changes",
        "Who changed the rules that calls are decided by, when and why?",
        changes.governing_changes,
    ),
    StandingReport(
        "unknown-outcomes",
        "Unknown outcomes",
        "Of which calls did nobody know whether they happened, and how was it settled?",
        outcomes.unknown_outcomes,
    ),
    StandingReport(
        "erasures",
        "Erasures",
        "Which values were erased or purged, on whose word, and what was held back?",
        changes.erasures,
    ),
    StandingReport(
        "exports",
        "Exports",
        "Who took records out of the system, which, and in what form?",
        changes.exports,
    ),
)
REPORTS: Mapping[str, StandingReport] = MappingProxyType({each.key: each for each in _ALL})


def standing_report(key: str) -> StandingReport:
    """The report of that key, or a coded refusal."""
    found = REPORTS.get(key)
    if found is None:
        raise coded_error("report.unknown", data={"known": sorted(REPORTS)})
    return found
