"""An auditor's access: its term, its period, its clearance, and what ends with it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from audit.access import window_of
from audit.accesses import Terms, end_access, grant_access
from audit.clearance import Clearance
from audit.models import AuditEvent, AuditorAccess
from contextos.core.errors import ContextOSError
from contextos.identity.models import Tenant, User
from contextos.identity.token_verification import verify_bearer
from tests.factories import (
    SYSTEM,
    actor_for,
    let_audit,
    make_member,
    make_superuser,
    make_tenant,
    make_user,
    make_user_token,
)
from tests.identity.signed_in import browser_of

pytestmark = pytest.mark.django_db

_ACCESSES = "admin:audit_auditoraccess_changelist"
OCTOBER = datetime(2026, 10, 1, tzinfo=UTC)
NOVEMBER = datetime(2026, 11, 1, tzinfo=UTC)


@pytest.fixture
def acme() -> Tenant:
    return make_tenant("acme")


def terms(**changes: Any) -> Terms:
    now = timezone.now()
    usual: dict[str, Any] = {
        "starts_at": now - timedelta(minutes=1),
        "ends_at": now + timedelta(days=10),
        "data_from": OCTOBER,
        "data_until": NOVEMBER,
    }
    return Terms(**usual | changes)


def granted(user: User, tenant: Tenant, **changes: Any) -> AuditorAccess:
    return grant_access(
        user=user, tenant_id=tenant.pk, terms=terms(**changes), actor=SYSTEM, reason="Yearly audit"
    )


def refusal(user: Any, tenant: Tenant) -> ContextOSError:
    with pytest.raises(ContextOSError) as caught:
        window_of(user, tenant)
    return caught.value


@pytest.mark.proves("E3")
def test_the_front_page_shows_an_auditor_no_event_of_another_period(acme: Tenant) -> None:
    auditor = make_user("aude")
    granted(auditor, acme)
    front = browser_of(auditor, acme).get("/admin/")
    assert front.status_code == 200
    assert "Auditor given access" not in front.text, "it was given after the end of October"
    assert (
        "Auditor given access"
        in browser_of(make_member(acme, "operator"), acme).get("/admin/").text
    )


@pytest.mark.proves("E3")
def test_an_auditor_without_an_access_has_a_front_page_without_events(acme: Tenant) -> None:
    auditor = make_member(acme, "auditor")
    AuditorAccess.objects.filter(user=auditor).delete()
    front = browser_of(auditor, acme).get("/admin/")
    assert front.status_code == 200
    assert "Open the whole record" not in front.text


def test_the_list_of_auditors_takes_no_statement_for_each(acme: Tenant) -> None:
    browser, address = browser_of(make_member(acme, "platform_admin"), acme), _ACCESSES

    def statements() -> int:
        with CaptureQueriesContext(connection) as asked:
            assert browser.get(reverse(address)).status_code == 200
        return len(asked)

    granted(make_user("aude"), acme)
    statements()  # the first page of a session reads more
    one = statements()
    for name in ("otto", "olga"):
        granted(make_user(name), acme)
    assert statements() == one


@pytest.mark.proves("E3")
def test_an_auditor_reads_the_granted_period_and_no_other(acme: Tenant) -> None:
    auditor = make_user("aude")
    granted(auditor, acme)
    window = window_of(auditor, acme)
    assert window.is_auditor
    assert window.is_limited
    assert window.covers(OCTOBER)
    assert not window.covers(OCTOBER - timedelta(microseconds=1))
    assert not window.covers(NOVEMBER)
    with pytest.raises(ContextOSError, match=r"auditor.outside_window"):
        window.require(NOVEMBER)


@pytest.mark.proves("E3")
def test_an_access_that_ended_refuses_in_a_plain_sentence(acme: Tenant) -> None:
    auditor = make_user("aude")
    granted(auditor, acme)
    AuditorAccess.objects.update(
        starts_at=timezone.now() - timedelta(days=9), ends_at=timezone.now() - timedelta(days=1)
    )
    fault = refusal(auditor, acme)
    assert fault.code == "auditor.access_ended"
    assert fault.message.startswith("Your access as an auditor ended on 20")
    assert "platform admin" in fault.remediation


def test_an_access_taken_back_refuses_at_once_and_ends_the_role(acme: Tenant) -> None:
    auditor = make_user("aude")
    access = granted(auditor, acme)
    end_access(access_id=access.pk, actor=SYSTEM, reason="Engagement over")
    assert refusal(auditor, acme).code == "auditor.access_ended"
    assert not auditor.memberships.current().exists()
    actions = set(AuditEvent.objects.filter(tenant_id="acme").values_list("action", flat=True))
    assert {"audit.access.granted", "audit.access.ended"} <= actions


def test_an_access_that_has_not_begun_says_when_it_does(acme: Tenant) -> None:
    auditor = make_user("aude")
    granted(auditor, acme, starts_at=timezone.now() + timedelta(days=1))
    assert refusal(auditor, acme).code == "auditor.access_not_begun"


@pytest.mark.proves("E3")
def test_a_token_of_an_auditor_ends_with_the_access(acme: Tenant) -> None:
    auditor = make_user("aude")
    granted(auditor, acme)
    token = make_user_token(auditor, acme).token
    caller = verify_bearer(token)
    assert window_of(caller, acme).data_from == OCTOBER
    AuditorAccess.objects.update(ends_at=timezone.now())
    assert refusal(caller, acme).code == "auditor.access_ended"
    auditor.memberships.update(valid_until=timezone.now())
    with pytest.raises(ContextOSError, match=r"auth\."):
        verify_bearer(token)


def test_another_grant_replaces_the_one_before(acme: Tenant) -> None:
    auditor = make_user("aude")
    granted(auditor, acme)
    granted(auditor, acme, data_from=None, data_until=None, clearance=Clearance.RESTRICTED)
    window = window_of(auditor, acme)
    assert not window.is_limited
    assert window.reads("RESTRICTED")
    assert AuditorAccess.objects.filter(ended_at__isnull=True).count() == 1


def test_an_access_without_a_period_reads_all_of_it_up_to_its_clearance(acme: Tenant) -> None:
    window = window_of(make_member(acme, "auditor"), acme)
    assert not window.is_limited
    assert window.reads("CONFIDENTIAL")
    assert not window.reads("RESTRICTED")
    assert not window.reads("a class nobody knows")


@pytest.mark.proves("E3")
def test_the_role_alone_reads_nothing_and_says_whom_to_ask(acme: Tenant) -> None:
    auditor = make_member(acme, "auditor", access=False)
    said = refusal(auditor, acme)
    assert said.code == "auditor.access_missing"
    assert "platform admin" in said.remediation
    token = make_user_token(auditor, acme).token
    for path in ("decision-records", "exports", "metrics/capabilities"):
        answer = Client().get(f"/api/v1/{path}", headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, answer.json()["code"]) == (403, "auditor.access_missing"), path
    let_audit(auditor, acme)
    answer = Client().get("/api/v1/decision-records", headers={"Authorization": f"Bearer {token}"})
    assert answer.status_code == 200


def test_the_page_of_an_auditor_without_an_access_says_whom_to_ask(acme: Tenant) -> None:
    browser = browser_of(make_member(acme, "auditor", access=False), acme)
    for page in ("decisionrow", "exportjob", "auditevent"):
        answer = browser.get(f"/admin/audit/{page}/")
        assert answer.status_code == 403, page
        assert "nobody has said yet what you may read" in answer.content.decode()


def test_whoever_goes_on_in_another_role_reads_that_the_access_is_over(acme: Tenant) -> None:
    person = make_member(acme, "manifest_reviewer")
    access = granted(person, acme)
    end_access(access_id=access.pk, actor=SYSTEM, reason="The audit is over.")
    answer = browser_of(person, acme).get("/admin/audit/decisionrow/")
    assert answer.status_code == 403
    assert "Your access as an auditor ended on" in answer.text


@pytest.mark.parametrize("role", ["platform_admin", "operator"])
def test_those_who_run_the_tenant_have_no_window(acme: Tenant, role: str) -> None:
    window = window_of(make_member(acme, role), acme)
    assert not window.is_limited
    assert not window.is_auditor


def test_a_user_id_will_do_for_work_in_the_background(acme: Tenant) -> None:
    auditor = make_user("aude")
    granted(auditor, acme)
    assert window_of(auditor.user_id, "acme") == window_of(auditor, acme)


def test_who_runs_the_installation_reads_every_tenant(acme: Tenant) -> None:
    assert window_of(make_superuser(), acme).reads("RESTRICTED")


@pytest.mark.parametrize("role", ["finance_approver", "manifest_author", "service"])
def test_other_roles_read_no_records(acme: Tenant, role: str) -> None:
    assert refusal(make_member(acme, role), acme).code == "role.missing"


def test_an_auditor_of_one_tenant_is_a_stranger_in_another(acme: Tenant) -> None:
    auditor = make_user("aude")
    granted(auditor, acme)
    other = make_tenant("globex")
    assert refusal(auditor, other).code == "role.missing"
    caller = verify_bearer(make_user_token(auditor, acme).token)
    assert refusal(caller, other).code == "role.missing"


def test_only_a_platform_admin_grants_and_never_to_themselves(acme: Tenant) -> None:
    admin, operator = make_member(acme, "platform_admin"), make_member(acme, "operator")
    auditor = make_user("aude")
    for actor, user, code in (
        (actor_for(operator, acme), auditor, "role.missing"),
        (actor_for(admin, acme), admin, "role.self_grant"),
        (actor_for(admin, make_tenant("globex")), auditor, "tenant.forbidden"),
    ):
        with pytest.raises(ContextOSError, match=code):
            grant_access(user=user, tenant_id="acme", terms=terms(), actor=actor, reason="Audit")
    assert not AuditorAccess.objects.exists()
    grant_access(
        user=auditor, tenant_id="acme", terms=terms(), actor=actor_for(admin, acme), reason="Audit"
    )


@pytest.mark.parametrize(
    ("changes", "reason", "code"),
    [
        ({"ends_at": datetime(2020, 1, 1, tzinfo=UTC)}, "Audit", "auditor.term_invalid"),
        ({"data_until": OCTOBER - timedelta(days=1)}, "Audit", "auditor.term_invalid"),
        ({}, "  ", "reason.missing"),
    ],
)
def test_a_grant_without_sense_is_refused(
    acme: Tenant, changes: dict[str, Any], reason: str, code: str
) -> None:
    with pytest.raises(ContextOSError, match=code):
        grant_access(
            user=make_user("aude"),
            tenant_id="acme",
            terms=terms(**changes),
            actor=SYSTEM,
            reason=reason,
        )
    assert not AuditorAccess.objects.exists()
