"""Reads the project's own source for the architecture tests."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PACKAGES = ("contextos", "audit", "registry", "approvals", "gateway", "contextos_client")


@cache
def parsed(path: Path) -> ast.Module:
    """One file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), filename=str(path))


def product_files() -> Iterator[Path]:
    """Every Python file of the product, migrations left out."""
    for package in PACKAGES:
        for path in sorted((ROOT / package).rglob("*.py")):
            if "migrations" not in path.parts:
                yield path


def files_of_tests() -> Iterator[Path]:
    """Every Python file of the tests."""
    yield from sorted((ROOT / "tests").rglob("*.py"))


def named(path: Path) -> str:
    """A path as people say it."""
    return path.relative_to(ROOT).as_posix()


def imports_of(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted module) of every import in a file."""
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield node.lineno, alias.name
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.lineno, node.module
