"""The rules by id: a decorator registers each function with what it watches and why it matters."""

from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias

from registry.risk_diff.place import Note, Place

if TYPE_CHECKING:
    from registry.risk_diff.schema.node import Node


EVERY_MEMBER = "every member"


class Scope(StrEnum):
    """What a rule is asked about: the whole manifest, or each entry of one of its lists."""

    MANIFEST = "manifest"
    CAPABILITY = "capability"
    RESOURCE = "resource"
    TEMPLATE = "resource template"
    PROMPT = "prompt"
    ELICITATION = "elicitation"
    SCHEMA = "schema"
    REMAINDER = "remainder"


Check: TypeAlias = Callable[[Place], Iterator[Note]]
SchemaCheck: TypeAlias = Callable[["Node"], Iterator[Note]]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule: its id, where it applies, the members it watches and the reason behind it."""

    id: str
    scope: Scope
    watches: tuple[str, ...]
    why: str

    def concerns(self, members: Collection[str]) -> bool:
        """Whether the rule watches any of these members."""
        return any(
            watched == EVERY_MEMBER or watched.partition(".")[0] in members
            for watched in self.watches
        )


_rules: dict[str, Rule] = {}
_checks: dict[Scope, list[tuple[Rule, Check]]] = {scope: [] for scope in Scope}
_schema_checks: dict[str, list[tuple[Rule, SchemaCheck]]] = {}


def rule(rule_id: str, scope: Scope, *watches: str) -> Callable[[Check], Check]:
    """Register a function as a rule; its docstring is the reason that reviewers read."""

    def register(check: Check) -> Check:
        _checks[scope].append((_enter(rule_id, scope, watches, check.__doc__), check))
        return check

    return register


def schema_rule(rule_id: str, *keywords: str) -> Callable[[SchemaCheck], SchemaCheck]:
    """Register a function as the rule for some JSON Schema keywords."""

    def register(check: SchemaCheck) -> SchemaCheck:
        entry = (_enter(rule_id, Scope.SCHEMA, keywords, check.__doc__), check)
        for keyword in keywords:
            _schema_checks.setdefault(keyword, []).append(entry)
        return check

    return register


def describe(rule_id: str, scope: Scope, why: str, *watches: str) -> Rule:
    """Enter a rule that the machinery itself applies."""
    return _enter(rule_id, scope, watches, why)


def rules() -> tuple[Rule, ...]:
    """Every rule, in the order of registration."""
    return tuple(_rules.values())


def apply_rules(scope: Scope, place: Place) -> Iterator[Note]:
    """What all rules of a scope say about a place."""
    for entry, check in _checks[scope]:
        for note in check(place):
            yield note.stamped(entry.id, entry.why)


def apply_concerned(scope: Scope, place: Place, members: frozenset[str]) -> Iterator[Note]:
    """As `apply_rules`, asking only the rules that watch one of the members.

    Cheap, and safe even where a rule watches more than it says: what it then does not see is
    left to the catch-all.
    """
    for entry, check in _concerned(scope, members):
        for note in check(place):
            yield note.stamped(entry.id, entry.why)


@lru_cache(maxsize=1024)
def _concerned(scope: Scope, members: frozenset[str]) -> tuple[tuple[Rule, Check], ...]:
    return tuple(found for found in _checks[scope] if found[0].concerns(members))


def schema_checks(keyword: str) -> list[tuple[Rule, SchemaCheck]]:
    """The rules that watch a JSON Schema keyword; none for one we do not know."""
    return _schema_checks.get(keyword, [])


def _enter(rule_id: str, scope: Scope, watches: tuple[str, ...], why: str | None) -> Rule:
    if rule_id in _rules:
        raise ValueError(f"two risk rules are called {rule_id}")
    if not why:
        raise ValueError(f"risk rule {rule_id} does not say why it matters")
    entry = Rule(rule_id, scope, watches, " ".join(why.split()))
    _rules[rule_id] = entry
    return entry
