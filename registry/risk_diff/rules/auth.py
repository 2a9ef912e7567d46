"""Rules for credentials: who issues them, for whom, and how much they allow."""

from collections.abc import Iterator

from registry.risk_diff.comparers import NARROWS, NEUTRAL, UNKNOWN, WIDENS, grants, hazard, replaced
from registry.risk_diff.place import Note, Place
from registry.risk_diff.rulebook import Scope, rule
from registry.risk_diff.values import MISSING, list_of, member, missing_from, names_of
from registry.risk_diff.wording import show_list, show_text


@rule("auth.type", Scope.MANIFEST, "auth.type")
def check_type(manifest: Place) -> Iterator[Note]:
    """Another kind of credential is another proof of identity; `none` is no proof at all."""
    place = manifest.at("auth", "type")
    changed = WIDENS if place.new == "none" else UNKNOWN
    yield from replaced(place, "The kind of credential", removed=WIDENS, changed=changed)


@rule("auth.reason", Scope.MANIFEST, "auth.reason")
def check_reason(manifest: Place) -> Iterator[Note]:
    """A sentence for reviewers; nothing acts on it."""
    place = manifest.at("auth", "reason")
    yield from replaced(place, "The stated reason", added=NEUTRAL, removed=NEUTRAL, changed=NEUTRAL)


@rule("auth.initial_scopes", Scope.MANIFEST, "auth.initial_scopes")
def check_initial_scopes(manifest: Place) -> Iterator[Note]:
    """Every call carries these scopes, whatever it is for."""
    yield from grants(manifest.at("auth", "initial_scopes"), "The scopes that every call carries")


@rule("auth.step_up_scopes", Scope.MANIFEST, "auth.step_up_scopes")
def check_step_up_scopes(manifest: Place) -> Iterator[Note]:
    """A scope asked for only when needed is authority; losing the question is losing a check."""
    auth = manifest.at("auth")
    place = auth.at("step_up_scopes")
    for capability, scopes in place.members():
        if scopes.differs:
            yield from _step_up_changes(auth, scopes.about(capability))


def _step_up_changes(auth: Place, scopes: Place) -> Iterator[Note]:
    old, new = list_of(scopes.old), list_of(scopes.new)
    what = f"The scopes asked for at {show_text(scopes.subject)}"
    if old is None or new is None:
        yield from replaced(scopes, what)
        return
    gained, lost = missing_from(new, old), missing_from(old, new)
    yield from _gained(auth, scopes, what, gained)
    yield from _lost(auth, scopes, what, lost, still_asks=bool(new))
    if not gained and not lost:
        yield scopes.note(NEUTRAL, f"{what} are the same, now written in another way.")


def _gained(auth: Place, scopes: Place, what: str, gained: list[object]) -> Iterator[Note]:
    carried_before = names_of(member(auth.old, "initial_scopes"))
    carried_now = names_of(member(auth.new, "initial_scopes"))
    moved = [name for name in gained if name in carried_before and name not in carried_now]
    fresh = missing_from(gained, moved)
    if moved:
        message = f"{what} now include {show_list(moved)}, which every call used to carry."
        yield scopes.note(NARROWS, message)
    if fresh:
        yield scopes.note(WIDENS, f"{what} now also include {show_list(fresh)}.")


def _lost(
    auth: Place, scopes: Place, what: str, lost: list[object], *, still_asks: bool
) -> Iterator[Note]:
    carried = names_of(member(auth.new, "initial_scopes"))
    moved = [name for name in lost if name in carried]
    gone = missing_from(lost, moved)
    if moved:
        message = f"{what} no longer include {show_list(moved)}: every call carries it now."
        yield scopes.note(WIDENS, message)
    if gone:
        # Where nothing is asked for any more, the pause before the call is gone as well.
        direction = NARROWS if still_asks else UNKNOWN
        yield scopes.note(direction, f"{what} no longer include {show_list(gone)}.")


@rule("auth.audience", Scope.MANIFEST, "auth.token_audience", "auth.resource")
def check_audience(manifest: Place) -> Iterator[Note]:
    """A token is good for whoever is named here; without a name it may be good anywhere."""
    for name, what in (("token_audience", "The audience"), ("resource", "The resource")):
        place = manifest.at("auth", name)
        yield from replaced(place, f"{what} of tokens", added=NARROWS, removed=WIDENS)


@rule("auth.passthrough", Scope.MANIFEST, "auth.allow_token_passthrough")
def check_passthrough(manifest: Place) -> Iterator[Note]:
    """With passthrough the server receives the caller's own token and can act as the caller."""
    place = manifest.at("auth", "allow_token_passthrough")
    yield from hazard(place, "Passing the caller's token on")


@rule("auth.present", Scope.MANIFEST, "auth")
def check_present(manifest: Place) -> Iterator[Note]:
    """Without any word on credentials nobody can say who is calling."""
    place = manifest.at("auth")
    if isinstance(place.old, dict) and place.new is MISSING:
        yield place.note(WIDENS, "The whole section on credentials is removed.")
