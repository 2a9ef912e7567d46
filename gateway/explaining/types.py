"""What an explanation is made of: the refused call, what is true today, and what is said (pure)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Literal

Kind = Literal["agent", "bundle", "capability", "pack", "rule", "run", "switch", "token", "version"]


class Step(Enum):
    """The eight steps of a governed call, and the door before them."""

    DOOR = (0, "At the door", "who is calling, and for which run")
    RESOLVE = (1, "Resolve", "does this capability exist for this run")
    VALIDATE = (2, "Validate", "do key and arguments fit schema, manifest and permission")
    POLICY = (3, "Policy", "do the tenant's rules allow this call, now, with these arguments")
    ROUTE = (4, "Approval", "is the mode within bounds, and who has to agree")
    BROKER = (5, "Credentials", "does the call get its own, narrow credentials")
    LIMITS = (6, "Limits", "key, budget, rate, breaker, network rules")
    INVOKE = (7, "Invoke", "does the adapter answer")
    NORMALISE = (8, "Result", "is the answer what the reviewed contract promises")

    @property
    def number(self) -> int:
        """Its place in the order; nothing comes before the door."""
        return int(self.value[0])

    @property
    def title(self) -> str:
        """What it is called."""
        return str(self.value[1])

    @property
    def question(self) -> str:
        """What it asks of every call."""
        return str(self.value[2])


@dataclass(frozen=True, slots=True)
class Ref:
    """Something involved that may have a page of its own."""

    kind: Kind
    id: str
    label: str = ""

    @property
    def text(self) -> str:
        """How it is named on the page."""
        return self.label or self.id


@dataclass(frozen=True, slots=True)
class Way:
    """One thing that would allow the call, who can do it, and where."""

    text: str
    who: str = "the agent's developer"
    ref: Ref | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Explanation:
    """Which step said no, why in plain words, and what would have to be different."""

    step: Step
    headline: str
    because: Sequence[str] = ()
    missing: Sequence[str] = ()
    ways: Sequence[Way] = ()
    involved: Sequence[Ref] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """A refused call as its decision record tells it."""

    code: str
    message: str = ""
    capability_id: str = ""
    mode_requested: str | None = None
    mode_effective: str | None = None
    mode_highest: str | None = None
    agent_id: str = ""
    user_id: str = ""
    run_id: str = ""
    intent: str = ""
    adapter_id: str = ""
    adapter_version: str = ""
    pack_ref: str = ""
    policy: Mapping[str, Any] | None = None
    evidence_refs: Sequence[str] = ()

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> Refused:
        """From the stored row; what it does not say stays empty."""
        error, capability = record.get("error") or {}, record.get("capability") or {}
        lineage, chain = record.get("lineage") or {}, record.get("principal_chain") or []
        return cls(
            code=str(error.get("code") or ""),
            message=str(error.get("message") or ""),
            capability_id=str(capability.get("id") or ""),
            mode_requested=capability.get("mode_requested"),
            mode_effective=capability.get("mode_effective"),
            mode_highest=capability.get("mode_highest"),
            agent_id=_id_of(chain, "agent"),
            user_id=_id_of(chain, "user"),
            run_id=str(record.get("run_id") or ""),
            intent=str(record.get("intent") or ""),
            adapter_id=str(lineage.get("adapter_id") or ""),
            adapter_version=str(lineage.get("adapter_version") or ""),
            pack_ref=str(lineage.get("pack_ref") or ""),
            policy=record.get("policy_decision"),
            evidence_refs=tuple(record.get("evidence_refs") or ()),
        )

    @property
    def rules(self) -> tuple[str, ...]:
        """The rules that matched, the weightiest first."""
        return tuple(map(str, (self.policy or {}).get("matched_rule_ids") or ()))

    @property
    def bundles(self) -> tuple[str, ...]:
        """The bundles that were asked."""
        return tuple(map(str, (self.policy or {}).get("bundle_versions") or ()))

    @property
    def capability(self) -> Ref:
        """What was called."""
        return Ref("capability", self.capability_id)

    @property
    def run(self) -> Ref | None:
        """The run, where there was one."""
        return Ref("run", self.run_id) if self.run_id else None

    @property
    def version(self) -> Ref | None:
        """The manifest version that was called, where the record names one."""
        if not self.adapter_id or not self.adapter_version:
            return None
        return Ref("version", f"{self.adapter_id}@{self.adapter_version}")

    @property
    def call(self) -> list[Ref]:
        """What was called, and in which run where there was one."""
        return [self.capability, *([self.run] if self.run else [])]

    @property
    def agent(self) -> Ref | None:
        """Who called."""
        return Ref("agent", self.agent_id) if self.agent_id else None


def _id_of(chain: Sequence[Mapping[str, Any]], kind: str) -> str:
    return next((str(link.get("id", "")) for link in chain if link.get("kind") == kind), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class SpokenPermission:
    """A line of a Context Pack that speaks of the capability."""

    pack_ref: str
    permission_id: str
    allow: bool
    roles: Sequence[str] = ()
    intents: Sequence[str] = ()
    environments: Sequence[str] = ()
    approval_mode: str | None = None
    arg_constraints: Mapping[str, Any] = field(default_factory=dict)

    @property
    def ref(self) -> Ref:
        """The pack it stands in."""
        return Ref("pack", self.pack_ref, f"{self.permission_id} in {self.pack_ref}")


@dataclass(frozen=True, slots=True, kw_only=True)
class RunFacts:
    """The run as it stands today."""

    role: str
    environment: str
    intent: str
    safety_mode: str
    packs: Sequence[str]
    calls: tuple[int, int]  # used, at most
    cents: tuple[int, int]  # spent and reserved, at most
    expires_in_seconds: float
    wall_ms_left: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Today:
    """What is true now, so that advice does not rest on what has changed since."""

    run: RunFacts | None = None
    switches: Sequence[Ref] = ()  # thrown now, and stopping this capability
    permissions: Sequence[SpokenPermission] = ()  # of published packs, and of the run's
    published_in: Sequence[str] = ()  # environments where the capability can be called
    callable_now: bool | None = None  # whether the run's tool manifest lists it
