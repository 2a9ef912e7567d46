"""A replay opens no socket, reaches no tool and writes nothing but its own event (E4)."""

from __future__ import annotations

import socket  # noqa: TID251  to forbid it
from typing import Any

import pytest
from django.db import connection

from contextos.core.events import automation
from gateway.replaying.services import replay
from tests.gateway.replaying.story import StoryWorld
from tests.putting_back import tables

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E4")]
ACTOR = automation("tests")


@pytest.fixture
def no_socket(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Whoever wants to connect or to look a name up is written down and refused."""
    tried: list[Any] = []

    def refuse(*args: Any, **kwargs: Any) -> Any:
        tried.append(args[-1] if args else kwargs)
        raise OSError("a replay wanted to reach somebody")

    for name in ("connect", "connect_ex", "sendto"):
        monkeypatch.setattr(socket.socket, name, refuse)
    for name in ("getaddrinfo", "gethostbyname", "create_connection"):
        monkeypatch.setattr(socket, name, refuse)
    return tried


def _counts() -> dict[str, int]:
    with connection.cursor() as cursor:
        counted = {}
        for table in tables():
            cursor.execute(f"SELECT COUNT(*) FROM {table}")
            counted[table] = cursor.fetchone()[0]
    return counted


def test_no_replay_opens_a_socket_or_reaches_a_tool(
    world: StoryWorld, ledger: list[str], no_socket: list[Any]
) -> None:
    booked = list(ledger)
    with pytest.raises(OSError, match="wanted to reach"):
        socket.create_connection(("127.0.0.1", 9))
    no_socket.clear()
    for decision_id in world.decisions.values():
        packet = replay(tenant_id=world.tenant_id, decision_id=decision_id, actor=ACTOR)
        assert packet["latest_result"]["status"] == "replay_equal"
    assert no_socket == []
    assert list(ledger) == booked


def test_a_replay_writes_its_own_event_and_nothing_else(world: StoryWorld) -> None:
    before = _counts()
    replay(tenant_id=world.tenant_id, decision_id=world.decisions["approved"], actor=ACTOR)
    after = _counts()
    grown = {name: after[name] - before[name] for name in after if after[name] != before[name]}
    grown.pop("audit_unsealedleaf", None)  # the event's own leaf
    assert grown == {"audit_auditevent": 1}
