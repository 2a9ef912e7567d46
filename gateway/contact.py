"""Whom an attempt was with, for its record: server, host and address (E1, C11)."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

from contextos.core.changing import changed
from contextos.core.errors import ContextOSError
from gateway.attempts import Attempt
from gateway.connectors.base import EGRESS, Reply


def with_contact(
    attempt: Attempt, reply: Reply | ContextOSError
) -> tuple[Attempt, Reply | ContextOSError]:
    """The attempt with the other side in its record, whether it answered or failed."""
    if isinstance(reply, ContextOSError):
        return _noted(attempt, None, _taken_out(reply)), reply
    return _noted(attempt, reply.server, reply.egress), reply


def _noted(attempt: Attempt, server: Any, egress: Any) -> Attempt:
    if not server and not egress:
        return attempt
    facts = attempt.facts
    lineage = changed(facts.lineage, server=dict(server)) if server else facts.lineage
    return changed(attempt, facts=changed(facts, lineage=lineage, egress=egress or facts.egress))


def _taken_out(fault: ContextOSError) -> Any:
    data = dict(fault.data)
    egress = data.pop(EGRESS, None)
    if egress is not None:
        fault.data = MappingProxyType(data)
    return egress
