"""The second factor's services: secrets, codes, freshness, reset."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
import time_machine
from django.contrib.sessions.backends.db import SessionStore
from django.http import HttpRequest
from django.test import RequestFactory
from django_otp.middleware import OTPMiddleware

from audit.models import AuditEvent
from contextos.core.errors import ContextOSError
from contextos.identity import second_factor
from contextos.identity.actors import person as person_actor
from contextos.identity.models import RecoveryCode, Tenant, TotpDevice, User
from tests.adminkit.world import (
    TESTER,
    code_at,
    give_factor,
    make_person,
    make_superuser,
    make_tenant,
    wrong_code,
)

pytestmark = pytest.mark.django_db
NOON = datetime(2030, 5, 1, 12, 0, 10, tzinfo=UTC)


@pytest.fixture
def acme() -> Tenant:
    return make_tenant()


@pytest.fixture
def person(acme: Tenant) -> User:
    return make_person("pat", acme, "platform_admin")


def request_of(user: User) -> HttpRequest:
    request = RequestFactory().get("/admin/")
    request.session = SessionStore()
    request.user = user
    return with_otp(request)


def with_otp(request: HttpRequest) -> HttpRequest:
    OTPMiddleware(lambda answered: answered)(request)
    return request


def proved(user: User, secret: bytes) -> second_factor.Factor:
    factor = second_factor.verify_code(user=user, code=code_at(secret))
    assert factor is not None
    return factor


# --- enrolment ---------------------------------------------------------------------------------
def test_the_secret_is_160_bits_and_encrypted_at_rest(person: User) -> None:
    device = second_factor.begin_enrolment(user=person)
    assert len(device.plain_secret()) == 20
    stored = bytes(TotpDevice.objects.get(pk=device.pk).secret)
    assert device.plain_secret() not in stored


def test_an_enrolled_person_can_not_begin_again_by_accident(person: User) -> None:
    give_factor(person)
    with pytest.raises(ContextOSError) as refused:
        second_factor.begin_enrolment(user=person)
    assert refused.value.code == "otp.required"


def test_beginning_anew_makes_a_new_secret_and_forgets_the_old(person: User) -> None:
    first = second_factor.begin_enrolment(user=person)
    second = second_factor.begin_enrolment(user=person)
    assert first.plain_secret() != second.plain_secret()
    assert TotpDevice.objects.filter(user=person).count() == 1


def test_an_unconfirmed_device_does_not_verify_sign_ins(person: User) -> None:
    device = second_factor.begin_enrolment(user=person)
    code = code_at(device.plain_secret())
    assert second_factor.verify_code(user=person, code=code) is None


@pytest.mark.parametrize("given", [None, "7", 7, "x", True])
def test_a_foreign_enrolment_is_not_found(person: User, acme: Tenant, given: object) -> None:
    other = make_person("quinn", acme, "operator")
    device = second_factor.begin_enrolment(user=other)
    wanted = device.pk if given == 7 else given
    assert second_factor.pending_enrolment(user=person, device_pk=wanted) is None


# --- codes -------------------------------------------------------------------------------------
def test_a_correct_code_is_taken_once(person: User) -> None:
    code = code_at(give_factor(person))
    assert second_factor.verify_code(user=person, code=code) is not None
    assert second_factor.verify_code(user=person, code=code) is None


def test_an_older_code_is_refused_after_a_newer_one(person: User) -> None:
    secret = give_factor(person)
    with time_machine.travel(NOON, tick=False):
        earlier = code_at(secret, steps_from_now=-1)
        assert second_factor.verify_code(user=person, code=code_at(secret)) is not None
        assert second_factor.verify_code(user=person, code=earlier) is None


def test_spaces_in_a_code_are_forgiven(person: User) -> None:
    code = code_at(give_factor(person))
    assert second_factor.verify_code(user=person, code=f" {code[:3]} {code[3:]} ") is not None


def test_a_code_of_another_person_is_refused(person: User, acme: Tenant) -> None:
    give_factor(person)
    other = give_factor(make_person("quinn", acme, "operator"))
    assert second_factor.verify_code(user=person, code=code_at(other)) is None


def test_waiting_doubles_with_each_wrong_code(person: User) -> None:
    secret = give_factor(person)
    with time_machine.travel(NOON, tick=False) as clock:
        waits = []
        for _ in range(6):
            second_factor.verify_code(user=person, code=wrong_code(secret))
            waits.append(second_factor.seconds_to_wait(user=person))
            clock.shift(40)
    assert waits == [0, 0, 5, 9, 17, 33]  # two slips are free; 4, 8, 16, 32 seconds, rounded up


def test_the_right_code_is_taken_right_after_a_slip_or_two(person: User) -> None:
    secret = give_factor(person)
    with time_machine.travel(NOON, tick=False):
        for _ in range(2):
            second_factor.verify_code(user=person, code=wrong_code(secret))
        assert second_factor.verify_code(user=person, code=code_at(secret)) is not None


def test_a_right_code_during_the_wait_is_refused(person: User) -> None:
    secret = give_factor(person)
    with time_machine.travel(NOON, tick=False):
        for _ in range(3):
            second_factor.verify_code(user=person, code=wrong_code(secret))
        assert second_factor.verify_code(user=person, code=code_at(secret)) is None


def test_wrong_recovery_codes_do_not_slow_the_app_down(person: User) -> None:
    secret = give_factor(person)
    second_factor.issue_recovery_codes(user=person, actor=TESTER)
    second_factor.verify_code(user=person, code="aaaa-bbbb-cccc-dddd")
    assert second_factor.verify_code(user=person, code=code_at(secret)) is not None


# --- recovery codes ----------------------------------------------------------------------------
def test_ten_distinct_codes_of_80_bits_are_issued_and_stored_only_as_digests(person: User) -> None:
    codes = second_factor.issue_recovery_codes(user=person, actor=TESTER)
    assert len(set(codes)) == 10
    assert all(len(code.replace("-", "")) == 16 for code in codes)
    stored = " ".join(RecoveryCode.objects.values_list("code_hash", flat=True))
    assert not any(code.replace("-", "") in stored for code in codes)


def test_new_codes_end_the_old_ones(person: User) -> None:
    old = second_factor.issue_recovery_codes(user=person, actor=TESTER)[0]
    second_factor.issue_recovery_codes(user=person, actor=TESTER)
    assert second_factor.verify_code(user=person, code=old) is None


# --- reset -------------------------------------------------------------------------------------
def test_a_reset_takes_everything_away_and_is_recorded_with_its_reason(
    person: User, acme: Tenant
) -> None:
    give_factor(person)
    second_factor.issue_recovery_codes(user=person, actor=TESTER)
    boss = make_person("ada", acme, "platform_admin")
    second_factor.reset_factor(
        user=person, actor=person_actor(boss, acme.pk), reason="Phone lost, seen in person"
    )
    assert second_factor.confirmed_device(person) is None
    assert second_factor.recovery_codes_left(person) == 0
    event = AuditEvent.objects.get(action="identity.factor.reset")
    assert (event.actor_id, event.subject_id) == (boss.user_id, person.user_id)
    assert "Phone lost, seen in person" in event.text


def test_a_reset_needs_a_reason(person: User) -> None:
    give_factor(person)
    with pytest.raises(ContextOSError) as refused:
        second_factor.reset_factor(user=person, actor=TESTER, reason="  ")
    assert refused.value.code == "reason.missing"
    assert second_factor.confirmed_device(person) is not None


def test_a_tenants_administrator_can_not_reset_people_beyond_the_tenant(
    person: User, acme: Tenant
) -> None:
    boss = person_actor(make_person("ada", acme, "platform_admin"), acme.pk)
    make_person("pat", make_tenant("tenant_globex", "Globex"), "operator")
    for user in (person, make_superuser()):
        give_factor(user)
        with pytest.raises(ContextOSError) as refused:
            second_factor.reset_factor(user=user, actor=boss, reason="because")
        assert refused.value.code in ("person.beyond_tenant", "request.not_found")
        assert second_factor.confirmed_device(user) is not None


def test_nobody_resets_their_own_factor(person: User, acme: Tenant) -> None:
    give_factor(person)
    with pytest.raises(ContextOSError) as refused:
        second_factor.reset_factor(
            user=person, actor=person_actor(person, acme.pk), reason="I want to"
        )
    assert refused.value.code == "permission.denied"
    assert second_factor.confirmed_device(person) is not None


# --- freshness ---------------------------------------------------------------------------------
def test_a_proof_verifies_the_session_and_is_fresh(person: User) -> None:
    request = request_of(person)
    factor = proved(person, give_factor(person))
    assert not second_factor.is_fresh(request)
    second_factor.mark_fresh(request, factor)
    assert second_factor.is_fresh(request)
    assert request.user.is_verified()  # type: ignore[union-attr]


def test_marking_fresh_changes_the_session_key(person: User) -> None:
    request = request_of(person)
    request.session.save()
    before = request.session.session_key
    second_factor.mark_fresh(request, proved(person, give_factor(person)))
    assert request.session.session_key != before


def test_freshness_ends_after_its_age_and_never_lies_in_the_future(person: User) -> None:
    request = request_of(person)
    secret = give_factor(person)
    with time_machine.travel(NOON, tick=False) as clock:
        second_factor.mark_fresh(request, proved(person, secret))
        clock.shift(300)
        assert second_factor.is_fresh(request)
        clock.shift(1)
        assert not second_factor.is_fresh(request)
        clock.move_to(NOON.replace(hour=11))
        assert not second_factor.is_fresh(request)


def test_a_proof_of_another_device_in_the_session_is_not_fresh(person: User) -> None:
    request = request_of(person)
    second_factor.mark_fresh(request, proved(person, give_factor(person)))
    request.session["otp_device_id"] = "identity.totpdevice/999999"
    assert not second_factor.is_fresh(with_otp(request))
