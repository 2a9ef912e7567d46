"""All that is kept of one decision, apart from where it was read: the database or a packet."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property
from typing import Any

from contextos.core import strict_json
from contextos.core.clock import parse_time
from gateway.models import Run, ToolCall


class Standing(StrEnum):
    """Whether a value can be read."""

    KEPT = "kept"
    ERASED = "erased"
    TAMPERED = "tampered"
    WITHHELD = "withheld"  # a packet that was made for somebody who may not read values


@dataclass(frozen=True, slots=True)
class KeptRow:
    """One row of a decision: its text, what it says, and what stands beside it in the tables."""

    text: str
    record: Mapping[str, Any]
    leaf_hash: bytes | None = None  # None: the packet carries no head
    columns: Mapping[str, Any] | None = None
    derived: Mapping[str, Any] = field(default_factory=dict)  # what the columns should say
    problem: str = ""  # why the text can't be read at all


@dataclass(frozen=True, slots=True)
class KeptValue:
    """One value by its commitment."""

    payload_id: str
    kind: str
    commitment: str
    standing: Standing
    value: Any = None
    salt: bytes = field(default=b"", repr=False)


@dataclass(frozen=True, slots=True)
class KeptApproval:
    """The request that people decided, and the version of the gate it stood at."""

    approval_id: str
    gate_id: str
    gate_version: str
    gate_digest: str | None  # None: the version is not known here
    digest: str
    state: str
    needed: int


@dataclass(frozen=True, slots=True)
class KeptEvidence:
    """One evidence reference that the result was turned into."""

    evidence_ref: str
    keys: tuple[str, ...]
    commitment: str


@dataclass(frozen=True)
class RecordedDecision:
    """Everything a replay works from."""

    tenant_id: str
    decision_id: str
    rows: tuple[KeptRow, ...]
    values: tuple[KeptValue, ...] = ()
    call: ToolCall | None = None
    run: Run | None = None
    approval: KeptApproval | None = None
    evidence: tuple[KeptEvidence, ...] = ()
    salt_of_key: bytes | None = field(default=None, repr=False)

    @property
    def first(self) -> Mapping[str, Any]:
        """What the first row says."""
        return self.rows[0].record

    @property
    def began_at(self) -> datetime:
        """When the first row was written, by its head where the text can't be read."""
        head = self.rows[0].columns
        moment: datetime = head["created_at"] if head else parse_time(self.first["created_at"])
        return moment

    @property
    def last(self) -> Mapping[str, Any]:
        """What the last row says."""
        return self.rows[-1].record

    @cached_property
    def stored_result(self) -> Mapping[str, Any] | None:
        """The answer that callers are given, without its output; None while there is none."""
        if self.call is None or not self.call.result:
            return None
        return strict_json.loads_object(self.call.result)

    @cached_property
    def by_kind(self) -> Mapping[str, tuple[KeptValue, ...]]:
        """The values of each kind, oldest first."""
        found: dict[str, tuple[KeptValue, ...]] = {}
        for value in self.values:
            found[value.kind] = (*found.get(value.kind, ()), value)
        return found

    def newest(self, kind: str) -> KeptValue | None:
        """The newest value of a kind."""
        found = self.by_kind.get(kind, ())
        return found[-1] if found else None
