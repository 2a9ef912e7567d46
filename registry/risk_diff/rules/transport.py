"""Rules for how calls reach the server: endpoint, origins, timeouts, pinned documents."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from registry.risk_diff.comparers import (
    NARROWS,
    NEUTRAL,
    UNKNOWN,
    WIDENS,
    Absent,
    ceiling,
    grants,
    prose,
    replaced,
    safeguard,
)
from registry.risk_diff.place import Note, Place
from registry.risk_diff.rulebook import Scope, rule
from registry.risk_diff.values import is_absent
from registry.risk_diff.wording import show

# Stricter than any URL parser: what parsers could read in two ways is not taken apart at all.
_URL = re.compile(
    r"(?P<scheme>https?)://(?P<host>[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\])(?::(?P<port>[0-9]{1,5}))?"
    r"(?P<rest>/[A-Za-z0-9._~!$&'()*+,;=:/?%-]*)?\Z",
    re.ASCII,
)
_DEFAULT_PORTS = {"http": "80", "https": "443"}


@dataclass(frozen=True, slots=True)
class _Endpoint:
    scheme: str
    host: str
    port: str
    rest: str


def _endpoint(value: object) -> _Endpoint | None:
    match = _URL.match(value) if isinstance(value, str) else None
    if match is None:
        return None
    scheme, host, port, rest = match.group("scheme", "host", "port", "rest")
    return _Endpoint(scheme, host.lower(), port or _DEFAULT_PORTS[scheme], rest or "/")


@rule("transport.kind", Scope.MANIFEST, "transport.kind")
def check_kind(manifest: Place) -> Iterator[Note]:
    """Another transport reaches the tool another way: a local process, or a host on the network."""
    yield from replaced(manifest.at("transport", "kind"), "The transport")


@rule("transport.host", Scope.MANIFEST, "transport.endpoint_ref")
def check_host(manifest: Place) -> Iterator[Note]:
    """Arguments and credentials go to whatever answers there; a new host is a new recipient."""
    place = manifest.at("transport", "endpoint_ref")
    if not place.differs:
        return
    if is_absent(place.old) or is_absent(place.new):
        yield from replaced(place, "The endpoint", added=WIDENS)
        return
    old, new = _endpoint(place.old), _endpoint(place.new)
    if old is None or new is None:
        message = f"The endpoint changes from {show(place.old)} to {show(place.new)}."
        yield place.note(UNKNOWN, message)
    elif old.host != new.host:
        yield place.note(WIDENS, f"Calls go to a new host: {new.host} instead of {old.host}.")
    elif _moved_port(old, new):
        message = f"Calls go to another port of {new.host}: {new.port} instead of {old.port}."
        yield place.note(WIDENS, message)


def _moved_port(old: _Endpoint, new: _Endpoint) -> bool:
    follows_scheme = all(end.port == _DEFAULT_PORTS[end.scheme] for end in (old, new))
    return old.port != new.port and not follows_scheme


@rule("transport.scheme", Scope.MANIFEST, "transport.endpoint_ref")
def check_scheme(manifest: Place) -> Iterator[Note]:
    """Without https anyone on the way can read and change calls."""
    place = manifest.at("transport", "endpoint_ref")
    old, new = _endpoint(place.old), _endpoint(place.new)
    if old is None or new is None or old.scheme == new.scheme:
        return
    if new.scheme == "http":
        yield place.note(WIDENS, "Calls are no longer encrypted: http instead of https.")
    else:
        yield place.note(NARROWS, "Calls are now encrypted: https instead of http.")


@rule("transport.endpoint_path", Scope.MANIFEST, "transport.endpoint_ref")
def check_endpoint_path(manifest: Place) -> Iterator[Note]:
    """Another path on the same host may be another service."""
    place = manifest.at("transport", "endpoint_ref")
    old, new = _endpoint(place.old), _endpoint(place.new)
    if old is None or new is None or not place.differs:
        return
    if old.rest != new.rest:
        message = f"The path of the endpoint changes from {show(old.rest)} to {show(new.rest)}."
        yield place.note(UNKNOWN, message)
    elif old == new:
        yield place.note(NEUTRAL, "The endpoint is the same, now written in another way.")


@rule("transport.origins", Scope.MANIFEST, "transport.origin_allowlist")
def check_origins(manifest: Place) -> Iterator[Note]:
    """Every origin listed may open sessions; without a list nobody knows whether any is checked."""
    place = manifest.at("transport", "origin_allowlist")
    yield from grants(place, "The origins that may connect", absent=Absent.UNCLEAR)


@rule("transport.timeout", Scope.MANIFEST, "transport.timeout_seconds")
def check_timeout(manifest: Place) -> Iterator[Note]:
    """A call that may hang for longer holds a place and a credential for longer."""
    place = manifest.at("transport", "timeout_seconds")
    yield from ceiling(place, "The time a call may take", unit="seconds")


@rule("transport.session_binding", Scope.MANIFEST, "transport.session_binding")
def check_session_binding(manifest: Place) -> Iterator[Note]:
    """A session that is not bound to a user can be taken over by another."""
    place = manifest.at("transport", "session_binding")
    yield from replaced(place, "The binding of sessions", removed=WIDENS)


@rule(
    "transport.custom_contract", Scope.MANIFEST, "transport.framing", "transport.auth",
    "transport.replay", "transport.cancellation", "transport.observation",
)  # fmt: skip
def check_custom_contract(manifest: Place) -> Iterator[Note]:
    """For a connector of one's own these lines are the whole contract."""
    for name in ("framing", "auth", "replay", "cancellation", "observation"):
        place = manifest.at("transport", name)
        if is_absent(place.new):
            yield from replaced(place, f"The connector's word on {name}", removed=WIDENS)
        else:
            yield from prose(place, f"The connector's word on {name}")


def _pinned(place: Place, what: str) -> Iterator[Note]:
    yield from replaced(place, what, added=NARROWS, removed=WIDENS)


@rule("openapi.spec_digest", Scope.MANIFEST, "transport.spec_digest")
def check_spec_digest(manifest: Place) -> Iterator[Note]:
    """The digest ties the adapter to one description of the service."""
    yield from _pinned(manifest.at("transport", "spec_digest"), "The digest of the API description")


@rule(
    "a2a.agent_card", Scope.MANIFEST, "transport.agent_card_ref", "transport.agent_card_digest"
)  # fmt: skip
def check_agent_card(manifest: Place) -> Iterator[Note]:
    """The card says who the other agent is; another card may be another agent."""
    transport = manifest.at("transport")
    yield from replaced(transport.at("agent_card_ref"), "The agent card's address")
    yield from _pinned(transport.at("agent_card_digest"), "The digest of the agent card")


@rule("a2a.card_signature", Scope.MANIFEST, "transport.agent_card_signature")
def check_card_signature(manifest: Place) -> Iterator[Note]:
    """Whoever can sign the card can be the other agent."""
    place = manifest.at("transport", "agent_card_signature")
    yield from safeguard(place.at("required"), "Demanding a signature on the agent card")
    for name, what in (("algorithms", "algorithms"), ("key_ids", "keys")):
        accepted = f"The signature {what} accepted on the agent card"
        yield from grants(place.at(name), accepted, absent=Absent.EVERYTHING)
