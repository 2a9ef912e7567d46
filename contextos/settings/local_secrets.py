"""Secrets that the embedded default makes for itself, so that no default secret exists anywhere."""

from __future__ import annotations

import os
import secrets
from pathlib import Path

from contextos.env import EnvironmentProblem

_OWNER_ONLY = 0o600
_FOR_OTHERS = 0o077


def read_or_create(path: Path) -> str:
    """The secret in `path`, made on first use and readable by its owner only."""
    try:
        return path.read_text(encoding="ascii").strip() or _create(path)
    except FileNotFoundError:
        return _create(path)
    except OSError as fault:
        raise EnvironmentProblem([f"{path} can't be read: {fault.strerror}."]) from fault


def keep_private(database: str) -> None:
    """Let only the owner read the embedded database: it holds sessions and password hashes.

    Called before SQLite makes the file; its journal files get the same mode. What stands in the way
    is told by whoever opens the database next.
    """
    path = Path(database)
    if not path.is_absolute():
        return  # in memory
    try:
        if not path.exists():
            path.touch(mode=_OWNER_ONLY)
        elif path.stat().st_mode & _FOR_OTHERS:
            path.chmod(_OWNER_ONLY)
    except OSError:
        return


def _create(path: Path) -> str:
    value = secrets.token_urlsafe(32)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        draft.touch(mode=_OWNER_ONLY)
        draft.write_text(value, encoding="ascii")
        os.link(draft, path)  # the first of two racing processes wins, the other reads its value
    except FileExistsError:
        return path.read_text(encoding="ascii").strip()
    except OSError as fault:
        hint = "choose a writable folder with CONTEXTOS_DATA_DIR or --data-dir"
        raise EnvironmentProblem(
            [f"{path.parent} can't be written ({fault.strerror}): {hint}."]
        ) from fault
    finally:
        draft.unlink(missing_ok=True)
    return value
