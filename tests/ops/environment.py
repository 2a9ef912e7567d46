"""Environments for child processes: a sound production one to spoil, and a way to run it."""

from __future__ import annotations

import os
import secrets
import subprocess
import sys
from pathlib import Path

from contextos.core.fieldcrypt import generate_key
from contextos.core.keystore import FileKeyStore
from contextos.core.signing import KeyPurpose

ROOT = Path(__file__).resolve().parents[2]
_KEPT = ("PATH", "HOME", "LANG", "TMPDIR")


def bare_environment() -> dict[str, str]:
    """Nothing of ours: what a fresh shell has."""
    return {name: os.environ[name] for name in _KEPT if name in os.environ}


def production_environment(scratch: Path) -> dict[str, str]:
    """Everything `manage.py check` asks of production."""
    keys = scratch / "keys"
    for purpose in KeyPurpose:
        FileKeyStore(keys).ensure(purpose)
    keys.chmod(0o700)
    return bare_environment() | {
        "CONTEXTOS_ENV": "production",
        "CONTEXTOS_SECRET_KEY": secrets.token_urlsafe(48),
        "CONTEXTOS_FIELD_KEYS": generate_key(),
        "CONTEXTOS_KEYS_DIR": str(keys),
        "CONTEXTOS_DATA_DIR": str(scratch),
        "CONTEXTOS_PUBLIC_URL": "https://actions.acme.io",
        "CONTEXTOS_ALLOWED_HOSTS": "actions.acme.io",
        "CONTEXTOS_METRICS_TOKEN": secrets.token_urlsafe(32),
        "CONTEXTOS_TRUST_PROXY": "true",
        "DATABASE_URL": "postgresql://app:pw@127.0.0.1:1/contextos",
        "REDIS_URL": "redis://127.0.0.1:1/0",
    }


def run(
    command: list[str], environment: dict[str, str], timeout: float = 60
) -> subprocess.CompletedProcess[str]:
    """Run Python with the project as working directory."""
    return subprocess.run(
        [sys.executable, *command],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def manage(*arguments: str) -> list[str]:
    """The words after `python`."""
    return ["manage.py", *arguments]
