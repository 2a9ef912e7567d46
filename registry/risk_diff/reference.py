"""The reference page of all rules, written from the rules themselves."""

from collections.abc import Iterator

from registry.risk_diff.rulebook import Rule, Scope, rules

_TITLES = {
    Scope.MANIFEST: "The manifest as a whole",
    Scope.CAPABILITY: "Each capability",
    Scope.SCHEMA: "Input, output and form schemas",
    Scope.RESOURCE: "Each resource",
    Scope.TEMPLATE: "Each resource template",
    Scope.PROMPT: "Each prompt",
    Scope.ELICITATION: "Each question to the user",
    Scope.REMAINDER: "Whatever is left",
}
_INTRODUCTION = """\
# Risk diff rules

A reviewer of a new manifest version sees what it changes against the version before. Each change
names the rule that found it, the place, the values before and after, and a direction:

| direction | meaning |
|---|---|
| widens | the adapter can do, reach or skip something that it could not before |
| unknown | nobody can say that it does not; treated exactly like widens |
| narrows | the adapter can do provably less |
| neutral | the meaning is provably the same |

The verdict over all changes is `widens` as soon as one of them widens or is unknown. Narrowing is
claimed only where it is proven; every difference that no rule explains is reported as unknown.
A change of a list can be two changes: what it gained and what it lost.

This page is written by `registry.risk_diff.render_reference()`; a test keeps it in step.
"""


def render_reference() -> str:
    """The page `docs/reference/risk-diff.md`."""
    return "\n".join([_INTRODUCTION, *_sections()])


def _sections() -> Iterator[str]:
    for scope, title in _TITLES.items():
        found = [rule for rule in rules() if rule.scope is scope]
        yield f"## {title}\n\n| rule | compares | why it matters |\n|---|---|---|"
        yield "\n".join(_row(rule) for rule in found) + "\n"


def _row(rule: Rule) -> str:
    watched = ", ".join(f"`{name}`" for name in rule.watches)
    return f"| `{rule.id}` | {watched} | {rule.why} |"
