"""Whom an attempt was with, for its record: server, host and address (E1, C11)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from contextos.core.changing import changed
from contextos.core.errors import ContextOSError
from gateway.attempts import Attempt
from gateway.connectors.base import EGRESS, SERVER, Reply


def with_contact(
    attempt: Attempt, reply: Reply | ContextOSError
) -> tuple[Attempt, Reply | ContextOSError]:
    """The attempt with the other side in its record, whether it answered or failed."""
    if isinstance(reply, ContextOSError):
        known = _taken_out(reply)
        return _noted(attempt, known.get(SERVER), known.get(EGRESS)), reply
    return _noted(attempt, reply.server, reply.egress), reply


def _noted(attempt: Attempt, server: Any, egress: Any) -> Attempt:
    if not server and not egress:
        return attempt
    facts = attempt.facts
    lineage = changed(facts.lineage, server=dict(server)) if server else facts.lineage
    return changed(attempt, facts=changed(facts, lineage=lineage, egress=egress or facts.egress))


def _taken_out(fault: ContextOSError) -> dict[str, Any]:
    data = dict(fault.data)
    known = {name: data.pop(name) for name in (EGRESS, SERVER) if name in data}
    if known:
        fault.data = MappingProxyType(data)
    return known
