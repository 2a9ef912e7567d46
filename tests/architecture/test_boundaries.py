"""Rules of the house that import-linter can't say: banned calls, sizes, leftovers."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.architecture.source import PACKAGES, ROOT, imports_of, named, parsed, product_files

NETWORK = re.compile(
    r"^(socket|ssl|http\.client|httpx2?|httpcore2?|requests|aiohttp|urllib3|urllib\.request)(\.|$)"
)
# The door itself, and the exceptions DESIGN.md names; each says why it opens a socket.
MAY_OPEN_SOCKETS = {
    "contextos/net": "the one door",
    "contextos/serve.py": "binds the listening port to refuse a busy one",
    "contextos/demo/supervisor.py": "binds the listening port to refuse a busy one",
    "contextos_client/wire.py": "runs in other people's programs, which call us from outside",
}


def _may_open_sockets(path: Path) -> bool:
    return any(
        named(path) == place or named(path).startswith(place + "/") for place in MAY_OPEN_SOCKETS
    )


@pytest.mark.proves("C11")
def test_only_the_door_imports_network_modules() -> None:
    strays = [
        f"{named(path)}:{line} imports {module}"
        for path in product_files()
        if not _may_open_sockets(path)
        for line, module in imports_of(path)
        if NETWORK.match(module)
    ]
    assert strays == []


def test_only_adminkit_imports_unfold() -> None:
    strays = [
        f"{named(path)}:{line}"
        for path in product_files()
        if not named(path).startswith("contextos/adminkit/")
        for line, module in imports_of(path)
        if module.split(".")[0] == "unfold"
    ]
    assert strays == []


def test_layers_of_the_house_hold() -> None:
    command = [str(Path(sys.executable).with_name("lint-imports")), "--no-cache"]
    outcome = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout


def _nodes() -> list[tuple[Path, ast.AST]]:
    return [(path, node) for path in product_files() for node in ast.walk(parsed(path))]


def test_no_stub_is_called_done() -> None:
    stubs = [
        f"{named(path)}:{node.lineno}"
        for path, node in _nodes()
        if isinstance(node, ast.Raise) and "NotImplementedError" in ast.dump(node)
    ]
    assert stubs == []


def test_no_fault_is_swallowed() -> None:
    swallowed = [
        f"{named(path)}:{node.lineno}"
        for path, node in _nodes()
        if isinstance(node, ast.ExceptHandler)
        and (node.type is None or ast.unparse(node.type) in {"Exception", "BaseException"})
        and all(isinstance(step, ast.Pass) for step in node.body)
    ]
    assert swallowed == []


def test_the_product_does_not_lean_on_assert() -> None:
    found = [
        f"{named(path)}:{node.lineno}" for path, node in _nodes() if isinstance(node, ast.Assert)
    ]
    assert found == []


def test_business_logic_uses_no_django_signals() -> None:
    allowed = {"contextos/identity/apps.py"}  # post_migrate writes the roles' permissions
    strays = [
        f"{named(path)}:{line} imports {module}"
        for path in product_files()
        if named(path) not in allowed
        for line, module in imports_of(path)
        if module.endswith(".signals") or module == "django.dispatch"
    ]
    assert strays == []


def test_every_module_says_its_job() -> None:
    silent = [
        named(path)
        for path in product_files()
        if path.stat().st_size and ast.get_docstring(parsed(path)) is None
    ]
    assert silent == []


def test_nobody_names_a_room_helpers() -> None:
    vague = {"utils", "helpers", "manager", "managers", "misc", "common"}
    assert [named(p) for p in product_files() if vague & {p.stem, *p.parent.parts}] == []


def test_audit_tables_are_never_paged_by_counting() -> None:
    strays = [
        f"{named(path)}:{line}"
        for path in product_files()
        if named(path).startswith("audit/")
        for line, module in imports_of(path)
        if module == "django.core.paginator"
    ]
    assert strays == []


def test_each_package_is_part_of_the_layers() -> None:
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert [package for package in PACKAGES if f'"{package}"' not in text] == []


@pytest.mark.parametrize("lock", ["requirements.lock", "requirements-runtime.lock"])
def test_locks_name_no_host_and_hash_every_pin(lock: str) -> None:
    text = (ROOT / lock).read_text(encoding="utf-8")
    assert not re.search(r"://|^--(extra-)?index|^--find", text, flags=re.M)
    pins = re.findall(r"^[a-z0-9][^\n]*==[^\n]*\\\n +--hash=sha256:", text, flags=re.M)
    assert len(pins) == len(re.findall(r"^[a-z0-9][^\n]*==", text, flags=re.M)) > 0
