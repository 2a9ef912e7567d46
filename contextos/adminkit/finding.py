"""Global search: each app says how to find its things; the page shows what the person may open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from django.http import HttpRequest
from django.utils.module_loading import autodiscover_modules
from django.utils.safestring import SafeString

from contextos.adminkit.navigation import entries_for

MODULE = "finders"  # the module of each app that registers its finders
SHORTEST = 2
LONGEST = 100
SHOWN = 10


@dataclass(frozen=True, slots=True)
class Hit:
    """One thing found."""

    text: str
    url: str
    detail: str = ""
    label: SafeString | str = ""


@dataclass(frozen=True, slots=True)
class Hits:
    """What one finder found; `more_url` leads to the whole list."""

    title: str
    icon: str
    hits: Sequence[Hit]
    more_url: str = ""


Finder = Callable[[HttpRequest, str], Hits | None]

_finders: list[tuple[int, str, Finder]] = []


def register_finder(*, key: str, find: Finder, order: int = 100) -> None:
    """Add a finder. It gets the request and the words, and answers None for nothing to say."""
    _finders[:] = [entry for entry in _finders if entry[1] != key]
    _finders.append((order, key, find))
    _finders.sort(key=lambda entry: entry[:2])


def find_everywhere(request: HttpRequest, words: str) -> list[Hits]:
    """Everything that matches, pages first; too few letters find nothing."""
    wanted = words.strip()[:LONGEST]
    if len(wanted) < SHORTEST:
        return []
    found = (find(request, wanted) for _, _, find in _finders)
    return [hits for hits in (_pages(request, wanted), *found) if hits is not None and hits.hits]


def _pages(request: HttpRequest, words: str) -> Hits:
    pages = [
        Hit(entry.title, entry.url, detail=entry.group)
        for entry in entries_for(request)
        if words.lower() in entry.title.lower()
    ]
    return Hits("Pages", "menu", pages[:SHOWN])


def discover_finders() -> None:
    """Import the `finders` module of every app that has one."""
    autodiscover_modules(MODULE)
