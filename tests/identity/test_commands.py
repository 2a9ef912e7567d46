"""`issue_token` and `rotate_keys` as a script uses them, and the public key set."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from contextos.core.modes import ApprovalMode
from contextos.core.tokens import key_set
from contextos.identity.durations import parse_duration
from contextos.identity.keyring import forget_cached_keys
from contextos.identity.models import Agent, IssuedToken, Tenant
from contextos.identity.tasks import clear_expired
from contextos.identity.token_verification import verify_bearer
from tests.factories import make_agent, make_member

pytestmark = pytest.mark.proves("C6")


@pytest.fixture(autouse=True)
def own_keys(settings: Any, tmp_path: Path) -> Iterator[None]:
    settings.KEYS_DIR = tmp_path / "keys"
    yield
    forget_cached_keys()


@pytest.fixture
def agent(acme: Tenant) -> Agent:
    return make_agent(acme, "refunds", max_mode="destructive")


def run(*arguments: str) -> tuple[str, str]:
    out, err = StringIO(), StringIO()
    call_command("issue_token", *arguments, stdout=out, stderr=err)
    return out.getvalue(), err.getvalue()


def test_the_token_stands_alone_on_the_first_line(agent: Agent) -> None:
    out, err = run("--agent", "refunds", "--tenant", "acme_prod")
    token = out.splitlines()[0]
    assert out == f"{token}\n"
    assert verify_bearer(token).id == "refunds"
    assert IssuedToken.objects.get().token_id in err
    assert token not in err


def test_terms_are_taken_from_the_options(agent: Agent) -> None:
    out, _ = run(
        *("--agent", "refunds", "--tenant", "acme_prod", "--ttl", "15m"),
        *("--scopes", "payments.issue_refund, orders.lookup", "--max-mode", "network"),
    )
    principal = verify_bearer(out.strip())
    assert principal.scopes == frozenset({"payments.issue_refund", "orders.lookup"})
    assert principal.max_mode is ApprovalMode.NETWORK
    row = IssuedToken.objects.get()
    assert row.expires_at - row.issued_at == timedelta(minutes=15)


def test_a_person_is_named_by_user_name_or_id(acme: Tenant) -> None:
    user = make_member(acme, "finance_approver", username="fin1")
    for name in ("fin1", user.user_id):
        out, _ = run("--user", name, "--tenant", "acme_prod")
        assert verify_bearer(out.strip()).id == user.user_id


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--agent", "nobody"], "no agent nobody"),
        (["--user", "nobody"], "no person called nobody"),
        (["--adapter", "adp_x"], "External adapters are not available"),
        (["--agent", "refunds", "--ttl", "31d"], "lifetime"),
        (["--agent", "refunds", "--ttl", "soon"], "duration"),
        (["--agent", "refunds", "--scopes", "payments.*"], "wildcards"),
        (["--agent", "refunds", "--user", "x"], "not allowed with"),
        ([], "required"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_can_not_be_issued_is_one_line_and_no_token(
    agent: Agent, arguments: list[str], said: str
) -> None:
    with pytest.raises(CommandError, match=said) as refused:
        run(*arguments, "--tenant", "acme_prod")
    assert "\n" not in str(refused.value)
    assert not IssuedToken.objects.exists()


def test_another_tenants_agent_is_not_found(agent: Agent, globex: Tenant) -> None:
    with pytest.raises(CommandError, match="no agent"):
        run("--agent", "refunds", "--tenant", "globex_prod")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("90", 90), ("90s", 90), ("15m", 900), ("1h", 3600), ("7d", 604800), (" 1h ", 3600)],
)
def test_durations_are_read_as_people_write_them(text: str, seconds: int) -> None:
    assert parse_duration(text) == timedelta(seconds=seconds)


@pytest.mark.parametrize("text", ["", "h", "1w", "-1h", "1.5h", "1h30m", "٣h", "9" * 20])
def test_other_durations_are_refused(text: str) -> None:
    with pytest.raises(ValueError, match="duration"):
        parse_duration(text)


def test_rotating_keeps_old_tokens_alive(agent: Agent) -> None:
    old, _ = run("--agent", "refunds", "--tenant", "acme_prod")
    out = StringIO()
    call_command("rotate_keys", "--purpose", "tokens", stdout=out)
    new, _ = run("--agent", "refunds", "--tenant", "acme_prod")
    assert "signs from now on" in out.getvalue()
    assert verify_bearer(old.strip()).token_id != verify_bearer(new.strip()).token_id
    kids = {row.kid for row in IssuedToken.objects.all()}
    assert len(kids) == 2
    published = Client().get("/.well-known/jwks.json").json()
    assert kids <= {key["kid"] for key in published["keys"]}


@pytest.mark.django_db
def test_the_key_set_is_public_cacheable_and_holds_no_secret(agent: Agent) -> None:
    run("--agent", "refunds", "--tenant", "acme_prod")
    answer = Client().get("/.well-known/jwks.json")
    assert answer.status_code == 200
    assert answer["Cache-Control"] == "public, max-age=300"
    assert answer["Content-Type"] == "application/jwk-set+json"
    assert all("d" not in key for key in answer.json()["keys"])
    assert key_set(answer.json())
    assert Client().post("/.well-known/jwks.json").status_code == 405


@pytest.mark.django_db
def test_expired_sessions_are_cleared(client: Client) -> None:
    from datetime import UTC, datetime

    from django.contrib.sessions.models import Session

    Session.objects.create(
        session_key="old", session_data="", expire_date=datetime(2020, 1, 1, tzinfo=UTC)
    )
    clear_expired()
    assert not Session.objects.exists()
