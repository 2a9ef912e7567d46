"""Where the shared corpora lie; tests that need one skip with a reason when it is absent."""

import os
from pathlib import Path

import pytest

PROJECT_ROOT = Path(__file__).resolve().parents[2]


def corpus(name: str) -> Path:
    """The folder of one corpus, whether or not it exists."""
    root = os.environ.get("CONTEXTOS_CORPORA")
    return (Path(root) if root else PROJECT_ROOT.parent / "shared" / "corpora") / name


def corpus_files(name: str, pattern: str) -> list[object]:
    """The corpus files as test parameters, or one skipped parameter that says what is missing."""
    files = sorted(corpus(name).glob(pattern))
    if files:
        return [pytest.param(path, id=path.name) for path in files]
    reason = f"corpus {name!r} not found; set CONTEXTOS_CORPORA"
    return [pytest.param(None, id="absent", marks=pytest.mark.skip(reason=reason))]
