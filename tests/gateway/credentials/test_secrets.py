"""Secrets at rest: sealed for one place, sealed again under a new key, and nowhere else."""

from __future__ import annotations

import io
import logging
from datetime import timedelta
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command
from django.db import connection
from django.db.models import BinaryField

from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.core.fieldcrypt import generate_key
from contextos.identity.models import Tenant
from contextos.identity.resealing import sealed_columns
from gateway.consents.trips import redirect_uri
from gateway.credentials.broker import credential_for
from gateway.credentials.keeping import open_previous, open_secret
from gateway.credentials.services import rotate_credential
from gateway.models import AdapterCredential, Consent, ToolCall
from gateway.worker import work_on
from tests.factories import SYSTEM, make_tenant
from tests.gateway.credentials.certificates import Authority
from tests.gateway.credentials.oauth_server import AuthorizationServer
from tests.gateway.credentials.rows import make_ask, make_consent, make_credential, oauth
from tests.gateway.credentials.test_consents import page_of, travel
from tests.gateway.credentials.world import LedgerWorld

pytestmark = [pytest.mark.django_db, pytest.mark.proves("C7")]
CANARY = "canary7f3e"


def test_a_ciphertext_moved_to_another_row_does_not_open() -> None:
    mine, other = make_credential(make_tenant()), make_credential(make_tenant())
    other.sealed_secret = mine.sealed_secret
    with pytest.raises(ContextOSError, match=r"credential\.unreadable"):
        open_secret(other)


def test_a_new_field_key_takes_over_every_stored_secret(settings: Any) -> None:
    tenant = make_tenant()
    row = make_credential(tenant, secret="first")
    rotate_credential(
        credential_id=row.pk, secret="second", actor=SYSTEM, overlap=timedelta(hours=1)
    )
    consent = make_consent(make_tenant(), "marker")
    old = settings.FIELD_KEYS
    settings.FIELD_KEYS = (generate_key(), *old)
    said = io.StringIO()
    call_command("rotate_keys", "--purpose", "fields", stdout=said)
    assert "gateway.AdapterCredential.sealed_previous: 1" in said.getvalue()
    settings.FIELD_KEYS = settings.FIELD_KEYS[:1]  # the old key is gone
    row.refresh_from_db()
    consent.refresh_from_db()

    assert (open_secret(row), open_previous(row, utcnow())) == ("second", "first")
    assert consent.sealed_tokens
    again = io.StringIO()
    call_command("rotate_keys", "--purpose", "fields", stdout=again)
    assert "sealed_previous: 0" in again.getvalue()


def test_every_encrypted_column_is_sealed_again() -> None:
    declared = {column.label for column in sealed_columns()}
    kept = {
        f"{model._meta.label}.{field.name}"
        for model in apps.get_models()
        for field in model._meta.concrete_fields
        if isinstance(field, BinaryField) and ("sealed" in field.name or field.name == "secret")
    }
    assert kept <= declared
    assert "audit.Payload.sealed" in kept


# --- planted -------------------------------------------------------------------------------------
def everything_stored(but: type[Any]) -> str:
    """Every row of every table except the one that may hold it, encrypted."""
    dump: list[str] = []
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            if table == but._meta.db_table:
                continue
            cursor.execute(f'SELECT * FROM "{table}"')
            dump += [_text(row) for row in cursor.fetchall()]
    return "\n".join(dump)


def _text(row: tuple[Any, ...]) -> str:
    values = [bytes(v) if isinstance(v, memoryview | bytes) else v for v in row]
    return " ".join(v.decode("latin-1") if isinstance(v, bytes) else str(v) for v in values)


def planted(tenant: Tenant, server: AuthorizationServer, kind: str) -> tuple[str, ...]:
    """A credential of the kind whose secret can be told from anything else."""
    if kind == "mtls":
        pem = Authority.new().certificate("contextos").bundle
        make_credential(tenant, kind, secret=pem)
        key = pem.split("PRIVATE KEY-----")[1]
        return tuple(line for line in key.splitlines() if len(line) > 40)
    secret = f"{CANARY}-{kind}"
    server.secrets = {secret}
    extra = oauth(server) if kind not in ("api_key", "bearer") else {}
    if kind == "api_key":
        extra = {"header_name": "X-Ledger-Key"}
    make_credential(tenant, kind, secret=secret, **extra)
    return (secret,)


@pytest.mark.live
@pytest.mark.parametrize(
    "kind",
    ["client_credentials", "token_exchange", "authorization_code", "api_key", "bearer", "mtls"],
)
def test_a_planted_secret_appears_nowhere(
    world: LedgerWorld,
    server: AuthorizationServer,
    caplog: pytest.LogCaptureFixture,
    capsys: pytest.CaptureFixture[str],
    kind: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    server.redirect_uris = {redirect_uri()}
    secrets = planted(world.tenant, server, kind)
    answers = [world.call(), world.call("ledger.write")]
    if kind == "authorization_code":
        travel(world.browser(), server, page_of(answers[0]))
    for call in ToolCall.objects.filter(state="queued"):
        work_on(call.pk)
    answers += [world.call(args={"entry": "again"})]
    tokens = [*server.tokens, *server.refresh_tokens, *_passed_on_the_way(server, world)]
    admin = world.browser(world.gateway.house.user("admin"))
    row = AdapterCredential.objects.get()
    pages = [
        admin.get(address).content.decode()
        for address in (
            "/admin/gateway/adaptercredential/",
            f"/admin/gateway/adaptercredential/{row.pk}/change/",
            f"/admin/gateway/adaptercredential/{row.pk}/rotate/",
            "/admin/gateway/consent/",
            f"/admin/gateway/toolcall/{answers[0].json()['tool_call_id']}/change/",
            "/admin/audit/auditevent/",
        )
    ]
    shown = [answer.content.decode() for answer in answers]
    shown += [str(world.rows(answer)) for answer in answers]
    out = capsys.readouterr()
    places = [
        *pages,
        *shown,
        everything_stored(but=AdapterCredential),
        _text(tuple(AdapterCredential.objects.values_list().get())),
        "".join(_text(values) for values in Consent.objects.values_list()),
        caplog.text,
        out.out,
        out.err,
        repr(row),
    ]
    for secret in (*secrets, *tokens):
        assert not any(secret in place for place in places)


def _passed_on_the_way(server: AuthorizationServer, world: LedgerWorld) -> list[str]:
    """What else would serve whoever read it: codes and their verifiers, and what we sign."""
    names = ("subject_token", "actor_token", "code", "code_verifier")
    forms = [form[name] for form in server.asked for name in names if name in form]
    return forms + [seen["x-contextos-metadata"] for seen in world.ledger.seen]


def test_an_opened_secret_hides_in_its_repr(server: AuthorizationServer) -> None:
    tenant = make_tenant()
    make_credential(tenant, "bearer", secret=CANARY)
    assert CANARY not in repr(credential_for(make_ask(tenant)))
