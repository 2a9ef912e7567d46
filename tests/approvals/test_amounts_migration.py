"""Requests of the time before searches looked for amounts are found by theirs as well."""

from __future__ import annotations

from importlib import import_module

import pytest
from django.apps import apps

from audit.models import DecisionAmount
from tests.approvals.world import GateWorld
from tests.recorded_worlds import ready


@pytest.mark.django_db
def test_amounts_of_earlier_requests_are_copied_once() -> None:
    request, call = ready(GateWorld).proposed()
    DecisionAmount.objects.all().delete()
    migration = import_module("approvals.migrations.0004_amounts_to_search_by")
    for _ in range(2):
        migration.copy_amounts(apps, None)
    kept = DecisionAmount.objects.get()
    assert (kept.decision_id, kept.amount, kept.unit) == (call.decision_id, request.amount, "INR")
