"""What a kind of reviewed document brings to the shared machinery."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from contextos.core.events import Actor
from contextos.core.signing import KeyPurpose
from contextos.review.models import ReviewedVersion, ReviewEntry

V = TypeVar("V", bound=ReviewedVersion)


@dataclass(frozen=True, slots=True)
class Obstacle:
    """One thing that stops a submission, as a person should read it."""

    id: str
    message: str


@dataclass(frozen=True, slots=True)
class Tick:
    """One warning a reviewer has to accept: by its own id, or by its rule for all its places."""

    id: str
    rule: str


@dataclass(frozen=True, slots=True)
class ReviewKind(Generic[V]):
    """One kind: its tables, its signature, its questions, and what publication sets in motion."""

    name: str  # "adapter_version": prefix of the audit actions and subject kind of the events
    version_model: type[V]
    entry_model: type[ReviewEntry]
    payload_type: str
    key_purpose: KeyPurpose
    reviewer_roles: frozenset[str]  # held in the version's tenant; being superuser is no role
    document: Callable[[V], bytes]
    reviewers_needed: Callable[[V], int]
    obstacles: Callable[[V], tuple[Obstacle, ...]]
    warnings: Callable[[V], tuple[Tick, ...]]
    at_submission: Callable[[V], dict[str, Any]]  # further columns, frozen with the document
    on_publish: Callable[[V, Actor], None]
    on_signed: Callable[[V, Actor], None]
    on_retire: Callable[[V, Actor], None]
    describe: Callable[[V], dict[str, Any]]  # names for the audit event: adapter, version, ...


LIFECYCLE_WORDS = {
    "submitted": "submitted for review",
    "reviewed": "review written",
    "approved": "approved",
    "rejected": "rejected",
    "changes_requested": "changes requested",
    "published": "published",
    "rolled_back": "published again (rollback)",
    "deprecated": "deprecated by its successor",
    "retired": "retired",
}


def lifecycle_actions(kind_name: str, label: str) -> dict[str, str]:
    """The audit actions of one kind, for its app's `actions.py`."""
    return {f"{kind_name}.{word}": f"{label} {text}" for word, text in LIFECYCLE_WORDS.items()}
