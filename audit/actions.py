"""The catalogue of audit actions: every app names its own, so that a misspelt one is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from django.core.exceptions import ImproperlyConfigured

from contextos.identity.contributions import contributed_modules

_SHAPE = re.compile(r"[a-z][a-z0-9_]*(\.[a-z][a-z0-9_]*)+")


@cache
def catalogue() -> Mapping[str, str]:
    """Action name -> what it says to people, collected from the `actions` module of each app."""
    found: dict[str, str] = {}
    for module in contributed_modules("actions"):
        for name, title in getattr(module, "ACTIONS", {}).items():
            if not _SHAPE.fullmatch(name) or not title:
                raise ImproperlyConfigured(f"{module.__name__}: {name!r} is no action name.")
            if name in found:
                raise ImproperlyConfigured(f"{module.__name__} declares {name!r} a second time.")
            found[name] = title
    return MappingProxyType(found)


def require_known(action: str) -> str:
    """The action, if some app declares it; anything else is a programming fault."""
    if action not in catalogue():
        raise LookupError(f"audit action {action!r} is declared by no app's actions.py")
    return action


def title_of(action: str) -> str:
    """What an action is called on pages; a retired name stands for itself."""
    return catalogue().get(action, action)
