"""Manifests, packs and bundles as records name them: by digest, whatever became of them since."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

from audit.artefacts import read_artefact
from contextos.core import strict_json
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.signing import KeyPurpose
from contextos.review.signatures import open_signed, type_for_tenant
from registry.models import AdapterVersion, ContextPackVersion, PolicyBundleVersion
from registry.packs import ContextPack, parse_pack
from registry.resolution import OpenedCapabilities, Origin, capabilities_in
from registry.selectors import PAYLOAD_TYPE
from registry.tenant_documents import OpenedBundle, opened_bundle

MOST_BYTES = 16 * 1024 * 1024
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Kept(Generic[T]):
    """A document whose bytes are those that its digest names; `flaw` says what its signature
    lacks, and is empty where it holds or none can be asked for."""

    value: T
    flaw: str = ""


class Library(Protocol):
    """Where the bytes come from: the artefact store, or a packet that somebody carried here."""

    def content(self, digest: str) -> bytes:
        """The bytes of this digest, checked; raises `artefact.missing` or `artefact.tampered`."""

    def manifest_row(self, digest: str) -> tuple[str, str]:
        """The id of the version that a manifest is, and what its signature lacks."""

    def flaw(self, kind: type[Any], digest: str) -> str:
        """What the signature of a pack or a bundle lacks."""

    def digest_of_pack(self, ref: str) -> str | None:
        """The digest of `pack_id@version`."""

    def digest_of_pin(self, adapter_id: str, version: str, environment: str) -> str | None:
        """The digest of the manifest that a run was pinned to."""


class RecordedDocuments:
    """Opens each document once; every refusal of a digest is as lasting as its answer."""

    def __init__(self, tenant_id: str, library: Library | None = None) -> None:
        self.tenant_id = tenant_id
        self.library: Library = library or ArtefactStore(tenant_id)
        self._opened: dict[tuple[str, str], Kept[Any] | ContextOSError] = {}
        self._named: dict[tuple[str, ...], str | None] = {}

    def manifest(self, digest: str) -> Kept[OpenedCapabilities]:
        """What a manifest declares."""
        return self._once("manifest", digest, self._open_manifest)

    def pack(self, digest: str) -> Kept[ContextPack]:
        """A Context Pack."""
        return self._once("pack", digest, self._open_pack)

    def bundle(self, digest: str) -> Kept[OpenedBundle]:
        """A policy bundle, compiled."""
        return self._once("bundle", digest, self._open_bundle)

    def digest_of_pack(self, ref: str) -> str | None:
        """The digest of `pack_id@version`; None where no such version is known."""
        key = ("pack", ref)
        if key not in self._named:
            self._named[key] = self.library.digest_of_pack(ref)
        return self._named[key]

    def digest_of_pin(self, adapter_id: str, version: str, environment: str) -> str | None:
        """The digest of a pinned manifest; None where no such version is known."""
        key = ("pin", adapter_id, version, environment)
        if key not in self._named:
            self._named[key] = self.library.digest_of_pin(adapter_id, version, environment)
        return self._named[key]

    def _once(self, kind: str, digest: str, opening: Callable[[str], Kept[Any]]) -> Kept[Any]:
        key = (kind, digest)
        if key not in self._opened:
            try:
                self._opened[key] = opening(digest)
            except ContextOSError as fault:
                self._opened[key] = fault
        found = self._opened[key]
        if isinstance(found, ContextOSError):
            raise found
        return found

    def _document(self, digest: str) -> dict[str, Any]:
        return strict_json.loads_object(self.library.content(digest), max_bytes=MOST_BYTES)

    def _open_manifest(self, digest: str) -> Kept[OpenedCapabilities]:
        manifest = self._document(digest)
        version_id, flaw = self.library.manifest_row(digest)
        origin = Origin(
            tenant_id=self.tenant_id,
            adapter_id=str(manifest.get("adapter_id")),
            version_id=version_id,
            version=str(manifest.get("version")),
            manifest_hash=digest,
        )
        return Kept(capabilities_in(manifest, origin), flaw)

    def _open_pack(self, digest: str) -> Kept[ContextPack]:
        pack = parse_pack(self._document(digest))
        return Kept(pack, self.library.flaw(ContextPackVersion, digest))

    def _open_bundle(self, digest: str) -> Kept[OpenedBundle]:
        bundle = opened_bundle(self._document(digest))
        return Kept(bundle, self.library.flaw(PolicyBundleVersion, digest))


@dataclass(frozen=True, slots=True)
class ArtefactStore:
    """The bytes of this installation, with the signatures that its versions carry."""

    tenant_id: str

    def content(self, digest: str) -> bytes:
        """From the artefact store, which checks them."""
        return read_artefact(tenant_id=self.tenant_id, digest=digest)

    def manifest_row(self, digest: str) -> tuple[str, str]:
        """The version that was published with this manifest."""
        rows = AdapterVersion.objects.filter(tenant_id=self.tenant_id, digest=digest)
        version = rows.exclude(envelope__isnull=True).order_by("version_id").first()
        if version is None:
            return "", _NEVER_SIGNED
        return version.version_id, self._flaw(version.envelope, PAYLOAD_TYPE, digest)

    def flaw(self, kind: type[Any], digest: str) -> str:
        """By the signature in the row of the version that was published with it."""
        rows = kind.objects.filter(tenant_id=self.tenant_id, digest=digest)
        version = rows.exclude(envelope__isnull=True).order_by("version_id").first()
        if version is None:
            return _NEVER_SIGNED
        return self._flaw(version.envelope, kind.payload_type, digest)

    def digest_of_pack(self, ref: str) -> str | None:
        """By the number that a version has for good."""
        pack_id, _, version = ref.rpartition("@")
        rows = ContextPackVersion.objects.filter(tenant_id=self.tenant_id, pack_id=pack_id)
        return rows.filter(version=version).values_list("digest", flat=True).first()

    def digest_of_pin(self, adapter_id: str, version: str, environment: str) -> str | None:
        """By the number that a version has for good."""
        rows = AdapterVersion.objects.filter(
            tenant_id=self.tenant_id,
            adapter__adapter_id=adapter_id,
            version=version,
            environment=environment,
        )
        return rows.values_list("digest", flat=True).first()

    def _flaw(self, envelope: Mapping[str, Any] | None, payload_type: str, digest: str) -> str:
        try:
            open_signed(
                envelope,
                digest=digest,
                payload_type=type_for_tenant(payload_type, self.tenant_id),
                purpose=KeyPurpose.MANIFESTS,
            )
        except ContextOSError as fault:
            return fault.message
        return ""


_NEVER_SIGNED = "No version that was published carries a signature over it."


def missing(digest: str) -> ContextOSError:
    """The refusal of a library that does not hold a document."""
    return coded_error("artefact.missing", data={"digest": digest})
