"""Rules for a capability's contract: its schemas, its evidence, its errors."""

from collections.abc import Iterator

from registry.risk_diff.comparers import NARROWS, NEUTRAL, UNKNOWN, WIDENS, guards, hazard, prose
from registry.risk_diff.comparers import replaced as replaced_value
from registry.risk_diff.place import Note, Place
from registry.risk_diff.rulebook import Scope, rule
from registry.risk_diff.rules.catalogue import reordered
from registry.risk_diff.schema import Role, compare_documents
from registry.risk_diff.schema.sources import Source
from registry.risk_diff.types import Direction
from registry.risk_diff.values import MISSING, is_absent, member
from registry.risk_diff.wording import show, show_text


@rule("capability.input_schema", Scope.CAPABILITY, "input_schema_ref", "input_schema")
def check_input_schema(capability: Place) -> Iterator[Note]:
    """The input schema is what every call is checked against before anything else happens."""
    yield from _named(capability, "input", Role.INPUT, added=UNKNOWN)
    yield from _inline(capability, "input", Role.INPUT)


@rule("capability.output_schema", Scope.CAPABILITY, "output_schema_ref", "output_schema")
def check_output_schema(capability: Place) -> Iterator[Note]:
    """Results that nothing checks can carry anything back to the model and into the record."""
    yield from _named(capability, "output", Role.OUTPUT, added=NARROWS)
    yield from _inline(capability, "output", Role.OUTPUT)


def _named(capability: Place, which: str, role: Role, *, added: Direction) -> Iterator[Note]:
    place = capability.at(f"{which}_schema_ref")
    what = f"The {which} schema"
    if is_absent(place.old) or is_absent(place.new):
        yield from replaced_value(place, what, added=added, removed=WIDENS)
        return
    library = capability.library
    if library is None or (not place.differs and library.untouched(str(place.new))):
        return
    old, new = library.old_source(place.old), library.new_source(place.new)
    if old is None or new is None:
        # An unresolved name that stays unresolved has not changed.
        if place.differs or (old is None) is not (new is None):
            yield place.note(UNKNOWN, f"{what} {show(place.new)} could not be found and compared.")
        return
    if place.differs:
        message = f"{what} is now called {show(place.new)} instead of {show(place.old)}."
        yield place.note(NEUTRAL, f"{message} What it accepts is compared line by line.")
    yield from compare_documents(role, old, new, subject=capability.subject, library=library)


def _inline(capability: Place, which: str, role: Role) -> Iterator[Note]:
    """Drafts may carry a schema on the spot."""
    place = capability.at(f"{which}_schema")
    if place.old is MISSING or place.new is MISSING:
        yield from replaced_value(place, f"The {which} schema on the spot", removed=WIDENS)
        return
    yield from compare_inline(place, role)


def compare_inline(place: Place, role: Role) -> Iterator[Note]:
    """Every change between two schemas written on the spot."""
    library = place.library
    old = Source("", place.old, library.old if library else {}, place.old_tokens)
    new = Source("", place.new, library.new if library else {}, place.new_tokens)
    yield from compare_documents(
        role, old, new, subject=place.subject, base=place.path, library=library
    )


@rule("capability.evidence", Scope.CAPABILITY, "evidence_keys")
def check_evidence(capability: Place) -> Iterator[Note]:
    """Evidence that is no longer returned can no longer be cited when a decision is questioned."""
    yield from guards(capability.at("evidence_keys"), "The evidence returned")


@rule("errors.declared", Scope.CAPABILITY, "errors")
def check_errors_declared(capability: Place) -> Iterator[Note]:
    """An error that is declared retryable is repeated; one no longer declared is anyone's guess."""
    errors = capability.at("errors")
    yield from reordered(errors, ("code",), "The declared errors")
    for error in errors.entries("code"):
        shown = show_text(error.subject)
        place = error.about(capability.subject)
        if error.old is MISSING:
            retryable = member(error.new, "retryable") is True
            message = f"The error {shown} is declared for the first time."
            yield place.note(WIDENS if retryable else UNKNOWN, message)
        elif error.new is MISSING:
            yield place.note(UNKNOWN, f"The error {shown} is no longer declared.")


@rule("errors.retryable", Scope.CAPABILITY, "errors.*.retryable")
def check_errors_retryable(capability: Place) -> Iterator[Note]:
    """After a retryable error the call is made again, with whatever effect it has."""
    for shown, error in _kept_errors(capability):
        yield from hazard(error.at("retryable"), f"Repeating the call after the error {shown}")


@rule("errors.meaning", Scope.CAPABILITY, "errors.*.kind", "errors.*.remediation")
def check_errors_meaning(capability: Place) -> Iterator[Note]:
    """The kind decides how the gateway reacts; the remediation tells the model what to try."""
    for shown, error in _kept_errors(capability):
        yield from replaced_value(error.at("kind"), f"The kind of the error {shown}")
        yield from prose(error.at("remediation"), f"The advice after the error {shown}")


def _kept_errors(capability: Place) -> Iterator[tuple[str, Place]]:
    for error in capability.at("errors").entries("code"):
        if error.old is not MISSING and error.new is not MISSING:
            yield show_text(error.subject), error.about(capability.subject)
