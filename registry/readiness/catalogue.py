"""The rules by id: a rule is one function, and its decorator says what it is for."""

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from registry.manifest import Manifest
from registry.readiness.findings import Complaint, Severity

Check = Callable[[Manifest], Iterator[Complaint]]

_RULE_ID = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")


@dataclass(frozen=True, slots=True)
class Rule:
    """One readiness rule; `why` and `fix` are shown to the author of a manifest."""

    id: str
    severity: Severity
    title: str
    why: str
    fix: str
    check: Check

    @property
    def subject(self) -> str:
        """The module the rule lives in, which is also its heading in the reference."""
        return self.check.__module__.rpartition(".")[2]


_rules: dict[str, Rule] = {}


def rule(
    rule_id: str, severity: Severity, *, title: str, why: str, fix: str
) -> Callable[[Check], Check]:
    """Enter a function into the catalogue."""

    def enter(check: Check) -> Check:
        if rule_id in _rules or not _RULE_ID.fullmatch(rule_id):
            raise ValueError(f"rule id {rule_id!r} is malformed or declared twice")
        _rules[rule_id] = Rule(rule_id, severity, title, why, fix, check)
        return check

    return enter


def all_rules() -> tuple[Rule, ...]:
    """Every rule, by id."""
    # Imported here because the rule modules need the decorator above.
    import registry.readiness.rules  # noqa: F401

    return tuple(_rules[rule_id] for rule_id in sorted(_rules))


def rule_by_id(rule_id: str) -> Rule:
    """One rule; asking for an id that does not exist is a programming error."""
    all_rules()
    return _rules[rule_id]
