"""Calls of the registry's REST as a client makes them: bytes out, status and JSON back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import orjson
from django.test import Client

from tests.registry.house import House

ROOT = "/api/v1"


@dataclass(frozen=True)
class Caller:
    """One token; without one, nobody."""

    token: str | None

    def get(self, path: str, **headers: str) -> Any:
        return self._call("GET", path, None, headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Any:
        return self._call("POST", path, body, headers)

    def put(self, path: str, body: Any = None, **headers: str) -> Any:
        return self._call("PUT", path, body, headers)

    def delete(self, path: str, body: Any = None, **headers: str) -> Any:
        return self._call("DELETE", path, body, headers)

    def _call(self, method: str, path: str, body: Any, headers: dict[str, str]) -> Any:
        data = body if isinstance(body, bytes) else b"" if body is None else orjson.dumps(body)
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        if self.token is not None:
            sent["Authorization"] = f"Bearer {self.token}"
        return Client(headers=sent).generic(
            method, f"{ROOT}/{path}", data, content_type="application/json"
        )


def caller(house: House, name: str) -> Caller:
    """A person of the house with a token of theirs."""
    return Caller(house.token(name))


def code_of(response: Any) -> tuple[int, str]:
    """What a refused call was told."""
    assert response["Content-Type"] == "application/problem+json", response.content
    return response.status_code, response.json()["code"]


def versions(adapter_id: str = "adp_orders") -> str:
    return f"adapters/{adapter_id}/versions"


def version_path(version: Any, step: str = "") -> str:
    """By id, which is what the answers name a version by."""
    path = f"{versions(version.adapter.adapter_id)}/{version.version_id}"
    return f"{path}/{step}" if step else path
