"""The other files of a bundle: documents by their digest, keys, the checker, the signed list."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from audit.artefacts import read_artefact
from audit.export.files import sha256_of
from audit.export.offline import ed25519, verify
from audit.log_keys import state_of
from audit.models import Artefact
from contextos.core import strict_json
from contextos.core.canonical import canonicalise
from contextos.core.clock import format_time
from contextos.core.dsse import sign_envelope
from contextos.core.errors import ContextOSError
from contextos.core.signing import KeyPurpose
from contextos.identity.keyring import key_store, signer_for

GATES = "application/vnd.contextos.gate+json"
_PUBLIC = (KeyPurpose.LOG, KeyPurpose.EXPORTS, KeyPurpose.MANIFESTS)
_EPOCH = (1980, 1, 1, 0, 0, 0)  # the same content gives the same zip file
_README = Path(__file__).with_name("bundle_readme.txt")


class Documents:
    """The manifests, packs, policies and gates that records name, exactly as they were signed."""

    def __init__(self, tenant_id: str, folder: Path) -> None:
        self._tenant_id, self._folder = tenant_id, folder
        self._digests: set[str] = set()
        self._gates: set[tuple[str, str]] = set()

    def note(self, record: Mapping[str, Any]) -> None:
        """What one record names."""
        lineage = record.get("lineage") or {}
        named = [lineage.get("manifest_hash"), lineage.get("pack_hash")]
        named += [bundle.get("hash") for bundle in lineage.get("policy_bundles") or ()]
        self._digests.update(str(each) for each in named if each)
        for approval in record.get("approvals") or ():
            if approval.get("gate"):
                self._gates.add((str(approval["gate"]), str(approval.get("gate_version"))))

    def write(self) -> list[str]:
        """Each into a file named by its digest; the digests of those that are not there."""
        missing = []
        for digest in sorted(self._digests):
            try:
                content = read_artefact(tenant_id=self._tenant_id, digest=digest)
            except ContextOSError:
                missing.append(digest.partition(":")[2])
            else:
                self._put(digest, content)
        for digest, content in self._used_gates():
            self._put(digest, content)
        return missing

    def _put(self, digest: str, content: bytes) -> None:
        (self._folder / digest.partition(":")[2]).write_bytes(content)

    def _used_gates(self) -> Iterator[tuple[str, bytes]]:
        """Records name a gate by id and version; there are few of them."""
        if not self._gates:
            return
        rows = Artefact.objects.filter(tenant_id=self._tenant_id, media_type=GATES)
        for digest, content in rows.values_list("digest", "content").iterator(chunk_size=100):
            gate: Any = strict_json.loads(bytes(content))
            if (str(gate.get("gate_id")), str(gate.get("version"))) in self._gates:
                yield digest, bytes(content)


def keys_document() -> bytes:
    """The public keys by what they sign; retired ones too, for what they signed in their time."""
    for purpose in _PUBLIC[:2]:
        signer_for(purpose)
    held = {
        purpose.value: [
            {
                **each.key.jwk(),
                "created_at": format_time(each.created_at),
                "state": state_of(each),
            }
            for each in key_store().keys(purpose)
        ]
        for purpose in _PUBLIC
    }
    return canonicalise(held) + b"\n"


def pack(members: Path, target: Path, statement: Mapping[str, Any]) -> None:
    """Sign the list of all files, write SHA256SUMS over all others, and make the zip file."""
    for module in (verify, ed25519):
        source = Path(str(module.__file__))
        (members / source.name).write_bytes(source.read_bytes())
    (members / "README.txt").write_bytes(_README.read_bytes())
    listed = [_described(members, path) for path in _files(members)]
    payload = canonicalise({**statement, "members": listed})
    envelope = sign_envelope(
        payload, payload_type=verify.PAYLOAD_TYPE, signers=[signer_for(KeyPurpose.EXPORTS)]
    )
    (members / verify.SIGNATURE).write_bytes(canonicalise(envelope) + b"\n")
    lines = [f"{sha256_of(path)}  {_name(members, path)}\n" for path in _files(members)]
    (members / verify.SUMS).write_text("".join(lines), encoding="utf-8")
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=3) as packed:
        for path in _files(members):
            _store(packed, path, _name(members, path))


def _store(packed: zipfile.ZipFile, path: Path, name: str) -> None:
    entry = zipfile.ZipInfo(name, _EPOCH)
    entry.compress_type, entry.external_attr = zipfile.ZIP_DEFLATED, 0o644 << 16
    large = path.stat().st_size > 1 << 30
    with path.open("rb") as source, packed.open(entry, "w", force_zip64=large) as sink:
        while chunk := source.read(1 << 20):
            sink.write(chunk)


def _files(members: Path) -> list[Path]:
    return sorted(path for path in members.rglob("*") if path.is_file())


def _described(members: Path, path: Path) -> dict[str, Any]:
    return {
        "name": _name(members, path),
        "sha256": sha256_of(path),
        "size": path.stat().st_size,
    }


def _name(members: Path, path: Path) -> str:
    return path.relative_to(members).as_posix()
