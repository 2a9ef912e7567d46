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
    loaded: dict[str, Any] = yaml.safe_load(response.content)
    return loaded


def test_the_description_is_valid_openapi(description: dict[str, Any]) -> None:
    validate_schema(description)  # type: ignore[no-untyped-call]
    assert description["openapi"].startswith("3.")


def test_it_can_be_had_as_json() -> None:
    response = Client().get("/api/schema", headers={"accept": "application/json"})
    validate_schema(response.json())  # type: ignore[no-untyped-call]


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
