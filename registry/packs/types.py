"""What a Context Pack says, as frozen types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from registry.skills import Skill


@dataclass(frozen=True, slots=True)
class Permission:
    """One grant or denial; an empty set of roles, intents or environments restricts nothing.

    `approval_mode` stays as written: whether it is a mode at all is for the reader to judge.
    """

    permission_id: str
    adapter_id: str
    capability: str
    allow: bool | None
    approval_mode: Any = None
    arg_constraints: Mapping[str, Any] = field(default_factory=dict)
    decision_binding: str | None = None
    roles: frozenset[str] = frozenset()
    intents: frozenset[str] = frozenset()
    environments: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class DecisionSpec:
    """A decision the pack's runs may take, and what it takes to take it."""

    decision_key: str
    version: str
    owner_role: str
    required_evidence: tuple[str, ...]
    allowed_outcomes: tuple[str, ...]
    approval_mode: str | None


@dataclass(frozen=True, slots=True)
class ContextPack:
    """A checked pack."""

    pack_id: str
    version: str
    owner_role: str
    intents: tuple[str, ...]
    permissions: tuple[Permission, ...]
    digest: str
    bundle_refs: tuple[str, ...] = ()
    decision_specs: tuple[DecisionSpec, ...] = ()
    skills: tuple[Skill, ...] = ()
    resources: tuple[Any, ...] = ()
    prompts: tuple[Any, ...] = ()

    @property
    def ref(self) -> str:
        """`pack_id@version`."""
        return f"{self.pack_id}@{self.version}"
