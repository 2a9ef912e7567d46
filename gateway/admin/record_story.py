"""A decision told from its record: who, why, by whose leave, with what end (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from contextos.core.clock import parse_time
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible, single_line
from gateway.admin.labels import length, money

Record = Mapping[str, Any]
Names = Mapping[str, str]

_ENDINGS = {
    "PROPOSED": "It was proposed and waits to be decided.",
    "APPROVED": "It was let through and has not ended yet.",
    "DEFERRED": "It is long-running work that goes on.",
    "ESCALATED": "It waits for an answer or for more authority.",
    "EXECUTED": "It was carried out.",
    "FAILED": "It was tried, and failed.",
    "REJECTED": "It was refused; nothing was called.",
    "EXPIRED": "Nobody decided in time; nothing was called.",
    "CANCELLED": "It was cancelled.",
    "UNKNOWN": "Whether it took effect is not known.",
}
_FACTORS = {
    "totp": "a code from their authenticator app",
    "recovery_code": "a recovery code",
    "webauthn": "a security key",
}


@dataclass(frozen=True, slots=True)
class VoteTold:
    """One person's word, or that of a rule."""

    who: str
    verdict: str
    by_rule: bool
    factor: str = ""
    reason: str = ""
    for_whom: str = ""
    at: datetime | None = None
    took: str = ""


@dataclass(frozen=True, slots=True)
class ApprovalTold:
    """One passage through a gate, or past it by a rule."""

    approval_id: str
    gate: str
    gate_version: str
    state: str
    digest: str
    votes: tuple[VoteTold, ...]


@dataclass(frozen=True, slots=True)
class Story:
    """What the page tells; every text is safe to look at, none is markup."""

    lead: str
    chain: tuple[dict[str, str], ...]
    intent: str
    modes: str
    approvals: tuple[ApprovalTold, ...]
    ending: str
    facts: tuple[tuple[str, str], ...]
    error: Mapping[str, str] = field(default_factory=dict)


def story_of(records: Sequence[Record], names: Names) -> Story:
    """From the rows of one decision, first to last."""
    first, last = records[0], records[-1]
    chain = _chain(last, names)
    return Story(
        lead=_lead(chain, last),
        chain=chain,
        intent=_text(last.get("intent")) or "none named",
        modes=_modes(last),
        approvals=tuple(_approval(one, first, names) for one in last.get("approvals") or ()),
        ending=_ENDINGS.get(str(last.get("status")), ""),
        facts=tuple(_facts(first, last)),
        error=_error(last),
    )


def _lead(chain: Sequence[Mapping[str, str]], last: Record) -> str:
    asking = next((link["name"] for link in chain if link["kind"] == "agent"), "")
    behalf = next((link["name"] for link in chain if link["kind"] == "user"), "")
    capability = _text((last.get("capability") or {}).get("id")) or "something that has no name"
    who = asking or behalf or "Somebody"
    for_whom = f", on behalf of {behalf}," if asking and behalf else ""
    ending = _ENDINGS.get(str(last.get("status")), "")
    return f"{who}{for_whom} asked for {capability}. {ending}".strip()


def _chain(last: Record, names: Names) -> tuple[dict[str, str], ...]:
    return tuple(
        {
            "kind": str(link.get("kind")),
            "id": _text(link.get("id")),
            "name": _name(str(link.get("id")), names, link.get("display")),
        }
        for link in last.get("principal_chain") or ()
    )


def _name(identity: str, names: Names, display: Any = None) -> str:
    return single_line(names.get(identity) or str(display or identity), limit=80)


def _modes(last: Record) -> str:
    """Asked for, granted, at most: said once where they are the same."""
    capability = last.get("capability") or {}
    asked, granted, most = (
        str(capability.get(f"mode_{name}") or "").replace("_", " ")
        for name in ("requested", "effective", "highest")
    )
    if not granted:
        return "not decided"
    if asked == granted == most:
        return granted
    return f"{granted} (asked for {asked or 'none'}, at most {most or 'none'})"


# --- approvals -----------------------------------------------------------------------------------
def _approval(approval: Record, first: Record, names: Names) -> ApprovalTold:
    asked_at = _moment(first.get("created_at"))
    return ApprovalTold(
        approval_id=_text(approval.get("approval_id")),
        gate=_text(approval.get("gate")),
        gate_version=_text(approval.get("gate_version")),
        state=_text(approval.get("state")),
        digest=_text(approval.get("digest")),
        votes=tuple(_vote(vote, asked_at, names) for vote in approval.get("votes") or ()),
    )


def _vote(vote: Record, asked_at: datetime | None, names: Names) -> VoteTold:
    who = str(vote.get("approver") or "")
    at = _moment(vote.get("at"))
    factor = str(vote.get("factor") or "")
    return VoteTold(
        who=_name(who.removeprefix("policy:"), names),
        verdict="approved" if vote.get("verdict") == "approve" else "rejected",
        by_rule=who.startswith("policy:"),
        factor=_FACTORS.get(factor, _text(factor)),
        reason=_text(vote.get("reason")),
        for_whom=_name(str(vote["on_behalf_of"]), names) if vote.get("on_behalf_of") else "",
        at=at,
        took=length(at - asked_at) if at and asked_at else "",
    )


# --- what happened -------------------------------------------------------------------------------
def _facts(first: Record, last: Record) -> list[tuple[str, str]]:
    begun, ended = _moment(first.get("created_at")), _moment(last.get("created_at"))
    egress, credentials = last.get("egress") or {}, last.get("credentials") or {}
    spent = last.get("cost_cents")
    found = [
        ("Attempts", str(last.get("attempts") or 0)),
        ("From first to last row", length(ended - begun) if begun and ended else ""),
        ("Cost", money(spent) if isinstance(spent, int) else ""),
        (
            "Reached",
            " at ".join(_text(egress.get(name)) for name in ("host", "ip") if egress.get(name)),
        ),
        ("Scopes granted", ", ".join(map(_text, credentials.get("scopes_granted") or ()))),
        ("Critic", _critic(last.get("scorecard"))),
        ("Identical refusals after it", _repeats(last)),
        ("Safeguards that stood", ", ".join(map(_text, last.get("controls_active") or ()))),
        ("Left out of the record", ", ".join(map(_text, last.get("redactions") or ()))),
    ]
    return [(title, value) for title, value in found if value]


def _critic(scorecard: Any) -> str:
    if not isinstance(scorecard, Mapping) or not scorecard.get("verdict"):
        return ""
    said = [_text(item.get("message")) for item in scorecard.get("findings") or ()]
    return "; ".join([_text(scorecard["verdict"]), *said])


def _repeats(last: Record) -> str:
    count = last.get("repeat_count")
    return str(count) if isinstance(count, int) and count > 1 else ""


def _error(last: Record) -> dict[str, str]:
    error = last.get("error")
    if not isinstance(error, Mapping):
        return {}
    return {name: _text(error.get(name)) for name in ("kind", "code", "message")}


def _moment(text: Any) -> datetime | None:
    try:
        return parse_time(str(text)) if text else None
    except ContextOSError:
        return None


def _text(value: Any) -> str:
    return "" if value is None else reveal_invisible(str(value))[:2000]
