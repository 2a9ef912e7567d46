"""A person of the demo, for the examples: speaks REST with a token of their own."""

from __future__ import annotations

import json
import subprocess
import urllib.error
import urllib.request
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ready import Demo

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Person:
    """Somebody who signed in, or to whom an administrator gave a token."""

    url: str
    token: str

    def send(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        """The answer; a refusal ends the example with what the product said."""
        request = urllib.request.Request(  # noqa: S310  the demo's own address
            f"{self.url}/api/v1/{path}",
            data=None if body is None else json.dumps(body).encode(),
            method=method,
            headers={
                "Authorization": f"Bearer {self.token}",
                "Content-Type": "application/json",
            },
        )
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
                return dict(json.load(answer))
        except urllib.error.HTTPError as refused:
            raise SystemExit(f"{method} {path}: {refused.code} {refused.read().decode()}") from None


def with_new_token(here: Demo, name: str) -> Person:
    """Somebody whose token is not in the ready-file gets one, as an administrator issues it."""
    command = [str(ROOT / ".venv" / "bin" / "python"), str(ROOT / "manage.py"), "issue_token"]
    terms = ["--user", name, "--tenant", here.tenant_id, "--ttl", "10m"]
    issued = subprocess.run(  # noqa: S603  our own manage.py
        [*command, *terms, "--data-dir", str(here.data_dir)],
        capture_output=True,
        text=True,
        check=False,
    )
    if issued.returncode:
        raise SystemExit(f"no token for {name}: {issued.stderr}")
    return Person(here.ready["url"], issued.stdout.splitlines()[0])
