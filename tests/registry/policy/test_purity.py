"""The decision code loads without Django: it can run in a simulator, a replay or a notebook."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.conftest import ROOT

MODULES = (
    "registry.policy",
    "registry.packs",
    "registry.plans",
    "registry.skills",
    "registry.preconditions",
    "registry.capability_names",
)


@pytest.mark.parametrize("module", MODULES)
def test_importing_it_brings_in_neither_django_nor_sockets(module: str) -> None:
    script = (
        f"import {module}, sys; "
        "unwanted = ('django', 'rest_framework', 'httpx'); "
        "print([n for n in sys.modules if n.split('.')[0] in unwanted])"
    )
    outcome = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert outcome.stdout.strip() == "[]", outcome.stderr
