"""A stolen key of the log: revoked by the command, and every log is signed anew."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from audit.models import AuditEvent, Checkpoint
from audit.sealer import Sealer
from contextos.core.signing import KeyPurpose
from contextos.identity.keyring import key_store
from tests.audit.logs import TENANT, write_records

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E2")]


@pytest.fixture(autouse=True)
def own_folders(settings: Any, tmp_path: Path) -> None:
    settings.CHECKPOINTS_DIR, settings.KEYS_DIR = tmp_path / "outside", tmp_path / "keys"


def revoke(purpose: str, kid: str, reason: str = "a laptop was stolen") -> str:
    out = StringIO()
    words = ["--purpose", purpose, f"--revoke={kid}", "--reason", reason]  # a kid may begin with -
    call_command("rotate_keys", *words, stdout=out)
    return out.getvalue()


def test_a_stolen_key_is_replaced_and_the_log_signed_anew_at_once() -> None:
    write_records(2)
    sealer = Sealer()
    sealer.round()
    stolen = key_store().signer(KeyPurpose.LOG).verification_key.kid
    assert "signs from now on" in revoke("log", stolen)
    sealer.round()
    newest = Checkpoint.objects.filter(tenant_id=TENANT).latest("pk")
    assert (newest.tree_size, newest.kid != stolen) == (2, True)
    assert stolen not in {key.kid for key in key_store().verification_keys(KeyPurpose.LOG)}
    actions = AuditEvent.objects.filter(subject_kind="key").values_list("action", flat=True)
    assert {"identity.key.rotated", "identity.key.revoked"} <= set(actions)


@pytest.mark.parametrize("purpose", [each.value for each in KeyPurpose])
def test_a_key_of_every_purpose_can_be_revoked(purpose: str) -> None:
    signer = key_store().ensure(KeyPurpose(purpose))
    revoke(purpose, signer.verification_key.kid)
    counts = key_store().verification_keys(KeyPurpose(purpose))
    assert signer.verification_key not in counts
    assert len(counts) == 1


def test_revoking_asks_for_a_reason_and_a_key_that_is_there() -> None:
    key_store().ensure(KeyPurpose.LOG)
    with pytest.raises(CommandError, match="reason"):
        revoke("log", "x", reason=" ")
    with pytest.raises(CommandError, match="no such key"):
        revoke("log", "x")
    with pytest.raises(CommandError, match="CONTEXTOS_FIELD_KEYS"):
        revoke("fields", "x")
