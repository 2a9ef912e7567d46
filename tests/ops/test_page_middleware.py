"""Sessions, people and messages are for pages: REST goes by without them."""

from __future__ import annotations

import pytest
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.utils.module_loading import import_string

from contextos.settings.base import MIDDLEWARE

PAGES = [name for name in MIDDLEWARE if name.startswith("contextos.page_middleware.")]


def _passed(path: str) -> HttpRequest:
    seen: list[HttpRequest] = []

    def view(request: HttpRequest) -> HttpResponse:
        seen.append(request)
        return HttpResponse("there")

    chain = view
    for name in reversed(PAGES):
        chain = import_string(name)(chain)
    chain(RequestFactory().get(path))
    return seen[0]


@pytest.mark.django_db
def test_pages_have_a_session_a_person_a_tenant_and_messages() -> None:
    request = _passed("/admin/")
    for member in ("session", "user", "acting_tenant", "_messages"):
        assert hasattr(request, member)


def test_rest_has_none_of_them() -> None:
    request = _passed("/api/v1/tool-calls")
    for member in ("session", "user", "acting_tenant", "_messages"):
        assert not hasattr(request, member)
