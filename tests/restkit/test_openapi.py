"""The API description is valid, tells of problems, and is readable without the internet."""

from __future__ import annotations

import re
from typing import Any

import pytest
import yaml
from django.test import Client
from drf_spectacular.validation import validate_schema

from contextos.core.errors import ErrorKind, coded_error
from contextos.restkit.openapi import PROBLEM_SCHEMA, add_problem_details
from contextos.restkit.problems import problem_body


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    response = Client().get("/api/schema")
    assert response.status_code == 200
    loaded: dict[str, Any] = yaml.load(response.content, Loader=yaml.CSafeLoader)
    return loaded


def test_the_description_is_valid_openapi(description: dict[str, Any]) -> None:
    validate_schema(description)  # type: ignore[no-untyped-call]
    assert description["openapi"].startswith("3.")


def test_it_can_be_had_as_json(description: dict[str, Any]) -> None:
    response = Client().get("/api/schema", headers={"accept": "application/json"})
    assert response.json() == description


def test_it_says_what_a_problem_looks_like(description: dict[str, Any]) -> None:
    problem = description["components"]["schemas"]["Problem"]
    assert problem["properties"]["kind"]["enum"] == [kind.value for kind in ErrorKind]


def test_every_operation_may_answer_with_a_problem() -> None:
    operation: dict[str, Any] = {"responses": {"200": {"description": "fine"}}}
    result = add_problem_details({"paths": {"/x": {"get": operation}}}, None, None, True)
    content = operation["responses"]["default"]["content"]
    assert content == {
        "application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}
    }
    assert "Problem" in result["components"]["schemas"]


def test_every_refusal_is_named_by_its_status(description: dict[str, Any]) -> None:
    paths = description["paths"]
    assert "422" in paths["/api/v1/adapters"]["post"]["responses"]
    assert "415" not in paths["/api/v1/adapters"]["get"]["responses"]
    call = paths["/api/v1/tool-calls"]["post"]["responses"]["429"]["content"]
    assert call == {"application/json": {"schema": {"$ref": "#/components/schemas/ToolResult"}}}


def test_lists_are_described_as_pages(description: dict[str, Any]) -> None:
    answer = description["paths"]["/api/v1/adapters"]["get"]["responses"]["200"]
    name = answer["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
    assert description["components"]["schemas"][name]["required"] == ["results", "next"]


def test_the_enforced_body_is_the_described_one(description: dict[str, Any]) -> None:
    body = description["paths"]["/api/v1/tool-calls"]["post"]["requestBody"]
    assert body["required"] is True
    schema = body["content"]["application/json"]["schema"]
    assert schema["required"] == ["run_id", "capability_id", "args"]
    assert schema["additionalProperties"] is False


@pytest.mark.django_db
def test_the_place_of_a_problem_is_a_uri_reference() -> None:
    answer = Client().get("/api/v1/adapters/%C3%A4%20%7B")
    assert answer.json()["instance"] == "/api/v1/adapters/%C3%A4%20%7B"


def test_the_described_problem_is_the_one_we_send() -> None:
    error = coded_error("rate.limited", data={"a": 1}, retry_after_ms=5)
    body = problem_body(error, instance="/api/v1/x")
    assert set(body) <= set(PROBLEM_SCHEMA["properties"])
    assert set(PROBLEM_SCHEMA["required"]) <= set(body)


def test_the_docs_page_has_no_inline_script_and_asks_no_other_host() -> None:
    response = Client().get("/api/docs")
    page = response.content.decode()
    assert response.status_code == 200
    scripts = re.findall(r"<script([^>]*)>(.*?)</script>", page, flags=re.DOTALL)
    assert scripts
    assert all("src=" in attributes and not body.strip() for attributes, body in scripts)
    assert all(link.startswith("/") for link in re.findall(r'(?:src|href)="([^"]+)"', page))


def test_the_docs_page_starts_from_its_own_script() -> None:
    response = Client().get("/api/docs?script=")
    assert response["Content-Type"].startswith("application/javascript")
    assert "/api/schema" in response.content.decode()


def test_every_file_of_the_docs_page_is_served_from_here() -> None:
    page = Client().get("/api/docs").content.decode()
    for link in re.findall(r'(?:src|href)="(/static/[^"]+)"', page):
        assert Client().get(link).status_code == 200, link
