"""The catalogue of audit actions: every app names its own, so that a misspelt one is refused."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from django.core.exceptions import ImproperlyConfigured

from contextos.identity.contributions import contributed_modules

ACTIONS = {
    "audit.access.granted": "Auditor given access",
    "audit.access.ended": "Auditor's access taken back",
    "audit.record.viewed": "Decision record viewed by an auditor",
    "audit.records.searched": "Decision records searched by an auditor",
    "audit.page.viewed": "Page viewed by an auditor",
    "audit.report.viewed": "Report viewed by an auditor",
    "erasure.asked": "Erasure of values asked for",
    "erasure.carried_out": "Values erased",
    "erasure.refused": "Erasure refused: a legal hold stands",
    "hold.placed": "Legal hold placed",
    "hold.release_proposed": "Release of a legal hold proposed",
    "hold.release_withdrawn": "Release of a legal hold not wanted any more",
    "hold.released": "Legal hold released",
    "payload.compared": "A value compared with its commitment",
    "payload.salt_released": "Salt of a commitment released",
    "retention.changed": "Retention changed",
    "retention.purged": "Records purged under retention",
    "retention.let_go": "Requests and votes of purged decisions removed",
    "retention.partition_dropped": "Month of purged records dropped",
    "audit.log_check.requested": "Check of the log asked for",
    "audit.log_check.ended": "Log checked",
    "audit.export.requested": "Export asked for",
    "audit.export.done": "Export written",
    "audit.export.failed": "Export failed",
    "audit.export.cancelled": "Export cancelled",
    "audit.export.downloaded": "Export fetched",
    "audit.export.removed": "File of an export removed",
    "audit.report.defined": "Report defined",
    "audit.report.changed": "Report changed",
    "audit.report.run": "Report written",
    "audit.report.stopped": "Report stopped: its owner may not read it any more",
}

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
