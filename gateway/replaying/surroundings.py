"""The documents a decision was taken under, compiled as they were then, once for many decisions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from contextos.core.errors import ContextOSError
from gateway.replaying.findings import DiffType, Findings, ReplayStep
from gateway.replaying.recorded import RecordedDecision
from registry.compiled import CompiledRun, RunTerms, compile_from
from registry.packs import ContextPack
from registry.pins import PinnedVersion
from registry.recorded_documents import Kept, RecordedDocuments
from registry.resolution import OpenedCapabilities
from registry.tenant_documents import OpenedBundle, TenantDocuments

_NOTHING = OpenedCapabilities({})


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordedTerms:
    """What a decision was measured against, as far as the records say."""

    tenant_id: str
    environment: str
    intent: str
    role: str | None
    packs: tuple[str, ...]
    pins: tuple[tuple[str, str], ...]
    bundles: tuple[str, ...] | None  # digests; None: a refusal that kept none
    manifest: tuple[str, str] | None = None  # adapter id and digest, where it came to one

    @property
    def run_terms(self) -> RunTerms:
        """The part that a run is opened with."""
        return RunTerms(
            self.tenant_id, self.environment, self.intent, self.role, self.packs, self.pins
        )


def terms_of(decision: RecordedDecision) -> RecordedTerms | None:
    """From the record, its run, and what a refusal kept; None where no run was found then."""
    first, run = decision.first, decision.run
    kept = decision.newest("terms")
    said: Mapping[str, Any] = kept.value if kept is not None and kept.value else {}
    if run is None and not said.get("environment"):
        return None
    lineage = first["lineage"]
    known = lineage["policy_bundles"] or said.get("bundles")
    pins = said.get("pins") or (run.pins if run else {})
    manifest = lineage["manifest_hash"]
    return RecordedTerms(
        tenant_id=decision.tenant_id,
        environment=str(said.get("environment") or (run.environment if run else "")),
        intent=str(first["intent"]),
        role=said.get("role") if run is None else run.document["agent"]["role"],
        packs=tuple(said.get("packs") or (run.packs if run else ())),
        pins=tuple(sorted((str(a), str(v)) for a, v in pins.items())),
        bundles=tuple(str(item["hash"]) for item in known) if known is not None else None,
        manifest=(str(lineage["adapter_id"]), str(manifest)) if manifest else None,
    )


class Draft(Protocol):
    """Something that is tried in the place of what was in force."""

    @property
    def ref(self) -> str:
        """How people call it."""

    def bundles(self, found: list[OpenedBundle]) -> list[OpenedBundle]:
        """The policy bundles that would have decided."""

    def pinned(self, found: dict[str, PinnedVersion]) -> dict[str, PinnedVersion]:
        """The adapter versions that would have been pinned."""


@dataclass(slots=True)
class Surroundings:
    """Opens and compiles; the same terms are compiled once."""

    documents: RecordedDocuments
    draft: Draft | None = None
    _compiled: dict[RecordedTerms, CompiledRun | _Unopened] = field(default_factory=dict)

    def compiled(self, terms: RecordedTerms, findings: Findings) -> CompiledRun:
        """What the run could call then; spoils the replay where a document is gone."""
        if terms not in self._compiled:
            self._compiled[terms] = self._compile(terms)
        found = self._compiled[terms]
        if isinstance(found, _Unopened):
            for problem in found.problems:
                note = findings.spoil if problem.spoils else findings.differ
                note(problem.kind, problem.path, problem.digest, None, problem.message)
            findings.stop_if_invalid()
            if found.compiled is not None:
                found = found.compiled
        findings.passed(ReplayStep.DOCUMENTS)
        return found  # type: ignore[return-value]

    def _compile(self, terms: RecordedTerms) -> CompiledRun | _Unopened:
        opening = _Opening(self.documents, terms)
        packs, pinned = opening.packs(), opening.pinned()
        bundles = opening.bundles()
        if self.draft is not None:
            bundles, pinned = self.draft.bundles(bundles), self.draft.pinned(pinned)
        compiled = None
        if not any(problem.spoils for problem in opening.problems):
            documents = TenantDocuments(generation=0, packs={}, bundles=tuple(bundles))
            compiled = compile_from(terms.run_terms, documents, tuple(packs), pinned)
        if opening.problems:
            return _Unopened(tuple(opening.problems), compiled)
        return compiled or _Unopened((), None)


@dataclass(frozen=True, slots=True)
class _Problem:
    kind: DiffType
    path: str
    digest: str
    message: str
    spoils: bool


@dataclass(frozen=True, slots=True)
class _Unopened:
    problems: tuple[_Problem, ...]
    compiled: CompiledRun | None  # where only a signature is missing


@dataclass(slots=True)
class _Opening:
    documents: RecordedDocuments
    terms: RecordedTerms
    problems: list[_Problem] = field(default_factory=list)

    def packs(self) -> list[ContextPack]:
        found = []
        for ref in self.terms.packs:
            digest = self.documents.digest_of_pack(ref)
            if digest is None:
                self._note(DiffType.MANIFEST, f"/packs/{ref}", "", f"No pack {ref} is kept here.")
                continue
            kept = self._opened("pack", DiffType.MANIFEST, f"/packs/{ref}", digest)
            found += [kept.value] if kept else []
        return found

    def bundles(self) -> list[OpenedBundle]:
        found = []
        for digest in self.terms.bundles or ():
            kept = self._opened("bundle", DiffType.POLICY, f"/policy_bundles/{digest}", digest)
            found += [kept.value] if kept else []
        return found

    def pinned(self) -> dict[str, PinnedVersion]:
        """Every pinned adapter; only the one that the decision came to has to be there."""
        named = dict([self.terms.manifest] if self.terms.manifest else [])
        opened: dict[str, PinnedVersion] = {}
        for adapter_id, version in self.terms.pins:
            digest = named.pop(adapter_id, None) or self.documents.digest_of_pin(
                adapter_id, version, self.terms.environment
            )
            opened[adapter_id] = PinnedVersion(adapter_id, self._capabilities(adapter_id, digest))
        for adapter_id, digest in named.items():
            opened[adapter_id] = PinnedVersion(adapter_id, self._capabilities(adapter_id, digest))
        return opened

    def _capabilities(self, adapter_id: str, digest: str | None) -> OpenedCapabilities:
        needed = self.terms.manifest is not None and self.terms.manifest[0] == adapter_id
        if not needed:
            return self._quietly(digest)
        kept = self._opened("manifest", DiffType.MANIFEST, "/manifest", str(digest))
        return kept.value if kept else _NOTHING

    def _quietly(self, digest: str | None) -> OpenedCapabilities:
        try:
            return self.documents.manifest(digest).value if digest else _NOTHING
        except ContextOSError:
            return _NOTHING

    def _opened(self, name: str, kind: DiffType, path: str, digest: str) -> Kept[Any] | None:
        try:
            kept: Kept[Any] = getattr(self.documents, name)(digest)
        except ContextOSError as fault:
            tampered = fault.code == "artefact.tampered"
            message = f"The {name} can't be opened: {fault.message}"
            self._note(DiffType.TAMPER if tampered else kind, path, digest, message)
            return None
        if kept.flaw:
            message = f"The signature of the {name} does not hold: {kept.flaw}"
            self._note(kind, f"{path}/signature", digest, message, spoils=False)
        return kept

    def _note(
        self, kind: DiffType, path: str, digest: str, message: str, *, spoils: bool = True
    ) -> None:
        self.problems.append(_Problem(kind, path, digest, message, spoils))
