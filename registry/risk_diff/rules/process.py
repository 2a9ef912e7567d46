"""Rules for adapters that run as a local process: command, sandbox, consent."""

from collections.abc import Iterator

from registry.risk_diff.comparers import (
    NARROWS,
    UNKNOWN,
    WIDENS,
    grants,
    guards,
    replaced,
    safeguard,
)
from registry.risk_diff.place import Note, Place
from registry.risk_diff.rulebook import Scope, rule
from registry.risk_diff.types import Direction
from registry.risk_diff.values import is_absent
from registry.risk_diff.wording import show


@rule("process.command", Scope.MANIFEST, "transport.command")
def check_command(manifest: Place) -> Iterator[Note]:
    """Another command line is another program running with the same rights."""
    place = manifest.at("transport", "command")
    yield from replaced(place, "The command line", added=WIDENS, changed=WIDENS)


@rule("process.command_digest", Scope.MANIFEST, "transport.command_digest")
def check_command_digest(manifest: Place) -> Iterator[Note]:
    """The digest ties the command to one build; without it any build may run."""
    place = manifest.at("transport", "command_digest")
    yield from replaced(place, "The digest of the command", added=NARROWS, removed=WIDENS)


@rule("process.command_disclosed", Scope.MANIFEST, "transport.command_disclosed")
def check_command_disclosed(manifest: Place) -> Iterator[Note]:
    """People who install must see the exact command first."""
    place = manifest.at("transport", "command_disclosed")
    yield from safeguard(place, "Showing the command before installation")


@rule("process.install_consent", Scope.MANIFEST, "transport.install_consent")
def check_install_consent(manifest: Place) -> Iterator[Note]:
    """Nothing is installed on a machine unless the right people said yes."""
    place = manifest.at("transport", "install_consent")
    yield from safeguard(place.at("required"), "Asking for consent before installation")
    shown_to = place.at("shown_to")
    if isinstance(shown_to.old, list) or isinstance(shown_to.new, list):
        yield from guards(shown_to, "The people asked for consent")
    else:
        yield from replaced(shown_to, "Who is asked for consent", removed=WIDENS)


@rule("process.sandbox_filesystem", Scope.MANIFEST, "transport.sandbox.filesystem")
def check_sandbox_filesystem(manifest: Place) -> Iterator[Note]:
    """Every path listed can be read, or worse, by the process."""
    sandbox = manifest.at("transport", "sandbox")
    place = sandbox.at("filesystem")
    if is_absent(sandbox.old) or is_absent(sandbox.new):
        # Without any sandbox the process sees everything, so its list is not the measure.
        yield from replaced(sandbox, "The sandbox", removed=WIDENS)
        return
    if is_absent(place.old) is not is_absent(place.new):
        # An empty list opens no path; a list that is left out limits nothing.
        yield from replaced(place, "The limit on paths", removed=WIDENS)
        return
    yield from grants(place, "The paths open to the process")


@rule("process.sandbox_network", Scope.MANIFEST, "transport.sandbox.network")
def check_sandbox_network(manifest: Place) -> Iterator[Note]:
    """A process with network access can send away what it reads."""
    sandbox = manifest.at("transport", "sandbox")
    place = sandbox.at("network")
    if not place.differs or is_absent(sandbox.old) or is_absent(sandbox.new):
        return
    if isinstance(place.old, list) and isinstance(place.new, list):
        yield from grants(place, "The hosts open to the process")
    elif is_absent(place.new):
        yield from replaced(place, "The limit on network access", removed=WIDENS)
    else:
        message = f"Network access changes from {show(place.old)} to {show(place.new)}."
        yield place.note(_network_direction(place.old, place.new), message)


def _network_direction(old: object, new: object) -> Direction:
    if _is_shut(new):
        return UNKNOWN if is_absent(old) else NARROWS
    return WIDENS if _is_shut(old) else UNKNOWN


def _is_shut(value: object) -> bool:
    return value is False or value in ("none", [])


@rule("process.launcher", Scope.MANIFEST, "transport.launcher", "transport.log_stream")
def check_launcher(manifest: Place) -> Iterator[Note]:
    """Who starts the process decides with which rights; its log is how it is watched."""
    transport = manifest.at("transport")
    yield from replaced(transport.at("launcher"), "The launcher")
    yield from replaced(transport.at("log_stream"), "The log stream", removed=WIDENS)
