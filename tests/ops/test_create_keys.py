"""Preparing a new installation's keys."""

from __future__ import annotations

from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from audit.models import AuditEvent
from contextos.core.keystore import FileKeyStore
from contextos.core.signing import KeyPurpose

pytestmark = pytest.mark.django_db


def _create() -> str:
    output = StringIO()
    call_command("create_keys", stdout=output)
    return output.getvalue()


def test_every_purpose_gets_its_first_key_and_each_is_recorded(
    settings: Any, tmp_path: Path
) -> None:
    settings.KEYS_DIR = tmp_path / "keys"
    assert _create().count(" created.") == len(KeyPurpose)
    store = FileKeyStore(tmp_path / "keys")
    assert all(store.signer(purpose) for purpose in KeyPurpose)
    recorded = AuditEvent.objects.filter(action="identity.key.rotated")
    assert recorded.count() == len(KeyPurpose)


def test_keys_that_exist_are_left_alone(settings: Any, tmp_path: Path) -> None:
    settings.KEYS_DIR = tmp_path / "keys"
    before = FileKeyStore(tmp_path / "keys").ensure(KeyPurpose.TOKENS).verification_key.kid
    assert "tokens:" not in _create()
    assert "nothing to create" in _create()
    after = FileKeyStore(tmp_path / "keys").signer(KeyPurpose.TOKENS).verification_key.kid
    assert after == before


def test_a_folder_that_cannot_be_written_is_explained(settings: Any, tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("not a folder", encoding="ascii")
    settings.KEYS_DIR = blocked / "keys"
    with pytest.raises(CommandError, match="can't be created"):
        _create()
