"""A hold has no end date, can't be narrowed, and is let go of by two people only (E6)."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import IntegrityError, InternalError, connection, transaction

from audit.holds import (
    confirm_release,
    held_decisions,
    place_hold,
    propose_release,
    selection_of,
    withdraw_proposal,
)
from audit.models import AuditEvent, DecisionRow, LegalHold
from audit.selections import Selection
from contextos.core.errors import ContextOSError
from contextos.core.events import Actor
from contextos.identity.models import Tenant
from tests.audit.old_rows import ago, decision
from tests.factories import SYSTEM, actor_for, make_member

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E6")]


def _admin(tenant: Tenant) -> Actor:
    return actor_for(make_member(tenant, "platform_admin"), tenant)


def _hold(tenant: Tenant, actor: Actor = SYSTEM, **what: Any) -> LegalHold:
    selection = Selection(tenant_id=tenant.pk, **what)
    return place_hold(selection=selection, title="Matter 12", reason="Court order.", actor=actor)


@pytest.mark.parametrize(
    ("what", "covered"),
    [
        ({}, True),
        ({"capability_id": "orders.lookup"}, True),
        ({"capability_id": "orders.other"}, False),
        ({"user_id": "user_1", "agent_id": "agent_1"}, True),
        ({"user_id": "user_1", "agent_id": "agent_2"}, False),
        ({"run_id": "run_1"}, True),
        ({"since": ago(11), "until": ago(9)}, True),
        ({"since": ago(9)}, False),
        ({"until": ago(11)}, False),
    ],
)
def test_a_hold_covers_what_meets_all_of_its_terms(
    acme: Tenant, what: dict[str, Any], covered: bool
) -> None:
    name = decision(acme.pk, days=10)
    hold = _hold(acme, **what)
    found = held_decisions(tenant_id=acme.pk, decision_ids=[name])
    assert found == ({name} if covered else set())
    assert DecisionRow.objects.filter(selection_of(hold).condition()).exists() == covered


def test_one_person_does_not_release_a_hold(acme: Tenant) -> None:
    first, hold = _admin(acme), _hold(acme)
    where: dict[str, Any] = {"tenant_id": acme.pk, "hold_id": hold.pk}
    with pytest.raises(ContextOSError) as early:
        confirm_release(**where, actor=first)
    assert early.value.code == "hold.release_not_proposed"
    propose_release(**where, reason="Settled.", actor=first)
    for actor in (first, SYSTEM):  # neither the same person nor a task
        with pytest.raises(ContextOSError) as alone:
            confirm_release(**where, actor=actor)
        assert alone.value.code == "hold.release_needs_two"
    released = confirm_release(**where, actor=_admin(acme))
    assert released.released_at is not None
    actions = AuditEvent.objects.filter(subject_id=hold.pk).order_by("event_id")
    assert list(actions.values_list("action", flat=True)) == [
        "hold.placed",
        "hold.release_proposed",
        "hold.released",
    ]


def test_a_withdrawn_proposal_starts_over(acme: Tenant) -> None:
    first, hold = _admin(acme), _hold(acme)
    where: dict[str, Any] = {"tenant_id": acme.pk, "hold_id": hold.pk}
    propose_release(**where, reason="Settled.", actor=first)
    withdraw_proposal(**where, reason="Not yet.", actor=_admin(acme))
    with pytest.raises(ContextOSError) as refused:
        confirm_release(**where, actor=_admin(acme))
    assert refused.value.code == "hold.release_not_proposed"


def test_a_person_of_another_tenant_releases_nothing(acme: Tenant, globex: Tenant) -> None:
    hold = _hold(acme)
    with pytest.raises(ContextOSError):
        propose_release(
            tenant_id=acme.pk, hold_id=hold.pk, reason="Mine now.", actor=_admin(globex)
        )


@pytest.mark.parametrize(
    "attack",
    [
        "UPDATE audit_legalhold SET until = '2020-01-01'",
        "UPDATE audit_legalhold SET capability_id = 'nothing.at_all'",
        "UPDATE audit_legalhold SET tenant_id = 'other'",
        "UPDATE audit_legalhold SET released_at = '2026-01-01'",
        (
            "UPDATE audit_legalhold SET released_at = '2026-01-01', released_by = 'me', "
            "proposed_by = 'me', proposed_at = '2026-01-01'"
        ),
        "DELETE FROM audit_legalhold",
    ],
)
def test_no_role_shortens_or_removes_a_hold(acme: Tenant, attack: str) -> None:
    _hold(acme)
    refused = pytest.raises((IntegrityError, InternalError))
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(attack)


def test_a_released_hold_stays_as_it_was(acme: Tenant) -> None:
    hold = _hold(acme)
    where: dict[str, Any] = {"tenant_id": acme.pk, "hold_id": hold.pk}
    propose_release(**where, reason="Settled.", actor=_admin(acme))
    confirm_release(**where, actor=_admin(acme))
    refused = pytest.raises((IntegrityError, InternalError))
    with refused, transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("UPDATE audit_legalhold SET proposed_why = 'something else'")


def test_a_hold_needs_a_title_a_reason_and_a_period_that_is_one(acme: Tenant) -> None:
    with pytest.raises(ContextOSError) as mute:
        place_hold(selection=Selection(tenant_id=acme.pk), title="x", reason=" ", actor=SYSTEM)
    assert mute.value.code == "hold.reason_missing"
    with pytest.raises(ContextOSError) as empty:
        _hold(acme, since=ago(1), until=ago(2))
    assert empty.value.code == "hold.period_empty"
