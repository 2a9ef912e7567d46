"""Bundles for tests: records that rest on real documents, sealed; unpacked, changed, checked."""

from __future__ import annotations

import hashlib
import zipfile
from datetime import timedelta
from pathlib import Path
from typing import Any

from audit.artefacts import store_artefact
from audit.decision_record import LineageFacts
from audit.export.offline import verify as offline
from audit.sealing import Witnessed, seal_batch
from audit.services import record_event
from contextos.core.canonical import canonicalise
from contextos.core.signing import KeyPurpose
from contextos.identity.keyring import signer_for
from tests.audit.export_world import MOMENT, ExportWorld, make_export_world

DIGEST = "sha256:" + "7" * 64


def make_bundle_world(*, records: int = 6) -> ExportWorld:
    """Sealed records with a manifest, a pack, a policy, a gate, and a vote for each."""
    world = make_export_world()
    tenant_id = world.tenant.pk
    kept = {name: _kept(tenant_id, name) for name in ("manifest", "pack", "policy")}
    _kept(tenant_id, "gate", gate_id="GATE_FINANCE_APPROVAL", version="1.0.0")
    seal(world)  # so that there is a checkpoint from before
    lineage = LineageFacts(
        manifest_hash=kept["manifest"],
        pack_hash=kept["pack"],
        policy_bundles=[{"bundle_id": "b", "version": "1.0.0", "hash": kept["policy"]}],
    )
    for number in range(records):
        approval = f"apr_{number}"
        record_event(
            tenant_id=tenant_id,
            action="approval.voted",
            actor=world.actor,
            subject_kind="approval",
            subject_id=approval,
            data={"digest": DIGEST, "verdict": "approve"},
        )
        votes = [{"approver": "user_fin1", "verdict": "approve", "digest": DIGEST}]
        world.record(
            created_at=MOMENT + timedelta(minutes=number),
            lineage=lineage,
            approvals=[
                {
                    "approval_id": approval,
                    "gate": "GATE_FINANCE_APPROVAL",
                    "gate_version": "1.0.0",
                    "digest": DIGEST,
                    "state": "approved",
                    "votes": votes,
                }
            ],
        )
    seal(world)
    return world


def seal(world: ExportWorld) -> None:
    """Everything that waits."""
    signer, witnessed = signer_for(KeyPurpose.LOG), Witnessed()
    while (done := seal_batch(world.tenant.pk, signer=signer, witnessed=witnessed)) and done.more:
        pass


def _kept(tenant_id: str, kind: str, **members: Any) -> str:
    return store_artefact(
        tenant_id=tenant_id,
        media_type=f"application/vnd.contextos.{kind}+json",
        content=canonicalise({"kind": kind, **members}),
    )


def unpacked(path: Path, folder: Path) -> Path:
    """The bundle as somebody would unpack it."""
    with zipfile.ZipFile(path) as packed:
        packed.extractall(folder)
    return folder


def verdict(folder: Path, *fingerprints: str) -> offline.Report:
    """What the checker says."""
    return offline.verify(str(folder), fingerprints)


def with_new_sums(folder: Path) -> None:
    """What a forger without keys can do."""
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n"
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path.name != "SHA256SUMS"
    ]
    (folder / "SHA256SUMS").write_text("".join(lines))
