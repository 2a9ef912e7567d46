"""Naughty texts in every text of every REST body, filter and address: kept as sent, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from django.db import transaction
from django.test import Client

from tests.abuse.naughty import EVERYTHING, UNSTORABLE, texts_for
from tests.gateway.world import GatewayWorld

_THINGS = {"adapter_id": "adp_orders", "version": "1.0.0", "pack_id": "support_refund"}
_FILL: dict[str, Any] = {"string": "x", "integer": 1, "object": {}, "array": [], "boolean": True}


@dataclass(frozen=True, slots=True)
class Field:
    """One text that a caller may send."""

    method: str
    path: str
    place: str  # body, query or path
    name: str
    body: tuple[tuple[str, Any], ...] = ()

    def __str__(self) -> str:
        return f"{self.method} {self.path} {self.place} {self.name}"


@cache
def description() -> dict[str, Any]:
    return dict(orjson.loads(Client().get("/api/schema?format=json").content))


def fields() -> Iterator[Field]:
    """Every text of the description."""
    for path, operations in description()["paths"].items():
        for method, operation in operations.items():
            for parameter in operation.get("parameters", ()):
                if parameter["in"] in ("query", "path"):
                    yield Field(method.upper(), path, parameter["in"], parameter["name"])
            yield from _of_body(method.upper(), path, operation)


def _of_body(method: str, path: str, operation: dict[str, Any]) -> Iterator[Field]:
    content = operation.get("requestBody", {}).get("content", {})
    schema = _resolved(content.get("application/json", {}).get("schema", {}))
    properties = {name: _resolved(of) for name, of in schema.get("properties", {}).items()}
    needed = {
        name: _value(of) for name, of in properties.items() if name in schema.get("required", ())
    }
    for name, of in properties.items():
        if "string" in _types(of) or not of:
            yield Field(method, path, "body", name, tuple(needed.items()))


def _resolved(schema: dict[str, Any]) -> dict[str, Any]:
    if "$ref" in schema:
        name = schema["$ref"].rpartition("/")[2]
        return dict(description()["components"]["schemas"][name])
    return schema


def _types(schema: dict[str, Any]) -> list[str]:
    kind = schema.get("type", [])
    return [kind] if isinstance(kind, str) else list(kind)


def _value(schema: dict[str, Any]) -> Any:
    if "enum" in schema:
        return schema["enum"][0]
    kinds = _types(schema)
    return _FILL.get(kinds[0], {}) if kinds else {}


@dataclass
class Sender:
    """Sends one text in one field, as the agent or the person that the address is for."""

    world: GatewayWorld
    run_id: str

    def send(self, field: Field, text: str) -> Any:
        agents = any(part in field.path for part in ("/runs", "/tool-calls", "/plans"))
        token = self.world.agent_token if agents else self.world.house.token("admin")
        with transaction.atomic():
            answer = Client(raise_request_exception=False).generic(
                field.method,
                self._address(field, text),
                self._body(field, text),
                content_type="application/json",
                query_params={field.name: text} if field.place == "query" else None,
                headers={"Authorization": f"Bearer {token}"},
            )
            transaction.set_rollback(True)
        return answer

    def _address(self, field: Field, text: str) -> str:
        given = {**_THINGS, "run_id": self.run_id}
        if field.place == "path":
            given[field.name] = text
        parts = field.path.split("/")
        return "/".join(
            quote(given.get(part[1:-1], "none"), safe="") if part.startswith("{") else part
            for part in parts
        )

    def _body(self, field: Field, text: str) -> bytes:
        if field.method == "GET":
            return b""
        body = {**dict(field.body), **({field.name: text} if field.place == "body" else {})}
        if "tenant_id" in body and field.name != "tenant_id":
            body["tenant_id"] = self.world.tenant_id
        if "run_id" in body and field.name != "run_id":
            body["run_id"] = self.run_id
        return orjson.dumps(body)


def _fault(field: Field, text: str, answer: Any) -> str:
    if answer.status_code >= 500 and answer.status_code not in (502, 503):
        return f"status {answer.status_code}"
    if answer.status_code >= 400:
        said = answer.json() if "json" in answer.headers.get("Content-Type", "") else {}
        code = said.get("code") or (said.get("error") or {}).get("code")
        return "" if code else f"status {answer.status_code} without a code"
    if field.place == "body" and text in UNSTORABLE:
        return "took what can't be stored"
    return _changed(field, text, answer)


def _changed(field: Field, text: str, answer: Any) -> str:
    """What an answer shows of the field is what was sent, but for blanks at its ends."""
    if field.place != "body" or "json" not in answer.headers.get("Content-Type", ""):
        return ""
    shown = answer.json().get(field.name)
    if not isinstance(shown, str) or shown.strip() == text.strip():
        return ""
    return f"shows {shown[:40]!r}"


@pytest.mark.scale
@pytest.mark.django_db
def test_every_text_of_the_api_is_kept_as_sent_or_refused_by_name() -> None:
    world = GatewayWorld()
    sender = Sender(world, world.open_run()["run_id"])
    wrong, tried = [], 0
    for number, field in enumerate(fields()):
        for text in texts_for(number):
            tried += 1
            fault = _fault(field, text, sender.send(field, text))
            if fault:
                wrong.append(f"{field} {text[:30]!r}: {fault}")
    assert not wrong, "\n".join(wrong)
    assert tried > 2_000


def test_there_are_enough_of_them() -> None:
    assert len(set(EVERYTHING)) >= 150
