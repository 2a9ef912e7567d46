"""Pages of the log stay in their tenant and never skip; a tampered row says what is wrong."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.db import connection

from audit.models import AuditEvent
from audit.selectors import EventFilter, page_of_events, verify_event
from audit.services import record_event
from contextos.core.events import Actor
from tests.factories import SYSTEM
from tests.putting_back import triggers_asleep

pytestmark = pytest.mark.django_db


def write(
    tenant_id: str = "acme", subject_id: str = "refunds", actor: Actor = SYSTEM
) -> AuditEvent:
    return record_event(
        tenant_id=tenant_id,
        action="identity.agent.changed",
        actor=actor,
        subject_kind="agent",
        subject_id=subject_id,
    )


def test_pages_follow_each_other_without_gap_or_repeat() -> None:
    written = [write().event_id for _ in range(7)]
    write("globex")
    seen: list[str] = []
    cursor: str | None = None
    while True:
        page = page_of_events("acme", cursor=cursor, limit=3)
        seen += [event.event_id for event in page.events]
        if page.next_cursor is None:
            break
        cursor = page.next_cursor
    assert seen == sorted(written, reverse=True)


@pytest.mark.parametrize("limit", [-5, 0, 10**9])
def test_page_sizes_are_bounded(limit: int) -> None:
    write()
    assert len(page_of_events("acme", limit=limit).events) == 1


def test_filters_narrow_within_the_tenant() -> None:
    person = Actor(kind="user", id="user_1", tenant_id="acme", display="Asha")
    wanted = write(subject_id="orders", actor=person)
    write()
    write("globex", subject_id="orders", actor=person)
    for chosen in (
        EventFilter(subject_kind="agent", subject_id="orders"),
        EventFilter(actor_id="user_1"),
        EventFilter(actor_id="user_1", since=wanted.created_at),
    ):
        assert [event.pk for event in page_of_events("acme", chosen).events] == [wanted.pk]
    later = EventFilter(since=wanted.created_at + timedelta(minutes=1))
    assert page_of_events("acme", later).events == ()


def tampered(event: AuditEvent, **columns: object) -> AuditEvent:
    with triggers_asleep(connection):
        AuditEvent.objects.filter(pk=event.pk).update(**columns)
    return AuditEvent.objects.get(pk=event.pk)


@pytest.mark.proves("E2")
def test_a_changed_column_is_named_with_both_values() -> None:
    row = tampered(write(), subject_id="orders")
    (difference,) = verify_event(row)
    assert (difference.kind, difference.field) == ("column", "subject_id")
    assert (difference.expected, difference.found) == ("refunds", "orders")


@pytest.mark.proves("E2")
def test_a_changed_text_breaks_both_hashes() -> None:
    event = write()
    row = tampered(event, text=event.text.replace('"refunds"', '"orders!"'))
    kinds = {difference.kind for difference in verify_event(row)}
    assert {"leaf_hash", "record_hash", "column"} <= kinds


@pytest.mark.proves("E2")
def test_a_text_with_a_fitting_leaf_hash_is_still_caught() -> None:
    event = write()
    other = write(subject_id="orders")
    row = tampered(event, text=other.text, leaf_hash=other.leaf_hash)
    assert {d.field for d in verify_event(row)} == {"event_id", "subject_id", "created_at"} - (
        {"created_at"} if event.created_at == other.created_at else set()
    )


@pytest.mark.proves("E2")
def test_the_same_record_in_another_spelling_is_not_canonical() -> None:
    event = write()
    row = tampered(event, text=event.text.replace('":', '" :', 1))
    assert "not_canonical" in {difference.kind for difference in verify_event(row)}


@pytest.mark.proves("E2")
@pytest.mark.parametrize("text", ["", "no json", "[]", "{}", '{"actor": 1}'])
def test_a_text_that_is_no_record_is_unreadable(text: str) -> None:
    row = tampered(write(), text=text)
    assert "unreadable" in {difference.kind for difference in verify_event(row)}
