"""Paging that neither counts all rows nor skips far."""

from __future__ import annotations

import pytest
from django.contrib.auth.models import Group
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.urls import reverse

from contextos.adminkit import paginator
from contextos.adminkit.paginator import BoundedPaginator
from tests.adminkit.world import make_agent, make_person, make_tenant, signed_in

pytestmark = pytest.mark.django_db


@pytest.fixture
def twenty_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paginator, "REACHABLE_ROWS", 10)
    Group.objects.all().delete()
    Group.objects.bulk_create(Group(name=f"group {n:02}") for n in range(20))


def pages(rows: object, per_page: int = 4) -> BoundedPaginator:
    return BoundedPaginator(rows, per_page)  # type: ignore[arg-type]


def test_small_tables_are_counted_exactly() -> None:
    Group.objects.all().delete()
    Group.objects.create(name="only")
    found = pages(Group.objects.order_by("name"))
    assert (found.count, found.is_capped, found.estimate) == (1, False, None)


@pytest.mark.usefixtures("twenty_rows")
def test_big_tables_end_at_the_bound() -> None:
    found = pages(Group.objects.order_by("name"))
    assert (found.count, found.is_capped, found.num_pages) == (10, True, 3)
    assert [group.name for group in found.page(3)] == ["group 08", "group 09"]


@pytest.mark.usefixtures("twenty_rows")
def test_the_database_is_never_asked_for_more_rows_than_the_bound() -> None:
    with CaptureQueriesContext(
        connection,
    ) as queries:
        assert pages(Group.objects.order_by("name")).count == 10
    assert "LIMIT 10" in queries.captured_queries[0]["sql"]


@pytest.mark.usefixtures("twenty_rows")
def test_the_whole_is_estimated_where_the_database_knows_it() -> None:
    if connection.vendor != "postgresql":
        assert pages(Group.objects.order_by("name")).estimate is None
        return
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE auth_group")
    assert pages(Group.objects.order_by("name")).estimate == 20
    assert pages(Group.objects.filter(name__gt="a").order_by("name")).estimate is None


def test_plain_lists_are_bounded_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paginator, "REACHABLE_ROWS", 3)
    assert pages([1, 2, 3, 4, 5]).count == 3


@pytest.mark.urls("tests.adminkit.pages")
def test_a_capped_list_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paginator, "REACHABLE_ROWS", 2)
    acme = make_tenant()
    for name in ("agent_a", "agent_b", "agent_c"):
        make_agent(acme, name)
    client = signed_in(make_person("pat", acme, "platform_admin"))
    page = client.get(reverse("admin:identity_agent_changelist")).text
    assert "more than 2" in page
    assert "narrow the list with filters" in page
