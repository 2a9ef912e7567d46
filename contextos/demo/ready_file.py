"""The one JSON object that tells a person or a script how to use the running demo."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path


def write_private(path: Path, content: Mapping[str, object]) -> None:
    """Write JSON whole or not at all, readable by its owner only: it holds sign-ins."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{os.getpid()}")
    draft.touch(mode=0o600)
    draft.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    draft.replace(path)
