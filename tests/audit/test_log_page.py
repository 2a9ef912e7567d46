"""The page of the log: what is signed, by whom, who else has it; checks in the background (E2)."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse

from audit import log_checks
from audit.decisions import record_decision
from audit.log_checks import request_check, run_due_checks
from audit.models import AuditEvent, Checkpoint, DecisionBody, LogCheck, OutsideMark
from audit.sealer import Sealer
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.identity.models import Tenant
from tests.audit.logs import facts
from tests.factories import SYSTEM, make_member, make_tenant
from tests.identity.signed_in import browser_of
from tests.putting_back import triggers_asleep

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E2")]


@pytest.fixture(autouse=True)
def _places(settings: Any, tmp_path: Path) -> None:
    settings.CHECKPOINTS_DIR, settings.KEYS_DIR = tmp_path / "outside", tmp_path / "keys"


@pytest.fixture
def sealed(acme: Tenant) -> Tenant:
    for _ in range(5):
        record_decision(facts(acme.pk))
    while Sealer().round():
        pass
    return acme


def _page(tenant: Tenant, role: str = "operator") -> str:
    answer = browser_of(make_member(tenant, role), tenant).get(reverse("admin:audit_log"))
    assert answer.status_code == 200
    return " ".join(answer.content.decode().split())


def test_a_new_log_says_that_nothing_is_signed_and_a_sealer_that_is_away_is_told(
    acme: Tenant,
) -> None:
    empty = make_tenant("empty")
    record_decision(facts(acme.pk))
    assert "Is the sealer running?" in _page(acme)
    assert "nothing was signed yet" in _page(empty), "its own making waits"


def test_the_page_shows_size_checkpoint_keys_and_copies(sealed: Tenant) -> None:
    text = _page(sealed, "auditor")
    checkpoint = Checkpoint.objects.latest("pk")
    assert checkpoint.kid in text
    assert "signs every checkpoint now" in text
    assert "Files of the sealer" in text
    assert "works" in text
    OutsideMark.objects.update(failed_at=utcnow(), fault="The disk is full.")
    assert "The disk is full." in _page(sealed)


def test_a_check_runs_in_the_background_and_its_verdict_stands_on_the_page(sealed: Tenant) -> None:
    browser = browser_of(make_member(sealed, "operator"), sealed)
    url = reverse("admin:audit_log")
    assert browser.post(url, {}).status_code == 302
    check = LogCheck.objects.get()
    watched = browser.get(url).content.decode()
    assert "Read so far" in watched
    assert "Check now" not in watched
    progress = browser.get(reverse("admin:audit_log_check_progress", args=[check.pk])).json()
    assert progress == {"state": "queued", "percent": 0, "rows": 0}
    refused = browser.post(url, {})
    assert refused.status_code == 422
    assert "being checked already" in refused.content.decode()
    while Sealer().round():
        pass
    assert run_due_checks() == 1
    check.refresh_from_db()
    assert (check.state, check.is_sound, check.findings) == ("done", True, [])
    assert check.done == check.tree_size > 5
    assert "as signed" in browser.get(url).content.decode()
    assert list(
        AuditEvent.objects.filter(subject_id=check.pk).values_list("action", flat=True)
    ) == ["audit.log_check.ended", "audit.log_check.requested"]


def test_a_changed_record_is_named_on_the_page(sealed: Tenant) -> None:
    with triggers_asleep(connection):
        body = DecisionBody.objects.earliest("record_id")
        DecisionBody.objects.filter(pk=body.pk).update(text=body.text.replace("sha256", "sha255"))
    request_check(tenant_id=sealed.pk, first=0, last=300, actor=SYSTEM)
    run_due_checks()
    check = LogCheck.objects.get()
    assert not check.is_sound
    assert check.first_bad_index is not None
    text = _page(sealed)
    assert "NOT as signed" in text
    assert "the text is not the one that was sealed" in text
    assert f"first bad index {check.first_bad_index}" in text


def test_a_check_whose_worker_was_lost_is_taken_up_and_given_up_after_some_times(
    sealed: Tenant,
) -> None:
    check = request_check(tenant_id=sealed.pk, actor=SYSTEM)
    for _ in range(log_checks.MOST_ATTEMPTS):
        assert log_checks._taken(check.pk) is not None
        assert run_due_checks() == 0, "its lease still holds"
        LogCheck.objects.update(lease_until=utcnow() - timedelta(seconds=1))
    run_due_checks()
    check.refresh_from_db()
    assert (check.state, bool(check.fault), check.is_sound) == ("failed", True, False)
    assert "broke off" in _page(sealed)


def test_a_range_that_ends_before_it_begins_is_refused(sealed: Tenant) -> None:
    with pytest.raises(ContextOSError) as refused:
        request_check(tenant_id=sealed.pk, first=5, last=5, actor=SYSTEM)
    assert refused.value.code == "log.range_invalid"
    browser: Client = browser_of(make_member(sealed, "operator"), sealed)
    answer = browser.post(reverse("admin:audit_log"), {"first": "9", "last": "3"})
    assert answer.status_code == 422
    assert "ends before it begins" in answer.content.decode()


def test_auditors_look_and_start_nothing_and_nobody_sees_another_tenants_check(
    sealed: Tenant,
) -> None:
    auditor = browser_of(make_member(sealed, "auditor"), sealed)
    assert auditor.post(reverse("admin:audit_log"), {}).status_code == 403
    check = request_check(tenant_id=sealed.pk, actor=SYSTEM)
    other = make_tenant("globex_two")
    stranger = browser_of(make_member(other, "operator"), other)
    url = reverse("admin:audit_log_check_progress", args=[check.pk])
    assert stranger.get(url).status_code == 404
    assert check.pk not in stranger.get(reverse("admin:audit_log")).content.decode()
    assert browser_of(make_member(sealed, "finance_approver"), sealed).get(url).status_code == 403
