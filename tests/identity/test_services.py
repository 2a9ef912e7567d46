"""Every change is recorded in its own transaction, under its tenant's authority, or not made."""

from __future__ import annotations

import inspect
from typing import Any

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured, ValidationError
from django.db import IntegrityError, transaction

from audit.models import AuditEvent
from audit.selectors import verify_event
from contextos.core.errors import ContextOSError
from contextos.core.events import Actor, EventRecorder
from contextos.core.signing import KeyPurpose
from contextos.identity import events, services
from contextos.identity.models import Environment, Tenant, User
from tests.factories import SYSTEM, make_superuser, make_tenant
from tests.identity.changes import CHANGES, Change

# Services without a tenant to refuse; each has its own test below.
INSTALLATION_LEVEL = {"create_tenant", "revoke_key", "rotate_key"}
by_name = pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.name)


def rows() -> dict[str, list[Any]]:
    """Everything identity stores, as it stands."""
    models = [m for m in apps.get_app_config("identity").get_models() if m._meta.managed]
    return {m._meta.label: list(m._default_manager.order_by("pk").values()) for m in models}


def test_every_service_is_tried_below() -> None:
    functions = {name for name in services.__all__ if name[0].islower()}
    assert functions == {change.name for change in CHANGES} | INSTALLATION_LEVEL


@by_name
def test_a_change_is_recorded_with_its_actor(change: Change, acme: Tenant) -> None:
    attempt = change.prepare(acme)
    actor = Actor(kind="user", id="user_tester", tenant_id=acme.pk, display="Tester")
    before = set(AuditEvent.objects.values_list("pk", flat=True))
    attempt(actor)
    written = AuditEvent.objects.exclude(pk__in=before)
    assert change.action in {event.action for event in written}
    assert {(event.actor_id, event.tenant_id) for event in written} == {("user_tester", acme.pk)}
    assert [verify_event(event) for event in written] == [()] * len(written)


@pytest.mark.proves("E2")
@by_name
def test_without_a_record_there_is_no_effect(change: Change, acme: Tenant, settings: Any) -> None:
    attempt = change.prepare(acme)
    before = rows()
    settings.CONTEXTOS_EVENT_RECORDER = "tests.identity.recorders.failing"
    with pytest.raises(RuntimeError, match="the log is full"):
        attempt(SYSTEM)
    assert rows() == before


@by_name
def test_an_actor_of_another_tenant_is_refused(
    change: Change, acme: Tenant, globex: Tenant
) -> None:
    attempt = change.prepare(acme)
    stranger = Actor(kind="user", id="user_stranger", tenant_id=globex.pk, display="Stranger")
    before, events_before = rows(), AuditEvent.objects.count()
    with pytest.raises(ContextOSError) as refused:
        attempt(stranger)
    assert refused.value.code in {"tenant.forbidden", "person.beyond_tenant"}
    assert rows() == before
    assert AuditEvent.objects.count() == events_before


# --- the wire -----------------------------------------------------------------------------------
@pytest.mark.parametrize(
    "path",
    ["", "audit.services.no_such", "no.such.module", "tests.identity.recorders.NOT_CALLABLE"],
)
@pytest.mark.django_db
def test_without_a_usable_recorder_nothing_may_change(path: str, settings: Any) -> None:
    settings.CONTEXTOS_EVENT_RECORDER = path
    with pytest.raises(ImproperlyConfigured):
        services.create_tenant(tenant_id="acme_prod", name="Acme", actor=SYSTEM)
    assert not Tenant.objects.exists()


def test_the_configured_recorder_is_the_logs_own() -> None:
    from audit.services import record_event

    assert events.recorder() is record_event


def test_both_ends_of_the_wire_agree_on_their_arguments() -> None:
    wanted = inspect.signature(EventRecorder.__call__).parameters
    given = inspect.signature(events.recorder()).parameters
    assert [n for n in wanted if n != "self"] == list(given)
    assert {p.kind for p in given.values()} == {inspect.Parameter.KEYWORD_ONLY}


# --- tenants ------------------------------------------------------------------------------------
@pytest.mark.django_db
def test_a_new_tenant_starts_with_its_default_environment() -> None:
    tenant = make_tenant("acme_prod", default_environment="staging")
    assert [row.name for row in Environment.objects.filter(tenant=tenant)] == ["staging"]
    assert AuditEvent.objects.filter(tenant_id="acme_prod").count() == 2


@pytest.mark.parametrize(
    "tenant_id", ["platform", "Acme", "a", "1acme", "acme prod", "acme\n", "a" * 65, ""]
)
@pytest.mark.django_db
def test_a_tenant_id_that_is_reserved_or_malformed_is_refused(tenant_id: str) -> None:
    with pytest.raises(ValidationError):
        services.create_tenant(tenant_id=tenant_id, name="X", actor=SYSTEM)


@pytest.mark.django_db
def test_the_reserved_tenant_is_refused_by_the_database_too() -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        Tenant.objects.create(tenant_id="platform", name="x")


def test_a_tenant_can_not_be_created_twice(acme: Tenant) -> None:
    with pytest.raises(ValidationError):
        services.create_tenant(tenant_id=acme.pk, name="Again", actor=SYSTEM)
    acme.refresh_from_db()
    assert acme.name == "Acme"


def test_a_tenants_own_actor_can_not_make_another_tenant(acme: Tenant) -> None:
    actor = Actor(kind="user", id="u", tenant_id=acme.pk, display="u")
    with pytest.raises(ContextOSError) as refused:
        services.create_tenant(tenant_id="globex_prod", name="Globex", actor=actor)
    assert refused.value.code == "tenant.forbidden"


def test_a_change_that_changes_nothing_is_not_recorded(acme: Tenant) -> None:
    before = AuditEvent.objects.count()
    services.update_tenant(
        tenant_id=acme.pk, name=acme.name, default_environment="development", actor=SYSTEM
    )
    services.set_tenant_active(tenant_id=acme.pk, active=True, actor=SYSTEM)
    assert AuditEvent.objects.count() == before


# --- the installation ---------------------------------------------------------------------------
@pytest.mark.django_db
def test_creating_a_superuser_is_recorded_for_the_installation() -> None:
    root = make_superuser()
    event = AuditEvent.objects.get(action="identity.user.superuser_created")
    assert (event.tenant_id, event.subject_id) == ("platform", root.user_id)


@pytest.mark.django_db
def test_no_superuser_without_a_record(settings: Any) -> None:
    settings.CONTEXTOS_EVENT_RECORDER = "tests.identity.recorders.failing"
    with pytest.raises(RuntimeError):
        make_superuser()
    assert not User.objects.exists()


@pytest.mark.django_db
def test_no_key_is_rotated_without_a_record(settings: Any, tmp_path: Any) -> None:
    settings.KEYS_DIR = tmp_path / "keys"
    settings.CONTEXTOS_EVENT_RECORDER = "tests.identity.recorders.failing"
    with pytest.raises(RuntimeError):
        services.rotate_key(purpose=KeyPurpose.TOKENS, actor=SYSTEM)
    assert not (tmp_path / "keys").exists()
