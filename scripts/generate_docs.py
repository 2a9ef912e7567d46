"""Writes the reference pages that come from code; `--check` only says which are out of date."""

from __future__ import annotations

import argparse
import importlib
import os
import pkgutil
import sys
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
os.environ.setdefault("DJANGO_SETTINGS_MODULE", "contextos.settings.test")

import django  # noqa: E402

from contextos.core.errors import ErrorSpec, catalogue  # noqa: E402
from contextos.env import PROJECT_ROOT, VARIABLES, Variable  # noqa: E402

REFERENCE = ROOT / "docs" / "reference"
PACKAGES = ("contextos", "audit", "registry", "approvals", "gateway")
NOTICE = "<!-- Written by scripts/generate_docs.py: change the code, then run `make docs`. -->"


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="change nothing; exit 1 when stale")
    check = parser.parse_args(arguments).check
    stale = [path for path, text in pages().items() if not _is_current(path, text)]
    for path in stale:
        if check:
            print(f"{path.relative_to(ROOT)} is out of date: run `make docs`.", file=sys.stderr)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(pages()[path], encoding="utf-8")
            print(f"wrote {path.relative_to(ROOT)}")
    return 1 if check and stale else 0


def pages() -> dict[Path, str]:
    """Every generated page by its place."""
    django.setup()
    declare_all_codes()
    from registry.readiness.reference import render_findings_reference
    from registry.risk_diff.reference import render_reference

    return {
        REFERENCE / "findings.md": render_findings_reference(),
        REFERENCE / "risk-diff.md": render_reference(),
        REFERENCE / "environment.md": environment_page(VARIABLES),
        REFERENCE / "errors.md": errors_page(catalogue()),
    }


def declare_all_codes() -> None:
    """Import every `error_codes` module, so that the catalogue is whole."""
    for package in PACKAGES:
        folder = [str(ROOT / package)]
        for module in pkgutil.walk_packages(folder, prefix=f"{package}.", onerror=_fail):
            if module.name.endswith(".error_codes"):
                importlib.import_module(module.name)


def environment_page(variables: tuple[Variable, ...]) -> str:
    """One table of all variables."""
    rows = [_variable_row(variable) for variable in variables]
    return _page(
        "Environment variables",
        "Everything ContextOS reads from its environment. A value that can't be used stops the "
        "start with one line that names it. Any variable, above all one marked secret, can also be "
        "given as `NAME_FILE`, the path of a file that holds the value; setting both is refused.",
        ["| variable | default | secret | meaning |", "|---|---|---|---|", *rows],
    )


def errors_page(specs: tuple[ErrorSpec, ...]) -> str:
    """One section per code, grouped by the noun the code starts with."""
    return _page(
        "Error catalogue",
        "Every code ContextOS answers with. Branch on `code` or on `kind`, never on the text. "
        "Outside tool calls an error is an RFC 9457 problem whose `type` is "
        "`urn:contextos:error:<code>`; `retryable` says whether the same request can work later.",
        list(_error_lines(specs)),
    )


def _page(title: str, lead: str, lines: list[str]) -> str:
    return "\n".join([NOTICE, f"# {title}", "", lead, "", *lines, ""])


def _variable_row(variable: Variable) -> str:
    secret = "yes" if variable.secret else ""
    return f"| `{variable.name}` | {_default(variable.default)} | {secret} | {variable.doc} |"


def _default(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, Path):
        value = value.relative_to(PROJECT_ROOT) if value.is_relative_to(PROJECT_ROOT) else value
    if isinstance(value, bool):
        value = str(value).lower()
    return f"`{','.join(value) if isinstance(value, tuple) else value}`"


def _error_lines(specs: tuple[ErrorSpec, ...]) -> Iterator[str]:
    for noun, group in groupby(specs, key=lambda spec: spec.code.partition(".")[0]):
        yield from (f"## {noun}", "")
        for spec in group:
            yield from _one_error(spec)


def _one_error(spec: ErrorSpec) -> Iterator[str]:
    yield f'### <a id="{spec.code}"></a>`{spec.code}`'
    yield ""
    yield f"{spec.title}. {spec.remediation}"
    yield ""
    retry = "can be retried" if spec.retryable else "not by retrying"
    yield f"HTTP {spec.http_status} · kind `{spec.kind.value}` · {retry}"
    yield ""


def _is_current(path: Path, text: str) -> bool:
    return path.is_file() and path.read_text(encoding="utf-8") == text


def _fail(name: str) -> None:
    raise ImportError(f"{name} can't be imported")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
