"""People behind ids: sign-in names where we know them."""

from __future__ import annotations

from typing import Any

from django.db.models import OuterRef, QuerySet, Subquery

from contextos.core.text import reveal_invisible
from contextos.identity.models import User


def with_person(rows: QuerySet[Any]) -> QuerySet[Any]:
    """The rows, each with the sign-in name of its `user_id` as `user_name`."""
    people = User.objects.filter(user_id=OuterRef("user_id"))
    named: QuerySet[Any] = rows.annotate(user_name=Subquery(people.values("username")[:1]))
    return named


def person_name(user_id: str) -> str:
    """A person by their sign-in name; people of outside issuers by their id."""
    rows = User.objects.filter(user_id=user_id).values_list("username", flat=True)
    return reveal_invisible((rows.first() if user_id else "") or user_id)
