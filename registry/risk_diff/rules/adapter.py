"""Rules for what the adapter is: its names, its owner, its protocol, its release."""

import re
from collections.abc import Iterator

from registry.risk_diff.comparers import (
    NARROWS,
    NEUTRAL,
    UNKNOWN,
    WIDENS,
    guards,
    prose,
    replaced,
)
from registry.risk_diff.place import Note, Place
from registry.risk_diff.rulebook import Scope, rule
from registry.risk_diff.values import MISSING
from registry.risk_diff.wording import show

_SEMVER = re.compile(r"(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\.(0|[1-9][0-9]{0,8})\Z", re.ASCII)
_DATED = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z", re.ASCII)
_NOTES = ("rollout_notes", "rollback_notes", "migration_notes", "protocol_version_reason")


@rule("adapter.identity", Scope.MANIFEST, "adapter_id")
def check_identity(manifest: Place) -> Iterator[Note]:
    """Permissions name the adapter by its id, so another id is another adapter."""
    yield from replaced(manifest.at("adapter_id"), "The adapter id")


@rule("adapter.name", Scope.MANIFEST, "name", "title", "description")
def check_name(manifest: Place) -> Iterator[Note]:
    """People and models choose by these texts; what they now suggest has to be read."""
    for name in ("name", "title", "description"):
        yield from prose(manifest.at(name), f"The adapter's {name}")


@rule("adapter.owner", Scope.MANIFEST, "owner_role")
def check_owner(manifest: Place) -> Iterator[Note]:
    """Someone else answers for the adapter from now on."""
    yield from replaced(manifest.at("owner_role"), "The owner", removed=WIDENS)


@rule("adapter.environment", Scope.MANIFEST, "environment")
def check_environment(manifest: Place) -> Iterator[Note]:
    """Production has real effects; development and workstation have looser network rules."""
    place = manifest.at("environment")
    if (place.old, place.new) in ((MISSING, "production"), ("production", MISSING)):
        yield place.note(NEUTRAL, "The environment is production, now written in another way.")
        return
    yield from replaced(place, "The environment")


@rule("adapter.version", Scope.MANIFEST, "version")
def check_version(manifest: Place) -> Iterator[Note]:
    """A later number is what every release brings; anything else needs a look."""
    place = manifest.at("version")
    old, new = _numbers(place.old), _numbers(place.new)
    later = old is not None and new is not None and new > old
    yield from replaced(place, "The version", changed=NEUTRAL if later else UNKNOWN)


def _numbers(value: object) -> tuple[int, ...] | None:
    match = _SEMVER.match(value) if isinstance(value, str) else None
    return tuple(int(part) for part in match.groups()) if match else None


@rule("adapter.notes", Scope.MANIFEST, *_NOTES)
def check_notes(manifest: Place) -> Iterator[Note]:
    """Notes to the people who release; neither gateway nor model reads them."""
    for name in _NOTES:
        what = f"The text in {name}"
        yield from replaced(
            manifest.at(name), what, added=NEUTRAL, removed=NEUTRAL, changed=NEUTRAL
        )


@rule("adapter.dialect_notes", Scope.MANIFEST, "schema_dialect_notes")
def check_dialect_notes(manifest: Place) -> Iterator[Note]:
    """They tell in which dialect schemas are to be read."""
    yield from prose(manifest.at("schema_dialect_notes"), "The note on schema dialects")


@rule("protocol.kind", Scope.MANIFEST, "protocol")
def check_protocol(manifest: Place) -> Iterator[Note]:
    """Another protocol is another connector with other safeguards."""
    yield from replaced(manifest.at("protocol"), "The protocol")


@rule("protocol.version", Scope.MANIFEST, "protocol_version")
def check_protocol_version(manifest: Place) -> Iterator[Note]:
    """An older protocol lacks safeguards that a newer one has; a newer one may bring features."""
    place = manifest.at("protocol_version")
    older = _is_dated(place.old) and _is_dated(place.new) and str(place.new) < str(place.old)
    yield from replaced(place, "The protocol version", changed=WIDENS if older else UNKNOWN)


def _is_dated(value: object) -> bool:
    return isinstance(value, str) and _DATED.match(value) is not None


# With these we can stop a task and hear of changed tools; losing one is no smaller surface.
_PROTECTING_FEATURES = frozenset({"cancel", "listChanged"})


@rule("server.capabilities", Scope.MANIFEST, "server_capabilities")
def check_server_capabilities(manifest: Place) -> Iterator[Note]:
    """What is pinned here is all that the live server may offer; a feature more is a way more."""
    place = manifest.at("server_capabilities")
    if isinstance(place.old, dict) and isinstance(place.new, dict) and place.new:
        yield from _features(place, "")
    else:
        yield from replaced(place, "The list of server features", removed=WIDENS)


def _features(place: Place, prefix: str) -> Iterator[Note]:
    for name, feature in place.members():
        label = f"{prefix}{name}"
        if isinstance(feature.old, dict) and isinstance(feature.new, dict) and not prefix:
            yield from _features(feature, f"{label}.")
        elif feature.differs:
            yield _feature_change(feature, label)


def _feature_change(feature: Place, label: str) -> Note:
    shown = show(label)
    if feature.old is MISSING or (feature.old is False and feature.new is True):
        switched_off = feature.new is False
        direction = UNKNOWN if switched_off else WIDENS
        return feature.note(direction, f"The server feature {shown} is now declared.")
    if feature.new is MISSING or (feature.old is True and feature.new is False):
        proven = feature.old is not False and feature.path[-1] not in _PROTECTING_FEATURES
        message = f"The server feature {shown} is no longer declared."
        return feature.note(NARROWS if proven else UNKNOWN, message)
    message = f"The server feature {shown} changes from {show(feature.old)} to {show(feature.new)}."
    return feature.note(UNKNOWN, message)


@rule("observability.coverage", Scope.MANIFEST, "observability")
def check_observability(manifest: Place) -> Iterator[Note]:
    """What is no longer traced or measured can no longer be noticed."""
    place = manifest.at("observability")
    yield from replaced(place.at("trace_context"), "The trace context", removed=WIDENS)
    yield from replaced(place.at("span_name_prefix"), "The prefix of span names")
    yield from guards(place.at("metrics"), "The measured values")
