"""Records from before searches and classes of retention are completed, not changed (E6)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.db import connection

from audit import older_rows
from audit.models import DecisionMention, DecisionRow, GatedDecision
from audit.older_rows import complete_older_rows
from audit.purging import apply_retention
from audit.sealer import Sealer
from audit.verifying.log import verify_tenant
from contextos.identity.models import Tenant
from tests.audit.old_rows import decision
from tests.putting_back import triggers_asleep

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E6")]
VOTES = [{"gate": "GATE_ONE", "votes": [{"approver": "user_9", "verdict": "approve"}]}]


@pytest.fixture
def as_before(
    acme: Tenant, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> dict[str, str]:
    """Decisions of 400 days ago, as an installation before the two migrations had them."""
    settings.CHECKPOINTS_DIR, settings.KEYS_DIR = tmp_path / "outside", tmp_path / "keys"
    monkeypatch.setattr(older_rows, "BATCH", 3)
    names = {
        "gated": decision(acme.pk, days=400, gate="GATE_ONE", approvals=VOTES),
        "plain": decision(acme.pk, days=400),
        "new": decision(acme.pk, days=1, gate="GATE_TWO", approvals=VOTES),
    }
    with triggers_asleep(connection):
        DecisionMention.objects.exclude(value="GATE_ONE").delete()
        GatedDecision.objects.exclude(gate="GATE_TWO").delete()
    Sealer().round()
    return names


def test_gated_decisions_of_before_are_kept_as_such(
    acme: Tenant, as_before: dict[str, str]
) -> None:
    assert complete_older_rows(apps.get_model) == 6
    assert complete_older_rows(apps.get_model) == 6, "it can be run again"
    gates = dict(GatedDecision.objects.values_list("decision_id", "gate"))
    assert gates == {as_before["gated"]: "GATE_ONE", as_before["new"]: "GATE_TWO"}
    apply_retention()
    left = set(DecisionRow.objects.values_list("decision_id", flat=True))
    assert left == {as_before["gated"], as_before["new"]}, "seven years, not one"


def test_what_they_mention_is_found_again_and_the_log_verifies(
    acme: Tenant, as_before: dict[str, str], settings: Any
) -> None:
    outside = settings.CHECKPOINTS_DIR
    assert verify_tenant(acme.pk, outside=outside).findings
    complete_older_rows(apps.get_model)
    assert verify_tenant(acme.pk, outside=outside).findings == []
    apply_retention()
    complete_older_rows(apps.get_model)
    Sealer().round()
    assert verify_tenant(acme.pk, outside=outside).findings == [], "purged rows mention nobody"
