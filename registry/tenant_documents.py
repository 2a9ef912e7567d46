"""The packs and policy bundles a tenant has in force, opened once and as of one generation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from contextos.core.errors import ContextOSError, coded_error
from contextos.review.signed_documents import signed_document
from contextos.review.states import SIGNED, VersionState
from registry.generation_cache import GenerationCache
from registry.models import ContextPackVersion, PolicyBundleVersion
from registry.opened_cache import OpenedCache, trusted_kids
from registry.packs import ContextPack, parse_pack
from registry.policy import CompiledBundle, compile_bundle
from registry.policy.bundles import CompiledRule
from registry.policy.types import RuleKind


@dataclass(frozen=True, slots=True)
class OpenedBundle:
    """A compiled bundle, with the rules that deny whatever the arguments are."""

    bundle: CompiledBundle
    always_denying: tuple[CompiledRule, ...]


@dataclass(frozen=True, slots=True)
class TenantDocuments:
    """What is in force; a bundle that can't be trusted is no reason to be more generous."""

    generation: int
    packs: Mapping[str, ContextPack]  # by ref, those that new runs may carry
    bundles: tuple[OpenedBundle, ...]
    shadow_bundles: tuple[OpenedBundle, ...] = ()
    unusable_bundles: Mapping[str, str] = field(default_factory=dict)  # ref -> why

    def packs_for(self, intent: str | None) -> tuple[str, ...]:
        """The refs that a run for this intent carries unless it names its own."""
        return tuple(sorted(ref for ref, pack in self.packs.items() if intent in pack.intents))


def open_bundle(version: PolicyBundleVersion) -> OpenedBundle:
    """Check the signature, compile, and note what is denied in any case."""
    return opened_bundle(signed_document(version))


def opened_bundle(document: Mapping[str, Any]) -> OpenedBundle:
    """The same for a document that was checked already."""
    bundle = compile_bundle(document)
    always = {rule["rule_id"] for rule in document["rules"] if rule["if"] is True}
    denying = tuple(
        rule for rule in bundle.rules if rule.kind is RuleKind.DENY and rule.rule_id in always
    )
    return OpenedBundle(bundle, denying)


_packs: OpenedCache[ContextPackVersion, ContextPack] = OpenedCache(
    lambda version: parse_pack(signed_document(version))
)
_bundles: OpenedCache[PolicyBundleVersion, OpenedBundle] = OpenedCache(open_bundle)


def build_documents(tenant_id: str, generation: int) -> TenantDocuments:
    """Read and open what is published, in two statements."""
    kids = trusted_kids()
    packs, _ = _opened(ContextPackVersion, tenant_id, _packs, kids)
    bundles, unusable_bundles = _opened(PolicyBundleVersion, tenant_id, _bundles, kids)
    deciding = [found for row, found in bundles if not row.shadow]
    watching = [found for row, found in bundles if row.shadow]
    return TenantDocuments(
        generation=generation,
        packs={row.ref: pack for row, pack in packs},
        bundles=tuple(deciding),
        shadow_bundles=tuple(watching),
        unusable_bundles={row.ref: why for row, why in unusable_bundles if not row.shadow},
    )


def _opened(
    model: type[Any], tenant_id: str, cache: OpenedCache[Any, Any], kids: frozenset[str]
) -> tuple[list[tuple[Any, Any]], list[tuple[Any, str]]]:
    usable: list[tuple[Any, Any]] = []
    unusable: list[tuple[Any, str]] = []
    rows = model.objects.filter(tenant_id=tenant_id, state=VersionState.PUBLISHED)
    for row in rows.order_by("version_id"):
        try:
            usable.append((row, cache.get(row, kids)))
        except ContextOSError as fault:
            unusable.append((row, fault.message))
    return usable, unusable


_documents: GenerationCache[str, TenantDocuments] = GenerationCache(build_documents, limit=256)


def documents_of(tenant_id: str, generation: int) -> TenantDocuments:
    """What is in force as of this generation; without a statement once it is warm."""
    return _documents.get(tenant_id, generation)


def pack_of_run(
    documents: TenantDocuments, tenant_id: str, ref: str, kids: frozenset[str]
) -> ContextPack:
    """A pack that a run carries: in force, or replaced since and still signed."""
    held = documents.packs.get(ref)
    if held is not None:
        return held
    pack_id, _, version = ref.rpartition("@")
    rows = ContextPackVersion.objects.filter(tenant_id=tenant_id, pack_id=pack_id)
    row = rows.filter(version=version, state__in=SIGNED).first()
    if row is None:
        raise coded_error(
            "pin.revoked",
            message=f"The Context Pack {ref[:300]} was withdrawn.",
            data={"context_pack_ref": ref[:300]},
        )
    try:
        return _packs.get(row, kids)
    except ContextOSError as fault:
        message = f"The Context Pack {ref} can't be trusted: {fault.message}"
        raise coded_error("pin.revoked", message=message, data={"context_pack_ref": ref}) from fault
