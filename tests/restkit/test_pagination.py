"""Keyset pages: whole, without repeats, stable while rows arrive, and not to be forged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission
from django.core import signing
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.models import QuerySet
from django.test.utils import CaptureQueriesContext
from rest_framework.request import Request
from rest_framework.test import APIRequestFactory

from contextos.core.errors import ContextOSError
from contextos.restkit.pagination import KeysetPagination

pytestmark = pytest.mark.django_db


class View:
    """All that the paginator asks of a view."""

    def __init__(self, *ordering: str) -> None:
        self.keyset_ordering = ordering


def _page(
    rows: QuerySet[Any], ordering: Sequence[str] = (), **params: str
) -> tuple[list[Any], str | None]:
    paginator = KeysetPagination()
    request = Request(APIRequestFactory().get("/", params))
    found = paginator.paginate_queryset(rows, request, View(*ordering))  # type: ignore[arg-type]
    return found, paginator.get_paginated_response(found).data["next"]


def _walk(rows: QuerySet[Any], ordering: Sequence[str] = (), limit: int = 3) -> list[Any]:
    found, cursor = _page(rows, ordering, limit=str(limit))
    while cursor:
        more, cursor = _page(rows, ordering, limit=str(limit), cursor=cursor)
        found += more
    return found


@pytest.fixture
def groups() -> QuerySet[Group]:
    Group.objects.bulk_create(Group(name=f"crew {number:02}") for number in range(10))
    return Group.objects.filter(name__startswith="crew ")


def test_pages_hold_every_row_once_newest_first(groups: QuerySet[Group]) -> None:
    assert _walk(groups) == list(groups.order_by("-pk"))


def test_the_last_page_has_no_next(groups: QuerySet[Group]) -> None:
    rows, cursor = _page(groups, limit="10")
    assert (len(rows), cursor) == (10, None)


def test_an_empty_list_has_no_next() -> None:
    assert _page(Group.objects.none()) == ([], None)


def test_equal_values_are_told_apart_by_the_last_field() -> None:
    rows = Permission.objects.all()
    ordering = ("content_type", "-id")
    assert _walk(rows, ordering, limit=7) == list(rows.order_by(*ordering))


def test_rows_that_arrive_meanwhile_move_nothing(groups: QuerySet[Group]) -> None:
    before = list(groups.order_by("-pk"))
    first, cursor = _page(groups, limit="4")
    Group.objects.create(name="crew latecomer")
    rest, _ = _page(groups, limit="20", cursor=cursor or "")
    assert first + rest == before


def test_a_page_is_one_query_that_never_counts_or_skips(groups: QuerySet[Group]) -> None:
    _, cursor = _page(groups, limit="4")
    with CaptureQueriesContext(
        connection,
    ) as queries:
        _page(groups, limit="4", cursor=cursor or "")
    assert len(queries) == 1
    sql = queries[0]["sql"].upper()
    assert "COUNT(" not in sql
    assert "OFFSET" not in sql


@pytest.mark.parametrize("cursor", ["x", "x:y", "W10:" + "a" * 43, "a" * 5000, "ünï:cödé", "\x00"])
def test_a_cursor_nobody_issued_is_refused(groups: QuerySet[Group], cursor: str) -> None:
    with pytest.raises(ContextOSError) as refusal:
        _page(groups, cursor=cursor)
    assert refusal.value.code == "cursor.invalid"


def test_a_cursor_of_another_ordering_is_refused(groups: QuerySet[Group]) -> None:
    _, cursor = _page(groups, ("name",), limit="2")
    with pytest.raises(ContextOSError) as refusal:
        _page(groups, ("-name",), cursor=cursor or "")
    assert refusal.value.code == "cursor.invalid"


def test_a_cursor_signed_for_something_else_is_refused(groups: QuerySet[Group]) -> None:
    foreign = signing.Signer(salt="other").sign_object(["1"])
    with pytest.raises(ContextOSError):
        _page(groups, cursor=foreign)


@pytest.mark.parametrize("limit", ["0", "-1", "1.5", "many", "", "٣", "9" * 5000])
def test_a_limit_that_is_no_number_is_refused(groups: QuerySet[Group], limit: str) -> None:
    with pytest.raises(ContextOSError) as refusal:
        _page(groups, limit=limit)
    assert refusal.value.code == "request.invalid"


def test_a_greedy_limit_is_cut(groups: QuerySet[Group]) -> None:
    Group.objects.bulk_create(Group(name=f"crew x{number}") for number in range(250))
    rows, cursor = _page(groups, limit="100000")
    assert len(rows) == KeysetPagination.max_limit
    assert cursor


def test_paging_by_a_field_that_may_be_null_or_is_unknown_is_a_bug(
    groups: QuerySet[Group],
) -> None:
    with pytest.raises(ImproperlyConfigured):
        _page(groups, ("colour",), limit="1")
