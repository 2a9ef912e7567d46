"""Whatever is sent as a manifest: a coded error or a finding at its place, never half a version."""

from __future__ import annotations

import time
from typing import Any

import orjson
import pytest

from audit.models import Artefact, AuditEvent
from registry.manifest import MAX_MANIFEST_BYTES
from registry.models import Adapter, AdapterVersion, Capability, Finding, SchemaDocument
from tests.registry.api.calls import caller, code_of, versions
from tests.registry.house import House
from tests.registry.manifests import ORDER_IN, orders

TABLES = (Adapter, AdapterVersion, Artefact, Capability, Finding, SchemaDocument)
GOOD = orjson.dumps(orders())


def _deep(levels: int) -> bytes:
    return GOOD[:-1] + b',"deep":' + b"[" * levels + b"]" * levels + b"}"


UNREADABLE: dict[str, tuple[bytes, int, str]] = {
    "nothing": (b" ", 400, "json.malformed"),
    "no JSON": (b"adapter_id: adp_orders", 400, "json.malformed"),
    "cut short": (GOOD[:-10], 400, "json.malformed"),
    "trailing text": (GOOD + b"x", 400, "json.malformed"),
    "a list": (b"[" + GOOD + b"]", 400, "json.not_an_object"),
    "duplicate key": (GOOD[:-1] + b',"name":"Other"}', 400, "json.duplicate_key"),
    "duplicate key inside": (GOOD[:-1] + b',"x":{"a":1,"a":2}}', 400, "json.duplicate_key"),
    "200 levels deep": (_deep(200), 400, "json.too_deep"),
    "a million levels deep": (_deep(1_000_000), 400, "json.too_deep"),
    "over 5 MB": (GOOD[:-1] + b',"x":"' + b"y" * MAX_MANIFEST_BYTES + b'"}', 413, "json.too_large"),
    "NaN": (GOOD[:-1] + b',"x":NaN}', 400, "json.malformed"),
    "byte order mark": (b"\xef\xbb\xbf" + GOOD, 400, "json.malformed"),
    "UTF-16": (GOOD.decode().encode("utf-16"), 400, "json.malformed"),
    "a NUL": (GOOD[:-1] + b',"x":"\\u0000"}', 400, "json.unstorable"),
    "a lone surrogate": (GOOD[:-1] + b',"x":"\\ud800"}', 400, "json.unstorable"),
    "an integer beyond 2^53": (
        GOOD[:-1] + b',"x":9007199254740993}',
        422,
        "json.integer_too_large",
    ),
    "unusable adapter id": (
        orjson.dumps(orders(adapter_id="<img src=x>")),
        422,
        "manifest.adapter_id_malformed",
    ),
    "no adapter id": (b"{}", 422, "manifest.adapter_id_missing"),
    "unknown environment": (
        orjson.dumps(orders(environment="moon")),
        422,
        "manifest.environment_unknown",
    ),
}


@pytest.mark.proves("B2")
@pytest.mark.parametrize("name", UNREADABLE)
def test_a_manifest_that_can_not_be_read_is_a_coded_error_and_stores_nothing(
    house: House, name: str
) -> None:
    body, status, code = UNREADABLE[name]
    author = caller(house, "author")
    start = time.process_time()
    response = author.post(versions(), body)
    assert code_of(response) == (status, code)
    assert time.process_time() - start < 5
    assert [model.__name__ for model in TABLES if model._default_manager.exists()] == []
    assert not AuditEvent.objects.filter(action__startswith="adapter").exists()


def _with_schema(schema: Any) -> dict[str, Any]:
    manifest = orders()
    manifest["schemas"][ORDER_IN] = schema
    return manifest


def _property(**schema: Any) -> dict[str, Any]:
    return _with_schema(
        {
            "type": "object",
            "additionalProperties": False,
            "properties": {"order_id": schema},
            "required": ["order_id"],
        }
    )


def _described(description: str) -> dict[str, Any]:
    manifest = orders()
    manifest["capabilities"][0]["description"] = description
    return manifest


FOUND: dict[str, tuple[dict[str, Any], str, str]] = {
    "remote $ref": (
        _property(**{"$ref": "https://attacker.example/schema.json"}),
        "schema.unresolved_ref",
        "block",
    ),
    "file $ref": (_property(**{"$ref": "file:///etc/passwd"}), "schema.unresolved_ref", "block"),
    "broken pattern": (_property(type="string", pattern="("), "schema.invalid", "block"),
    "unknown member": (orders(surprise=1), "manifest.member_unknown", "info"),
    "bidi characters in a description": (
        orders(
            capabilities=[
                {
                    **orders()["capabilities"][0],
                    "description": "Look up \u202eredro\u202c an order.",
                }
            ]
        ),
        "description.suspicious",
        "warn",
    ),
}


@pytest.mark.proves("B4")
@pytest.mark.parametrize("name", FOUND)
def test_a_manifest_that_can_be_read_but_not_trusted_has_a_finding_at_its_place(
    house: House, name: str
) -> None:
    manifest, rule, severity = FOUND[name]
    response = caller(house, "author").post(versions(), manifest)
    assert response.status_code == 201
    found = [item for item in response.json()["findings"] if item["rule"] == rule]
    assert found, response.json()["findings"]
    assert found[0]["severity"] == severity
    assert found[0]["pointer"]
    assert found[0]["remediation"]


@pytest.mark.proves("B7")
def test_a_pattern_made_to_hang_costs_nobody_time(house: House) -> None:
    manifest = _property(type="string", pattern="^(a+)+$", default="a" * 5000 + "!")
    start = time.process_time()
    response = caller(house, "author").post(versions(), manifest)
    assert response.status_code == 201
    assert time.process_time() - start < 5


def test_names_with_markup_are_text_and_stay_text(house: House) -> None:
    manifest = orders(name='<script>alert("x")</script>', owner_role="<b>owners</b>")
    response = caller(house, "author").post(versions(), manifest)
    assert response.json()["manifest"]["name"] == '<script>alert("x")</script>'
    assert response["Content-Type"] == "application/json"
    listed = caller(house, "auditor").get("adapters").json()["results"][0]
    assert listed["name"] == '<script>alert("x")</script>'


def test_a_refused_edit_leaves_the_draft_as_it_was(house: House) -> None:
    draft = house.draft(orders())
    path = f"{versions()}/{draft.version_id}"
    rows = {model: model._default_manager.count() for model in TABLES}
    for body, status, code in UNREADABLE.values():
        # A document without a usable name is, to a draft, somebody else's document.
        named = code.startswith("manifest.adapter_id")
        expected = (422, "manifest.adapter_mismatch") if named else (status, code)
        assert code_of(caller(house, "author").put(path, body)) == expected
    assert house.fresh(draft).digest == draft.digest
    assert {model: model._default_manager.count() for model in TABLES} == rows


def test_five_megabytes_are_taken(house: House) -> None:
    filler = orjson.dumps(orders(note=""))
    body = orjson.dumps(orders(note="n" * (MAX_MANIFEST_BYTES - len(filler) - 100)))
    response = caller(house, "author").post(versions(), body)
    assert response.status_code == 201


def test_thousands_of_faults_are_answered_in_time(house: House) -> None:
    capabilities: list[Any] = [{"capability_id": f"a.b{n}"} for n in range(5000)]
    start = time.process_time()
    response = caller(house, "author").post(versions(), orders(capabilities=capabilities))
    assert response.status_code == 201
    assert response.json()["capability_count"] == 5000
    assert time.process_time() - start < 20
