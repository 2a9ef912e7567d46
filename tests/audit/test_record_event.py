"""Events are stored as canonical text that proves itself, with secrets removed and named."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.django import TestCase

from audit.actions import catalogue, require_known, title_of
from audit.event_record import RECORD_VERSION
from audit.models import AuditEvent
from audit.selectors import verify_event
from audit.services import record_event
from contextos.core import strict_json
from contextos.core.canonical import canonicalise, digest
from contextos.core.clock import format_time
from contextos.core.errors import ContextOSError
from contextos.core.events import Actor
from contextos.core.ids import is_id
from contextos.trace_context import begin_trace, enter_trace, leave_trace

PERSON = Actor(kind="user", id="user_1", tenant_id="acme", display="Asha")
ACTION = "identity.agent.changed"


def write(**fields: Any) -> AuditEvent:
    values: dict[str, Any] = {
        "tenant_id": "acme",
        "action": ACTION,
        "actor": PERSON,
        "subject_kind": "agent",
        "subject_id": "refunds",
    }
    return record_event(**(values | fields))


def record_of(event: AuditEvent) -> dict[str, Any]:
    stored = AuditEvent.objects.get(pk=event.pk)
    return dict(strict_json.loads_object(stored.text))


@pytest.mark.proves("E2")
@pytest.mark.django_db
def test_the_record_holds_exactly_the_agreed_members() -> None:
    event = write(reason="because", data={"name": {"from": "a", "to": "b"}}, trace_id="a" * 32)
    record = record_of(event)
    assert is_id(event.event_id, "aud")
    assert record.pop("record_hash").startswith("sha256:")
    assert record == {
        "record_version": RECORD_VERSION,
        "event_id": event.event_id,
        "tenant_id": "acme",
        "action": ACTION,
        "actor": {"kind": "user", "id": "user_1", "tenant_id": "acme", "display": "Asha"},
        "subject": {"kind": "agent", "id": "refunds"},
        "reason": "because",
        "data": {"name": {"from": "a", "to": "b"}},
        "redactions": [],
        "trace_id": "a" * 32,
        "created_at": format_time(event.created_at),
    }


@pytest.mark.proves("E2")
@pytest.mark.django_db
def test_hashes_cover_the_stored_bytes() -> None:
    stored = AuditEvent.objects.get(pk=write(data={"größe": [1, 2.5, None]}).pk)
    record = strict_json.loads_object(stored.text)
    without = {name: value for name, value in record.items() if name != "record_hash"}
    assert stored.text.encode() == canonicalise(record)
    assert record["record_hash"] == digest(without)
    assert bytes(stored.leaf_hash) == hashlib.sha256(b"\x00" + stored.text.encode()).digest()
    assert verify_event(stored) == ()


@pytest.mark.django_db
def test_secrets_are_removed_and_their_places_named() -> None:
    token = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhIn0.c2lnbmF0dXJlLXNpZ25hdHVyZQ"
    event = write(
        reason=f"leaked {token} in a ticket",
        data={"password": "hunter2 hunter2", "nested": {"note": f"see {token}"}, "name": "kept"},
    )
    record = record_of(event)
    assert token not in event.text
    assert "hunter2" not in event.text
    assert record["redactions"] == ["/data/nested/note", "/data/password", "/reason"]
    assert record["data"]["name"] == "kept"


@pytest.mark.django_db
def test_an_undeclared_action_is_refused() -> None:
    with pytest.raises(LookupError, match=r"identity\.agent\.chnaged"):
        write(action="identity.agent.chnaged")
    assert not AuditEvent.objects.exists()


def test_every_app_contributes_its_actions_to_the_catalogue() -> None:
    assert require_known("identity.token.issued") == "identity.token.issued"
    assert title_of("identity.token.issued") == catalogue()["identity.token.issued"]
    assert title_of("retired.name") == "retired.name"


@pytest.mark.django_db
@pytest.mark.parametrize("data", [{"n": 2**60}, {"t": "nul\x00"}, {"f": float("nan")}])
def test_what_json_can_not_carry_is_refused_and_nothing_is_written(data: dict[str, Any]) -> None:
    with pytest.raises(ContextOSError):
        write(data=data)
    assert not AuditEvent.objects.exists()


@pytest.mark.proves("E2")
@pytest.mark.django_db
def test_the_event_shares_the_fate_of_the_change() -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        write(data={"count": len(write().text) // 0})
    assert not AuditEvent.objects.exists()


@pytest.mark.django_db
def test_the_trace_of_the_request_is_noted() -> None:
    trace = begin_trace(None)
    token = enter_trace(trace)
    try:
        event = write()
    finally:
        leave_trace(token)
    assert record_of(event)["trace_id"] == trace.trace_id


@pytest.mark.django_db
def test_later_events_have_larger_ids() -> None:
    ids = [write().event_id for _ in range(20)]
    assert ids == sorted(ids)


_text = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\x00"), max_size=40)
_json = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(-(2.0**52), 2.0**52)
    | _text,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(_text, inner, max_size=4),
    max_leaves=12,
)


class CanonicalRoundTrip(TestCase):
    """Whatever is told, the row verifies and reads back to the same bytes."""

    @given(reason=_text, data=st.dictionaries(_text, _json, max_size=5), subject=_text)
    def test_every_event_verifies_after_a_round_trip_through_the_database(
        self, reason: str, data: dict[str, Any], subject: str
    ) -> None:
        event = write(reason=reason, data=data, subject_id=subject[:200])
        stored = AuditEvent.objects.get(pk=event.pk)
        assert verify_event(stored) == ()
        assert canonicalise(strict_json.loads_object(stored.text)).decode() == stored.text
