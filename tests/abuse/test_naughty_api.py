"""Naughty texts in every text of every REST body, filter and address: kept as sent, or refused."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from django.db import transaction
from django.test import Client

from tests.abuse.naughty import EVERYTHING, UNSTORABLE, texts_for
from tests.abuse.whole_bodies import (
    DRAFT,
    ENDS,
    REVIEWED,
    Pointer,
    Where,
    prepare,
    replaced,
    strings_in,
    texts_of,
    whole_bodies,
)
from tests.gateway.world import GatewayWorld
from tests.tenant_rows import MAKERS

_THINGS = {"adapter_id": "adp_orders", "pack_id": "support_refund", "bundle_id": "refunds"}
_MADE = {
    "approval_id": "approvals.ApprovalRequest",
    "decision_id": "audit.DecisionRow",
    "export_id": "audit.ExportJob",
    "switch_id": "registry.KillSwitch",
}
CALLS = "/api/v1/tool-calls"
_FILL: dict[str, Any] = {"string": "x", "integer": 1, "object": {}, "array": [], "boolean": True}


@dataclass(frozen=True, slots=True)
class Field:
    """One text that a caller may send."""

    method: str
    path: str
    place: str  # body, query, path, or inside of a whole body
    name: str
    body: tuple[tuple[str, Any], ...] = ()
    pointer: Pointer = ()

    @property
    def where(self) -> Where:
        """The request it belongs to."""
        return self.method, self.path

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
    for (method, path), body in whole_bodies().items():
        for at in texts_of(body):
            yield Field(method, path, "inside", "/".join(map(str, at)), pointer=at)


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


def open_requests() -> Iterator[Where]:
    """Those with texts that the description says nothing of, or that lie deeper."""
    for path, operations in description()["paths"].items():
        for method, operation in operations.items():
            content = operation.get("requestBody", {}).get("content", {})
            schema = _resolved(content.get("application/json", {}).get("schema", {}))
            properties = schema.get("properties", {}).values()
            if content and (not properties or any(map(_is_open, properties))):
                yield method.upper(), path


def _is_open(given: dict[str, Any]) -> bool:
    """Whether texts may lie inside of it."""
    schema = _resolved(given)
    if "enum" in schema:
        return False
    inner = [*schema.get("properties", {}).values(), *schema.get("oneOf", ())]
    inner += [schema[name] for name in ("items",) if name in schema]
    if inner:
        return any("string" in _types(_resolved(one)) or _is_open(one) for one in inner)
    return "object" in _types(schema) or "array" in _types(schema)


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
    things: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        prepare(self.world)
        self.world.house.token("admin")  # one made on the way would be taken back with its request
        run_id = str(self.world.open_run()["run_id"])
        args = {"order_id": "ord_0001"}
        asked = {"run_id": run_id, "capability_id": "orders.lookup", "args": args}
        called = self.world.post(CALLS, asked).json()["tool_call_id"]
        self.things = {**_THINGS, "run_id": run_id, "tool_call_id": called}
        for name, label in _MADE.items():
            self.things[name] = str(getattr(MAKERS[label](self.world.house.tenant, "own"), name))

    def send(self, field: Field, text: str) -> tuple[Any, list[str]]:
        """The answer, and every text that is shown of what was taken; it is taken back again."""
        with transaction.atomic():
            answer = self._sent(
                field.method,
                self._address(field, text),
                self._body(field, text),
                query_params={field.name: text} if field.place == "query" else None,
            )
            shown = self._shown(answer) if field.place == "inside" else []
            transaction.set_rollback(True)
        return answer, shown

    def send_whole(self, where: Where) -> Any:
        """The whole body as it stands."""
        whole = Field(*where, "whole", "")
        with transaction.atomic():
            answer = self._sent(where[0], self._address(whole, ""), self._body(whole, ""))
            transaction.set_rollback(True)
        return answer

    def _sent(self, method: str, address: str, body: bytes, **how: Any) -> Any:
        agents = any(part in address for part in ("/runs", "/tool-calls", "/plans"))
        token = self.world.agent_token if agents else self.world.house.token("admin")
        return Client(raise_request_exception=False).generic(
            method,
            address,
            body,
            content_type="application/json",
            headers={"Authorization": f"Bearer {token}"},
            **how,
        )

    def _shown(self, answer: Any) -> list[str]:
        """Of a call its arguments as well, which only its own address shows."""
        if answer.status_code >= 300:
            return []
        found = answer.json()
        texts = list(strings_in(found))
        if isinstance(found, dict) and found.get("tool_call_id"):
            pair = self._sent("GET", f"{CALLS}/{found['tool_call_id']}", b"").json()
            texts += strings_in(pair)
        return texts

    def _address(self, field: Field, text: str) -> str:
        given = {**self.things, "version": _version_for(field)}
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
        if field.place in ("inside", "whole"):
            body = dict(whole_bodies()[field.where])
        if "tenant_id" in body and field.name != "tenant_id":
            body["tenant_id"] = self.world.tenant_id
        if "run_id" in body and field.name != "run_id":
            body["run_id"] = self.things["run_id"]
        return orjson.dumps(replaced(body, field.pointer, text) if field.pointer else body)


def _version_for(field: Field) -> str:
    """One that is in the state that the request asks for."""
    if field.method == "PUT" or field.path.endswith("/submit"):
        return DRAFT
    reviews = ("/approve", "/reject", "/request-changes")
    return REVIEWED if field.path.endswith(reviews) else "1.0.0"


def _fault(field: Field, text: str, answer: Any, shown: list[str]) -> str:
    if answer.status_code >= 500 and answer.status_code not in (502, 503):
        return f"status {answer.status_code}"
    if answer.status_code >= 400:
        said = answer.json() if "json" in answer.headers.get("Content-Type", "") else {}
        code = said.get("code") or (said.get("error") or {}).get("code")
        return "" if code else f"status {answer.status_code} without a code"
    if field.place in ("body", "inside") and text in UNSTORABLE:
        return "took what can't be stored"
    # A bare reference is given the scheme that every reference has.
    spelt = f"schema://{text}" if field.name.endswith("_schema_ref") else text
    if field.place == "inside" and ENDS[field.where].shows and not {text, spelt} & {*shown}:
        return "is not shown as sent"
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
    sender = Sender(GatewayWorld(with_work=True))
    wrong, tried, taken = [], 0, 0
    for number, one in enumerate(fields()):
        for text in texts_for(number):
            answer, shown = sender.send(one, text)
            tried, taken = tried + 1, taken + (answer.status_code < 300)
            fault = _fault(one, text, answer, shown)
            if fault:
                wrong.append(f"{one} {text[:30]!r}: {fault}")
    assert not wrong, "\n".join(wrong)
    assert tried > 5_000
    assert taken > 1_000, "most are refused before anybody reads them"


@pytest.mark.scale
@pytest.mark.django_db
def test_every_whole_body_gets_as_far_as_it_says() -> None:
    """Else its texts would be tried on a request that is refused for something else."""
    sender, found = Sender(GatewayWorld(with_work=True)), {}
    for where in whole_bodies():
        answer = sender.send_whole(where)
        if answer.status_code not in ENDS[where].statuses:
            found[where] = (answer.status_code, answer.content[-300:])
    assert found == {}


@pytest.mark.django_db
def test_every_request_with_texts_deep_inside_has_a_whole_body() -> None:
    assert set(open_requests()) == set(whole_bodies())


def test_there_are_enough_of_them() -> None:
    assert len(set(EVERYTHING)) >= 150
