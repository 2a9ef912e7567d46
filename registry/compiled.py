"""What one run may call, compiled once and kept by generation: resolving is a look into a dict."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from contextos.core.canonical import canonicalise, digest_bytes
from contextos.core.errors import coded_error
from contextos.core.modes import ApprovalMode, exceeds
from registry.capability_names import adapter_meant, operation_of
from registry.generation_cache import GenerationCache
from registry.grants import (
    NamedCapability,
    PermittedCapability,
    named_capabilities,
)
from registry.opened_cache import trusted_kids
from registry.packs import ContextPack, RunScope
from registry.pins import PinnedVersion, Pins, Refusal, pinned_versions, pins_of
from registry.plans.pack import PlanPack
from registry.plans.run_pack import plan_pack_of
from registry.policy import CompiledBundle, PolicyInputs
from registry.policy.bundles import CompiledRule
from registry.policy.selectors import CallScope
from registry.resolution import ResolvedCapability, snapshots
from registry.tenant_documents import OpenedBundle, TenantDocuments, documents_of, pack_of_run

__all__ = [
    "CompiledRun",
    "PermittedCapability",
    "RunTerms",
    "compile_from",
    "compile_run",
    "compiled_for",
    "packs_for_run",
    "pins_for_run",
]

MAX_COMPILED_RUNS = 256


@dataclass(frozen=True, slots=True)
class RunTerms:
    """What a run was opened with, as far as it decides what the run may call."""

    tenant_id: str
    environment: str
    intent: str
    role: str | None
    pack_refs: tuple[str, ...]
    pins: Pins

    @classmethod
    def of(
        cls,
        *,
        tenant_id: str,
        environment: str,
        intent: str,
        role: str | None,
        pack_refs: Iterable[str],
        pins: Mapping[str, str],
    ) -> RunTerms:
        """From the fields of a RunContext."""
        ordered = tuple(sorted(pins.items()))
        return cls(tenant_id, environment, intent, role, tuple(pack_refs), ordered)

    @property
    def scope(self) -> RunScope:
        """Who asks, for what, where."""
        return RunScope(self.role, self.intent, self.environment)


@dataclass(frozen=True)
class CompiledRun:
    """The whole answer of the registry for the runs opened on the same terms."""

    generation: int
    terms: RunTerms
    packs: tuple[ContextPack, ...]
    bundles: tuple[CompiledBundle, ...]
    shadow_bundles: tuple[CompiledBundle, ...]
    named: Mapping[str, NamedCapability]  # all that the packs speak of, callable or not
    permitted: Mapping[str, PermittedCapability]
    blocked: Refusal | None  # why nothing at all may be called, whatever is permitted

    def resolve(self, spelling: str) -> PermittedCapability:
        """The capability meant by its id or by `adapter.operation`, or a refusal with its code."""
        capability_id = self._spellings.get(spelling, spelling)
        found = self.permitted.get(capability_id)
        if found is not None:
            if self.blocked is not None:
                raise self.blocked.error(capability_id)
            return found
        named = self.named.get(capability_id)
        refusal = named.why_not if named else None
        if refusal is not None:
            raise refusal.error(capability_id)
        raise coded_error("capability.unknown", data={"capability_id": spelling[:200]})

    def tool_manifest(
        self,
        run_id: str,
        *,
        reach: ApprovalMode = ApprovalMode.DESTRUCTIVE,
        may_use: Callable[[str], bool] = bool,  # a capability's id is never empty
    ) -> dict[str, Any]:
        """Exactly what may be called up to a mode with tokens that may be narrowed further.

        The hash covers packs and capabilities, not the run.
        """
        listed = [
            item
            for item in self._listed
            if may_use(item.capability_id) and not exceeds(self.lowest_mode(item), reach)
        ]
        return {
            "run_id": run_id,
            "pack_refs": list(self.terms.pack_refs),
            "capabilities": [item.entry for item in listed],
            "hash": self._hash_of(listed),
        }

    @cached_property
    def manifest_hash(self) -> str:
        """`sha256:` of the whole manifest without `run_id` and `hash`."""
        return self._hash_of(self._listed)

    def lowest_mode(self, capability: ResolvedCapability) -> ApprovalMode:
        """How low policy could bring it for a bounded request; without such a rule, as declared."""
        scope = _call_scope(capability, self.terms)
        lowered = [
            rule.effect.approval_mode
            for bundle in self.bundles
            for rule in bundle.rules
            if rule.effect.approval_mode is not None and rule.selector.matches(scope)
        ]
        return min([capability.approval_mode, *lowered])

    def _hash_of(self, listed: Iterable[ResolvedCapability]) -> str:
        entries = b",".join(item.entry_json for item in listed)
        refs = canonicalise(list(self.terms.pack_refs))
        return digest_bytes(b'{"capabilities":[' + entries + b'],"pack_refs":' + refs + b"}")

    @cached_property
    def _listed(self) -> tuple[ResolvedCapability, ...]:
        if self.blocked is not None:
            return ()
        return tuple(self.permitted[name].capability for name in sorted(self.permitted))

    @cached_property
    def _spellings(self) -> Mapping[str, str]:
        adapter_of = {name: item.capability.adapter_id for name, item in self.named.items()}
        return _second_spellings(adapter_of, [adapter for adapter, _ in self.terms.pins])

    @cached_property
    def plan_pack(self) -> PlanPack:
        """The same, in the form that plans are checked against."""
        skills = [skill for pack in self.packs for skill in pack.skills]
        return plan_pack_of(self.named, skills, [adapter for adapter, _ in self.terms.pins])


# --- the doors -----------------------------------------------------------------------------------
def compiled_for(terms: RunTerms, generation: int) -> CompiledRun:
    """The compiled form; no statement and nothing built once it is warm."""
    return _runs.get(terms, generation)


def packs_for_run(
    *, tenant_id: str, intent: str, generation: int, asked: Sequence[str] | None = None
) -> tuple[str, ...]:
    """The packs a new run carries: those it asks for, else all in force for its intent."""
    documents = documents_of(tenant_id, generation)
    if asked is None:
        return documents.packs_for(intent)
    for ref in asked:
        pack = documents.packs.get(ref)
        if pack is None or intent not in pack.intents:
            raise coded_error(
                "pack.unknown",
                message=f"No published Context Pack {ref[:300]} serves this intent.",
                data={"context_pack_ref": ref[:300]},
            )
    return tuple(dict.fromkeys(asked))


def pins_for_run(
    *, tenant_id: str, environment: str, generation: int, pack_refs: Iterable[str]
) -> dict[str, str]:
    """The adapter versions a new run is pinned to."""
    documents = documents_of(tenant_id, generation)
    kids = trusted_kids()
    snapshot = snapshots.get(tenant_id, environment, generation)
    named = {
        permission.adapter_id
        for ref in pack_refs
        for permission in pack_of_run(documents, tenant_id, ref, kids).permissions
    }
    published = [version.adapter.adapter_id for version in snapshot.published]
    meant = {adapter_meant(given, published) for given in named}
    return pins_of(snapshot, (adapter_id for adapter_id in meant if adapter_id))


# --- compiling -----------------------------------------------------------------------------------
def compile_run(terms: RunTerms, generation: int) -> CompiledRun:
    """Put packs, pinned versions and policy together, as of one generation."""
    kids = trusted_kids()
    documents = documents_of(terms.tenant_id, generation)
    snapshot = snapshots.get(terms.tenant_id, terms.environment, generation)
    packs = tuple(pack_of_run(documents, terms.tenant_id, ref, kids) for ref in terms.pack_refs)
    pinned = pinned_versions(snapshot, terms.tenant_id, terms.environment, terms.pins, kids)
    return compile_from(terms, documents, packs, pinned)


def compile_from(
    terms: RunTerms,
    documents: TenantDocuments,
    packs: tuple[ContextPack, ...],
    pinned: Mapping[str, PinnedVersion],
) -> CompiledRun:
    """The same from documents at hand, be they those in force or those that a record names."""
    rules = _always_denying(terms.tenant_id, documents.bundles)
    named = {
        name: _with_policy(item, terms, rules)
        for name, item in named_capabilities(pinned, packs, terms.scope).items()
    }
    return CompiledRun(
        generation=documents.generation,
        terms=terms,
        packs=packs,
        bundles=tuple(item.bundle for item in documents.bundles),
        shadow_bundles=tuple(item.bundle for item in documents.shadow_bundles),
        named=named,
        permitted={
            name: item.as_permitted() for name, item in named.items() if item.why_not is None
        },
        blocked=_blocked(documents, packs),
    )


_runs: GenerationCache[RunTerms, CompiledRun] = GenerationCache(
    compile_run, limit=MAX_COMPILED_RUNS
)


def _with_policy(
    named: NamedCapability, terms: RunTerms, rules: list[CompiledRule]
) -> NamedCapability:
    """The same, with the refusal of a rule that denies it whatever the arguments are."""
    if not rules or named.refusal is not None:
        return named
    return replace(named, refusal=_always_denied(named.capability, terms, rules))


def _always_denying(tenant_id: str, bundles: Sequence[OpenedBundle]) -> list[CompiledRule]:
    return [
        rule
        for item in bundles
        if item.bundle.covers_tenant(tenant_id)
        for rule in item.always_denying
    ]


def _always_denied(
    capability: ResolvedCapability, terms: RunTerms, rules: list[CompiledRule]
) -> Refusal | None:
    """Whatever the arguments, a rule without a condition denies it."""
    scope = _call_scope(capability, terms)
    matching = next((rule for rule in rules if rule.selector.matches(scope)), None)
    if matching is None:
        return None
    return Refusal(
        "policy.denied_by_rule", f"The rule {matching.rule_id} denies {capability.capability_id}."
    )


def _call_scope(capability: ResolvedCapability, terms: RunTerms) -> CallScope:
    facts = {
        "capability_id": capability.capability_id,
        "adapter_id": capability.adapter_id,
        "capability_class": capability.capability_class.value,
        "protocol": capability.manifest.get("protocol"),
    }
    run = {"intent": terms.intent, "environment": terms.environment}
    return CallScope.of(PolicyInputs(capability=facts, run=run))


def _blocked(documents: TenantDocuments, packs: Iterable[ContextPack]) -> Refusal | None:
    """A policy that can't be read must not make anybody freer than it would have."""
    for ref, why in documents.unusable_bundles.items():
        return Refusal("policy.bundle_unusable", f"The policy bundle {ref} can't be used: {why}")
    if not documents.bundles:
        return Refusal("policy.no_bundle", "The tenant has no published policy bundle.")
    deciding = {item.bundle.bundle_id for item in documents.bundles}
    for ref in (ref for pack in packs for ref in pack.bundle_refs):
        if ref.partition("@")[0] not in deciding:
            return Refusal("policy.bundle_missing", f"The policy bundle {ref} is not published.")
    return None


def _second_spellings(adapter_of: Mapping[str, str], adapters: Sequence[str]) -> dict[str, str]:
    """`adapter.operation`, also with the start of the adapter's id where only one begins so."""
    starts = {adapter: _starts(adapter, adapters) for adapter in set(adapter_of.values())}
    counted: dict[str, list[str]] = {}
    for name, adapter_id in adapter_of.items():
        for start in starts[adapter_id]:
            counted.setdefault(f"{start}.{operation_of(name)}", []).append(name)
    return {
        spelling: names[0]
        for spelling, names in counted.items()
        if len(names) == 1 and spelling not in adapter_of
    }


def _starts(adapter_id: str, adapters: Sequence[str]) -> list[str]:
    parts = adapter_id.split("_")
    starts = ("_".join(parts[:end]) for end in range(1, len(parts) + 1))
    return [start for start in starts if adapter_meant(start, adapters) == adapter_id]
