"""Rules for constraints on arguments and on the parameters of resource templates."""

from collections.abc import Iterator

from registry.risk_diff.comparers import (
    NARROWS,
    NEUTRAL,
    UNKNOWN,
    WIDENS,
    Absent,
    ceiling,
    floor,
    grants,
    replaced,
    safeguard,
)
from registry.risk_diff.patterns import PatternOrder, compare_patterns
from registry.risk_diff.place import Note, Place
from registry.risk_diff.rulebook import Scope, rule
from registry.risk_diff.values import MISSING
from registry.risk_diff.wording import show, show_text

_KNOWN = frozenset({"min", "max", "enum", "pattern", "required"})
_BY_ORDER = {
    PatternOrder.SAME: NEUTRAL,
    PatternOrder.NARROWER: NARROWS,
    PatternOrder.WIDER: WIDENS,
    PatternOrder.UNPROVEN: UNKNOWN,
}


def _kept(place: Place) -> Iterator[tuple[str, Place]]:
    """The names whose constraint both versions have, in a form that can be compared."""
    for name, constraint in place.members():
        if isinstance(constraint.old, dict) and isinstance(constraint.new, dict):
            yield show_text(name), constraint


def _appearing(place: Place, noun: str) -> Iterator[Note]:
    for name, constraint in place.members():
        what = f"{noun} {show_text(name)}"
        if constraint.old is MISSING:
            known = isinstance(constraint.new, dict) and _KNOWN.issuperset(constraint.new)
            message = f"{what} is constrained for the first time: {show(constraint.new)}."
            yield constraint.note(NARROWS if known and constraint.new else UNKNOWN, message)
        elif constraint.new is MISSING:
            message = f"{what} is no longer constrained; it was {show(constraint.old)}."
            yield constraint.note(WIDENS, message)


def _pattern(place: Place, what: str) -> Iterator[Note]:
    if isinstance(place.old, str) and isinstance(place.new, str) and place.differs:
        order = compare_patterns(place.old, place.new)
        message = f"{what} must match {show_text(place.new)} instead of {show_text(place.old)}."
        yield place.note(_BY_ORDER[order], message)
    else:
        yield from replaced(place, f"The pattern for {what}", added=NARROWS, removed=WIDENS)


@rule("constraint.presence", Scope.CAPABILITY, "arg_constraints")
def check_presence(capability: Place) -> Iterator[Note]:
    """A constraint holds whatever the schema allows; without it only the schema is left."""
    yield from _appearing(capability.at("arg_constraints"), "The argument")


@rule("constraint.largest", Scope.CAPABILITY, "arg_constraints.*.max")
def check_largest(capability: Place) -> Iterator[Note]:
    """A higher ceiling lets one call move more."""
    for name, constraint in _kept(capability.at("arg_constraints")):
        what = f"The largest {name} a call may carry"
        yield from ceiling(constraint.at("max"), what, signed=True)


@rule("constraint.smallest", Scope.CAPABILITY, "arg_constraints.*.min")
def check_smallest(capability: Place) -> Iterator[Note]:
    """A lower floor lets values through that were refused before, negative ones among them."""
    for name, constraint in _kept(capability.at("arg_constraints")):
        yield from floor(constraint.at("min"), f"The smallest {name} a call may carry")


@rule("constraint.choices", Scope.CAPABILITY, "arg_constraints.*.enum")
def check_choices(capability: Place) -> Iterator[Note]:
    """A further choice is a further thing that can be asked for."""
    for name, constraint in _kept(capability.at("arg_constraints")):
        choices = f"The choices for {name}"
        yield from grants(constraint.at("enum"), choices, absent=Absent.EVERYTHING)


@rule("constraint.pattern", Scope.CAPABILITY, "arg_constraints.*.pattern")
def check_pattern(capability: Place) -> Iterator[Note]:
    """A pattern is often the only thing between the model and free text."""
    for name, constraint in _kept(capability.at("arg_constraints")):
        yield from _pattern(constraint.at("pattern"), name)


@rule("constraint.required", Scope.CAPABILITY, "arg_constraints.*.required")
def check_required(capability: Place) -> Iterator[Note]:
    """What need not be given any more is left to the tool's own default."""
    for name, constraint in _kept(capability.at("arg_constraints")):
        yield from safeguard(constraint.at("required"), f"Demanding {name}")


@rule("template.parameters", Scope.TEMPLATE, "parameter_constraints")
def check_template_parameters(template: Place) -> Iterator[Note]:
    """A template without bounds on its parameters reads whatever the model names."""
    place = template.at("parameter_constraints")
    yield from _appearing(place, "The parameter")
    for name, constraint in _kept(place):
        choices = f"The choices for {name}"
        yield from grants(constraint.at("enum"), choices, absent=Absent.EVERYTHING)
        yield from _pattern(constraint.at("pattern"), name)
