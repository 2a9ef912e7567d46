"""The fixed addresses exist, and API paths never redirect."""

from __future__ import annotations

import pytest
from django.test import Client


def test_the_bare_address_leads_to_the_admin() -> None:
    response = Client().get("/")
    assert (response.status_code, response["Location"]) == (302, "/admin/")


def test_admin_pages_get_their_slash() -> None:
    assert Client().get("/admin").status_code == 301


@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/api/",
        "/api/v1/runs/",
        "/api/schema/",
        "/api/docs/",
        "/api/v1/nowhere",
        "/mcp",
        "/mcp/",
        "/healthz/",
        "/.well-known/jwks.json/",
        "/schemas",
        "/schemas/adapter-manifest.v1.schema.json/",
    ],
)
@pytest.mark.parametrize("method", ["get", "post"])
def test_machine_paths_never_redirect(path: str, method: str) -> None:
    response = getattr(Client(), method)(path)
    assert not 300 <= response.status_code < 400


@pytest.mark.parametrize(
    "path",
    ["/api", "/api/nowhere", "/mcp", "/mcp/x", "/api/v1/", "/.well-known/x", "/healthz/"],
)
def test_an_unknown_machine_path_is_a_problem_document(path: str) -> None:
    response = Client().get(path)
    assert response.status_code == 404
    assert response["Content-Type"] == "application/problem+json"
