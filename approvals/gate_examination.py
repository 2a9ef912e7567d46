"""Everything wrong or worth a look in a gate's document, before people review it; pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from approvals.gates import DAY, FactorRule, GateTerms, read_terms
from contextos.review.findings import Finding, Severity

LONGEST_WAIT = 7 * DAY
MOST_STAGES = 10
MOST_QUORUM = 20
MOST_STEPS = 20

_TEXTS = frozenset({"title", "description", "owner_role"})
_MEMBERS = _TEXTS | {
    "gate_id",
    "version",
    "stages",
    "deny_threshold",
    "expires_after_seconds",
    "second_factor",
    "reminders_after_seconds",
    "escalations",
}
_STAGE = frozenset({"name", "groups", "quorum"})
_STEP = frozenset({"after_seconds", "groups"})


def examine(document: Mapping[str, Any], sizes: Mapping[str, int]) -> tuple[Finding, ...]:
    """All findings; `sizes` says how many people each approver group has."""
    found = [
        *_unknown_members("", document, _MEMBERS, "gate"),
        *_texts(document),
        *_stages(document.get("stages"), sizes),
        *_numbers(document),
        *_escalations(document.get("escalations")),
    ]
    if not any(item.severity is Severity.BLOCK for item in found):
        found += _doubts(read_terms(document), sizes)
    return tuple(found)


def _block(rule: str, pointer: str, message: str, remediation: str) -> Finding:
    return Finding(rule, Severity.BLOCK, pointer, message, remediation)


def _warn(rule: str, pointer: str, message: str, remediation: str) -> Finding:
    return Finding(rule, Severity.WARN, pointer, message, remediation)


def _unknown_members(
    pointer: str, part: Mapping[str, Any], known: Iterable[str], noun: str
) -> Iterator[Finding]:
    """A misspelt `quorum` would otherwise be one vote without anybody noticing."""
    for name in sorted(set(part) - set(known)):
        yield _block(
            "gate.member_unknown",
            f"{pointer}/{name}",
            f"A {noun} has no member {name}.",
            "Take it out, or spell it as the guide does.",
        )


def _texts(document: Mapping[str, Any]) -> Iterator[Finding]:
    for name in sorted(_TEXTS):
        if not isinstance(document.get(name, ""), str):
            yield _block("gate.text_invalid", f"/{name}", f"{name} is no text.", "Write a text.")


def _stages(stages: Any, sizes: Mapping[str, int]) -> Iterator[Finding]:
    if not isinstance(stages, list) or not 1 <= len(stages) <= MOST_STAGES:
        yield _block(
            "gate.stages_missing",
            "/stages",
            f"A gate has 1 to {MOST_STAGES} stages.",
            "Name at least one stage with its groups and its quorum.",
        )
        return
    for number, stage in enumerate(stages):
        yield from _stage(f"/stages/{number}", stage, sizes)
    names = [stage.get("name") for stage in stages if isinstance(stage, dict)]
    if len(set(map(str, names))) != len(names):
        yield _block("gate.stage_twice", "/stages", "Two stages share a name.", "Rename one.")


def _stage(pointer: str, stage: Any, sizes: Mapping[str, int]) -> Iterator[Finding]:
    name = stage.get("name") if isinstance(stage, dict) else None
    if not isinstance(name, str) or not name.strip():
        yield _block(
            "gate.stage_unnamed", f"{pointer}/name", "The stage has no name.", "Give it one."
        )
        return
    yield from _unknown_members(pointer, stage, _STAGE, "stage")
    if not _is_names(stage.get("groups")):
        yield _block(
            "gate.groups_missing",
            f"{pointer}/groups",
            "Nobody keeps this part of the gate.",
            "Name at least one approver group.",
        )
    else:
        yield from _unknown_groups(pointer, stage["groups"], sizes)
    if not _is_count(stage.get("quorum", 1), MOST_QUORUM):
        yield _block(
            "gate.quorum_invalid",
            f"{pointer}/quorum",
            f"A quorum is a whole number from 1 to {MOST_QUORUM}.",
            "Say how many people of the groups have to agree.",
        )


def _unknown_groups(
    pointer: str, groups: Iterable[str], sizes: Mapping[str, int]
) -> Iterator[Finding]:
    for name in groups:
        if name not in sizes:
            yield _block(
                "gate.group_unknown",
                f"{pointer}/groups",
                f"There is no approver group {name}.",
                "Make the group first, or use one that exists.",
            )


def _numbers(document: Mapping[str, Any]) -> Iterator[Finding]:
    if not _is_count(document.get("deny_threshold", 1), MOST_QUORUM):
        yield _block(
            "gate.deny_threshold_invalid",
            "/deny_threshold",
            f"The threshold is a whole number from 1 to {MOST_QUORUM}.",
            "Say how many rejections end a request; 1 is usual.",
        )
    if not _is_count(document.get("expires_after_seconds", DAY), LONGEST_WAIT):
        yield _block(
            "gate.expiry_invalid",
            "/expires_after_seconds",
            "A request waits at most seven days.",
            f"Use whole seconds, at most {LONGEST_WAIT}.",
        )
    if document.get("second_factor", "destructive") not in list(FactorRule):
        yield _block(
            "gate.factor_invalid",
            "/second_factor",
            "The rule for the second factor is not known.",
            "Use always, destructive or never.",
        )
    said = document.get("reminders_after_seconds")
    reminders = [] if said is None else said
    if not _is_list(reminders) or not all(_is_count(item, LONGEST_WAIT) for item in reminders):
        yield _block(
            "gate.reminders_invalid",
            "/reminders_after_seconds",
            f"Reminders are at most {MOST_STEPS} whole numbers of seconds after the request.",
            "List seconds such as 3600, or leave it out.",
        )


def _escalations(steps: Any) -> Iterator[Finding]:
    for number, step in enumerate(steps if _is_list(steps) else [] if steps is None else [None]):
        pointer = f"/escalations/{number}"
        sound = isinstance(step, dict) and _is_count(step.get("after_seconds"), LONGEST_WAIT)
        if not sound or not _is_names(step.get("groups")):
            yield _block(
                "gate.escalation_invalid",
                pointer,
                "An escalation needs after_seconds and groups.",
                "Say after how many seconds which groups may vote too.",
            )
        else:
            yield from _unknown_members(pointer, step, _STEP, "step")


# --- doubts about a document that could be used --------------------------------------------------
def _doubts(terms: GateTerms, sizes: Mapping[str, int]) -> Iterator[Finding]:
    for number, stage in enumerate(terms.stages):
        people = sum(sizes.get(name, 0) for name in set(stage.groups))
        if people < stage.quorum:
            yield _warn(
                "gate.quorum_unreachable",
                f"/stages/{number}/quorum",
                f"{stage.name} needs {stage.quorum}, and its groups have {people}.",
                "Add people to the groups before requests arrive.",
            )
    if terms.second_factor is FactorRule.NEVER:
        yield _warn(
            "gate.no_second_factor",
            "/second_factor",
            "Votes need no second factor here, not even on destructive calls.",
            "Use destructive unless another control does the same.",
        )
    yield from _too_late(terms)
    yield from _unknown_escalation_groups(terms, sizes)


def _too_late(terms: GateTerms) -> Iterator[Finding]:
    """Escalations are looked at in the order in which they come due, as `read_terms` sorts them."""
    if any(after >= terms.expires_after_seconds for after in terms.reminders_after_seconds):
        yield _warn(
            "gate.reminder_too_late",
            "/reminders_after_seconds",
            "A reminder comes due when the request has expired, so it is never sent.",
            "Remind earlier, or let requests wait longer.",
        )
    if any(step.after_seconds >= terms.expires_after_seconds for step in terms.escalations):
        yield _warn(
            "gate.escalation_too_late",
            "/escalations",
            "An escalation comes due when the request has expired, so nobody is brought in.",
            "Escalate earlier, or let requests wait longer.",
        )


def _unknown_escalation_groups(terms: GateTerms, sizes: Mapping[str, int]) -> Iterator[Finding]:
    for number, step in enumerate(terms.escalations):
        for name in step.groups:
            if name not in sizes:
                yield _warn(
                    "gate.escalation_group_unknown",
                    f"/escalations/{number}/groups",
                    f"There is no approver group {name}.",
                    "Make the group, or use one that exists.",
                )


def _is_count(value: Any, most: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= most


def _is_list(value: Any) -> bool:
    return isinstance(value, list) and len(value) <= MOST_STEPS


def _is_names(value: Any) -> bool:
    return _is_list(value) and bool(value) and all(isinstance(item, str) and item for item in value)
