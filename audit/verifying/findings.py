"""What a check of the log can find, and how it is told."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum


class Kind(StrEnum):
    """What is wrong."""

    LEAF_MISSING = "leaf_missing"
    LEAF_EXTRA = "leaf_extra"
    TEXT_MISSING = "text_missing"
    TEXT_CHANGED = "text_changed"
    TEXT_UNREADABLE = "text_unreadable"
    RECORD_HASH = "record_hash"
    COLUMN = "column"
    MENTIONS = "mentions"
    UNSEALED = "unsealed"
    NEVER_SEALED = "never_sealed"
    PURGE = "purge"
    NODE = "node"
    HEAD = "head"
    ROOT = "root"
    SIGNATURE = "signature"
    CHECKPOINT = "checkpoint"
    OUTSIDE_MISSING = "outside_missing"
    OUTSIDE_DIFFERS = "outside_differs"
    OUTSIDE_UNREADABLE = "outside_unreadable"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is not as it was signed; `index` is the first place it can concern."""

    kind: Kind
    message: str
    index: int | None = None

    def __str__(self) -> str:
        where = "" if self.index is None else f" at index {self.index}"
        return f"{self.kind}{where}: {self.message}"


@dataclass(slots=True)
class Report:
    """What came of one tenant's log."""

    tenant_id: str
    tree_size: int = 0
    checked: int = 0
    checkpoints: int = 0
    outside: int = 0
    waiting: int = 0
    purged: int = 0
    findings: list[Finding] = field(default_factory=list)

    def add(self, kind: Kind, message: str, index: int | None = None) -> None:
        """Note one more."""
        self.findings.append(Finding(kind, message, index))

    @property
    def is_sound(self) -> bool:
        """Whether nothing was found."""
        return not self.findings

    @property
    def first_bad_index(self) -> int | None:
        """The lowest place that any finding names."""
        return min((each.index for each in self.findings if each.index is not None), default=None)
