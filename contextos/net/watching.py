"""Whoever follows requests on their way out, such as telemetry: nobody, unless it was named."""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from contextos.net.targets import Target


class Watch(Protocol):
    """One request that is followed."""

    @property
    def headers(self) -> Mapping[str, str]:
        """What travels with it, so that its far side can be followed too."""

    def answered(self, status: int) -> None:
        """It came back."""


Watcher = Callable[[str, Target], AbstractContextManager[Watch]]
_watchers: list[Watcher] = []


def follow_requests(watcher: Watcher | None) -> None:
    """From now on this one follows every request of the process; None = nobody does."""
    _watchers[:] = [watcher] if watcher else []


def followed(method: str, target: Target) -> AbstractContextManager[Watch | None]:
    """Around one request: whoever follows it, if anybody does."""
    return _watchers[0](method, target) if _watchers else nullcontext()
