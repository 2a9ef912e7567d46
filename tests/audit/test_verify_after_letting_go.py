"""The log verifies after values were erased and records purged, and a fake purge does not (E6)."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from audit.erasure import request_erasure
from audit.models import DecisionBody, DecisionRow, Payload, Purge, PurgedLeaf
from audit.purging import apply_retention
from audit.sealer import Sealer
from audit.selections import Selection
from audit.verifying.findings import Kind, Report
from audit.verifying.log import verify_tenant
from contextos.identity.models import Tenant
from tests.audit.old_rows import decision, event
from tests.factories import SYSTEM
from tests.putting_back import triggers_asleep

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E6")]
APPROVALS = [{"gate": "GATE_ONE", "votes": [{"approver": "user_9", "verdict": "approve"}]}]


@pytest.fixture
def outside(settings: Any, tmp_path: Path) -> Path:
    settings.CHECKPOINTS_DIR = tmp_path / "checkpoints"
    settings.KEYS_DIR = tmp_path / "keys"
    return tmp_path / "checkpoints"


def _verified(tenant: Tenant, outside: Path) -> Report:
    Sealer().round()
    return verify_tenant(tenant.pk, outside=outside)


def test_erasing_every_value_changes_nothing_for_the_verifier(acme: Tenant, outside: Path) -> None:
    for _ in range(5):
        decision(acme.pk, days=3, approvals=APPROVALS)
    assert _verified(acme, outside).findings == []
    request_erasure(
        selection=Selection(tenant_id=acme.pk, user_id="user_1"),
        reason="Request 17.",
        actor=SYSTEM,
    )
    assert not Payload.objects.filter(sealed__isnull=False).exists()
    assert _verified(acme, outside).findings == []


def test_purged_rows_are_told_from_missing_ones(acme: Tenant, outside: Path) -> None:
    for _ in range(3):
        decision(acme.pk, days=400, approvals=APPROVALS)
        decision(acme.pk, days=1, approvals=APPROVALS)
    event(acme.pk, days=2600)
    Sealer().round()
    apply_retention()
    report = _verified(acme, outside)
    assert report.findings == []
    assert report.purged == PurgedLeaf.objects.count() == 7
    with triggers_asleep(connection):
        gone = DecisionRow.objects.earliest("record_id")
        DecisionBody.objects.filter(pk=gone.pk).delete()
        DecisionRow.objects.filter(pk=gone.pk).delete()
    assert Kind.TEXT_MISSING in {finding.kind for finding in _verified(acme, outside).findings}


def test_a_purge_in_the_middle_of_a_check_is_no_tampering(acme: Tenant, outside: Path) -> None:
    for _ in range(3):
        decision(acme.pk, days=400, approvals=APPROVALS)
    Sealer().round()
    purged: list[int] = []

    def purge_meanwhile(done: int, of: int) -> None:
        purged.append(sum(apply_retention().values()))

    report = verify_tenant(acme.pk, outside=outside, progress=purge_meanwhile)
    assert purged[0] > 0
    assert report.findings == []
    assert report.purged == 0, "the rows were there when they were read"
    assert _verified(acme, outside).purged == 6


def test_a_tombstone_made_up_for_a_removed_row_is_found(acme: Tenant, outside: Path) -> None:
    decision(acme.pk, days=400)
    Sealer().round()
    apply_retention()
    decision(acme.pk, days=1)
    assert _verified(acme, outside).findings == []
    with triggers_asleep(connection):
        gone = DecisionRow.objects.earliest("record_id")
        PurgedLeaf.objects.create(
            leaf_id=gone.pk,
            tenant_id=acme.pk,
            purge_id=Purge.objects.get().pk,
            decision_id=gone.decision_id,
            leaf_hash=gone.leaf_hash,
            created_at=gone.created_at,
        )
        DecisionBody.objects.filter(pk=gone.pk).delete()
        DecisionRow.objects.filter(pk=gone.pk).delete()
    assert Kind.PURGE in {finding.kind for finding in _verified(acme, outside).findings}


@pytest.mark.scale
def test_a_thousand_erased_values_leave_every_proof_valid(acme: Tenant, outside: Path) -> None:
    for _ in range(500):
        decision(acme.pk, days=3)
    Sealer().round()
    began = time.perf_counter()
    request_erasure(
        selection=Selection(tenant_id=acme.pk, user_id="user_1"),
        reason="Request 17.",
        actor=SYSTEM,
    )
    assert time.perf_counter() - began < 60, "2 s on a busy machine with two cores"
    assert Payload.objects.filter(sealed__isnull=True).count() == 1000
    report = _verified(acme, outside)
    assert (report.findings, report.checked) == ([], report.tree_size)
