"""Who may use which REST address, written down by hand and apart from the code that decides it.

The names are those of the URLconf; a route that is missing here fails the matrix.
"""

from __future__ import annotations

from typing import Any

PEOPLE = (
    "platform_admin",
    "manifest_author",
    "manifest_reviewer",
    "finance_approver",
    "auditor",
    "operator",
    "service",
)
CALLERS = (*PEOPLE, "agent", "nobody")

ADMIN = frozenset({"platform_admin"})
AUTHORS = ADMIN | {"manifest_author"}
REVIEWERS = ADMIN | {"manifest_reviewer"}
SWITCHERS = ADMIN | {"operator"}
CATALOGUE = AUTHORS | REVIEWERS | SWITCHERS | {"auditor"}
RECORDS = ADMIN | {"operator", "auditor"}
QUEUE = RECORDS | {"finance_approver"}
VOTERS = frozenset(PEOPLE) - {"auditor"}  # whether their group may vote is the gate's to say
ANYBODY = frozenset({*PEOPLE, "agent"})
AGENT = frozenset({"agent"})

REASON: dict[str, Any] = {"reason": "Tried by the matrix."}
_VOTE = {**REASON, "digest": "sha256:" + "ab" * 32}

Row = dict[str, frozenset[str]]


def _reviewed(prefix: str) -> dict[str, Row]:
    """The life of an adapter version, a pack or a policy."""
    return {
        f"{prefix}version": {"GET": CATALOGUE, "PUT": AUTHORS},
        f"{prefix}version-submit": {"POST": AUTHORS},
        f"{prefix}version-approve": {"POST": REVIEWERS},
        f"{prefix}version-reject": {"POST": REVIEWERS},
        f"{prefix}version-request-changes": {"POST": REVIEWERS},
        f"{prefix}version-publish": {"POST": ADMIN},
        f"{prefix}version-retire": {"POST": ADMIN},
        f"{prefix}versions": {"GET": CATALOGUE, "POST": AUTHORS},
    }


MATRIX: dict[str, Row] = {
    "adapters": {"GET": CATALOGUE, "POST": AUTHORS},
    "adapter": {"GET": CATALOGUE},
    "adapter-discover": {"POST": AUTHORS},
    **_reviewed(""),
    "version-findings": {"GET": CATALOGUE},
    "version-diff": {"GET": CATALOGUE},
    "capabilities": {"GET": CATALOGUE},
    "kill-switches": {"GET": CATALOGUE, "POST": SWITCHERS},
    "kill-switch": {"GET": CATALOGUE, "DELETE": SWITCHERS},
    "packs": {"GET": CATALOGUE, "POST": AUTHORS},
    **_reviewed("packs-"),
    "policies": {"GET": CATALOGUE, "POST": AUTHORS},
    **_reviewed("policies-"),
    "policies-simulate": {"POST": CATALOGUE},
    "approvals": {"GET": QUEUE},
    "approval": {"GET": QUEUE},
    "approval-approve": {"POST": VOTERS},
    "approval-reject": {"POST": VOTERS},
    "approval-withdraw": {"POST": VOTERS},
    "approval-comments": {"POST": QUEUE - {"auditor"}},
    "decision-records": {"GET": RECORDS},
    "decision-record": {"GET": RECORDS},
    "decision-record-proof": {"GET": RECORDS | AGENT},  # an agent: of its own calls
    "decision-record-replay": {"POST": RECORDS},
    "decision-record-replay-packet": {"GET": RECORDS},
    "log-checkpoint": {"GET": ANYBODY},
    "log-inclusion": {"GET": ANYBODY},
    "log-consistency": {"GET": ANYBODY},
    "log-keys": {"GET": ANYBODY},
    "exports": {"GET": RECORDS, "POST": RECORDS},
    "export": {"GET": RECORDS},
    "export-cancel": {"POST": RECORDS},
    "export-download": {"GET": RECORDS},
    "metrics-capabilities": {"GET": CATALOGUE},
    "plans-verify": {"POST": AGENT},
    "runs": {"POST": AGENT},
    "run": {"GET": AGENT},
    "tool-manifest": {"GET": AGENT},
    "tool-calls": {"POST": AGENT},
    "tool-call": {"GET": AGENT},
    "tool-call-cancel": {"POST": AGENT},
    "tool-call-input": {"POST": AGENT},
}

# What those who are let in get for their tenant's own things. A reader gets 200; the rest is told
# here, with who gets another answer and why. Whoever is not let in gets 403, and nobody 401.
LET_IN: dict[tuple[str, str], int | dict[str, int]] = {
    ("adapter-discover", "POST"): 422,  # a function adapter has nothing to discover
    ("adapters", "POST"): 422,  # the empty document, here and below
    ("kill-switches", "POST"): 422,
    ("policies-simulate", "POST"): 422,
    ("exports", "POST"): 400,
    ("plans-verify", "POST"): 400,
    ("runs", "POST"): 400,
    ("tool-calls", "POST"): 400,
    ("packs", "POST"): 422,
    ("policies", "POST"): 422,
    ("versions", "POST"): 422,
    ("packs-versions", "POST"): 422,
    ("policies-versions", "POST"): 422,
    ("packs-version", "PUT"): 422,
    ("policies-version", "PUT"): 422,
    ("version", "PUT"): 409,  # published: no draft any more
    ("version-submit", "POST"): 409,
    ("packs-version-submit", "POST"): 200,  # a draft
    ("policies-version-submit", "POST"): 200,
    **{
        (f"{prefix}version-{step}", "POST"): 409  # nobody has submitted it
        for prefix in ("", "packs-", "policies-")
        for step in ("approve", "reject", "request-changes", "publish")
    },
    **{(f"{prefix}version-retire", "POST"): 200 for prefix in ("", "packs-", "policies-")},
    ("kill-switch", "DELETE"): 200,
    # The gate has no keepers: an approver who keeps other gates does not see what waits at it.
    ("approval", "GET"): {"": 200, "finance_approver": 404},
    ("approval-comments", "POST"): {"": 201, "finance_approver": 404},
    ("approval-approve", "POST"): 403,
    ("approval-reject", "POST"): 403,
    ("approval-withdraw", "POST"): 409,
    ("decision-record-proof", "GET"): {"": 200, "agent": 404},  # it is of no call of this agent
    ("decision-record-replay", "POST"): 200,
    ("export-cancel", "POST"): 200,
    ("export-download", "GET"): 409,  # not written yet
    ("tool-call-cancel", "POST"): 200,
    ("tool-call-input", "POST"): 409,  # nobody asked for any
}
QUERIES = {"log-inclusion": "?index=0", "log-consistency": "?from=1"}

# Bodies that get as far as the object, so that its absence is what is answered.
BODIES: dict[str, dict[str, Any]] = {
    "approval-approve": _VOTE,
    "approval-reject": _VOTE,
    "approval-comments": {"text": "Tried by the matrix."},
    "tool-call-cancel": REASON,
    "tool-call-input": {"action": "decline"},
    **{
        f"{prefix}version-{step}": REASON
        for prefix in ("", "packs-", "policies-")
        for step in ("approve", "reject", "request-changes", "retire")
    },
}
