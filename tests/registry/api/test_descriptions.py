"""The API description and the published schemas say what the product does."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from django.test import Client

from registry.api import examples
from registry.api.schema_files import published_schemas
from registry.api.serializers import (
    AdapterSerializer,
    CapabilitySerializer,
    DiffSerializer,
    FindingSerializer,
    KillSwitchSerializer,
    VersionSerializer,
)
from registry.manifest import normalise
from registry.readiness import lint_document
from registry.validation import compile_schema
from tests.registry.api.calls import caller, version_path, versions
from tests.registry.house import House
from tests.registry.manifests import orders, with_warning

MANIFEST_SCHEMA = "adapter-manifest.v1.schema.json"
SHAPES = {
    "ADAPTER": AdapterSerializer,
    "CAPABILITY": CapabilitySerializer,
    "DIFF": DiffSerializer,
    "FINDING": FindingSerializer,
    "KILL_SWITCH": KillSwitchSerializer,
    "VERSION": VersionSerializer,
}


@pytest.mark.parametrize("name", SHAPES)
def test_an_example_has_the_members_of_a_real_answer(name: str) -> None:
    assert set(getattr(examples, name).value) == set(SHAPES[name]().fields)


def test_the_example_manifest_blocks_nothing() -> None:
    report = lint_document(normalise(examples.MANIFEST.value))
    assert report.verdict == "pass"


def test_real_answers_have_the_members_that_the_description_promises(house: House) -> None:
    version = house.published(with_warning())
    schema = orjson.loads(Client().get("/api/schema?format=json").content)
    components = schema["components"]["schemas"]
    reader = caller(house, "auditor")
    shown = {
        "Version": reader.get(version_path(version)).json(),
        "Adapter": reader.get("adapters/adp_orders").json(),
        "Capability": reader.get("capabilities").json()["results"][0],
        "Diff": reader.get(version_path(version, "diff")).json(),
        "VersionSummary": reader.get(versions()).json()["results"][0],
    }
    for name, answer in shown.items():
        assert set(answer) == set(components[name]["properties"]), name


def test_every_operation_of_the_registry_is_described() -> None:
    paths = orjson.loads(Client().get("/api/schema?format=json").content)["paths"]
    operations = {
        operation["operationId"]
        for path, methods in paths.items()
        for operation in methods.values()
        if "/adapters" in path or path.endswith("/capabilities") or "/kill-switches" in path
    }
    assert {
        "versions_draft",
        "versions_approve",
        "kill_switches_lift",
        "versions_diff",
    } <= operations
    described = paths["/api/v1/adapters/{adapter_id}/versions"]["post"]
    assert described["requestBody"]["content"]["application/json"]["examples"]


# --- published schemas ---------------------------------------------------------------------------
@pytest.mark.proves("B1")
def test_the_manifest_schema_is_served_to_everybody_and_kept_by_caches() -> None:
    served = Client().get(f"/schemas/{MANIFEST_SCHEMA}")
    assert served.status_code == 200
    assert served["Content-Type"] == "application/schema+json"
    assert "max-age=604800" in served["Cache-Control"]
    assert "public" in served["Cache-Control"]
    again = Client(headers={"If-None-Match": served["ETag"]}).get(f"/schemas/{MANIFEST_SCHEMA}")
    assert again.status_code == 304
    schema = orjson.loads(served.content)
    assert schema["$schema"] == "https://json-schema.org/draft/2020-12/schema"
    assert compile_schema(schema, imported=False).is_valid(normalise(orders(version="1.0.0")))


def test_the_index_names_every_published_schema() -> None:
    listed = Client().get("/schemas/").json()["results"]
    assert f"/schemas/{MANIFEST_SCHEMA}" in listed
    assert len(listed) == len(published_schemas())
    for path in listed:
        assert Client().get(path).status_code == 200


@pytest.mark.parametrize(
    "name", ["absent.v1.schema.json", "..%2f..%2fsettings.py", "%2e%2e", "README.md"]
)
def test_nothing_else_is_served_from_there(name: str) -> None:
    answer: Any = Client().get(f"/schemas/{name}")
    assert answer.status_code == 404
    assert answer["Content-Type"] == "application/problem+json"
