"""A call that needs a person's consent: asked, travelled for, refused when anything is off."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from django.test import Client

from audit.models import AuditEvent
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from gateway.consents.services import revoke_consent
from gateway.consents.trips import redirect_uri
from gateway.credentials.services import revoke_credential
from gateway.credentials.tokens import token_cache
from gateway.models import AdapterCredential, Consent, ConsentRequest, ToolCall
from gateway.sweep import sweep_calls
from gateway.worker import work_on
from registry.services.kill_switches import throw_switch
from tests.factories import SYSTEM
from tests.gateway.credentials.oauth_server import AuthorizationServer
from tests.gateway.credentials.rows import RESOURCE, make_credential, oauth
from tests.gateway.credentials.world import LedgerWorld

pytestmark = [pytest.mark.django_db, pytest.mark.proves("C7")]


@pytest.fixture
def credential(world: LedgerWorld, server: AuthorizationServer) -> AdapterCredential:
    server.redirect_uris = {redirect_uri()}
    return make_credential(world.tenant, "authorization_code", **oauth(server))


def page_of(answer: Any) -> str:
    return str(urlsplit(answer.json()["error"]["details"]["consent_url"]).path)


def onward(browser: Client, page: str) -> str:
    """Where the page sends the browser after a yes."""
    left = browser.post(page, {"continue": "1"})
    assert left.status_code == 200, left.content
    return str(left.context["onward"])


def way_back(server: AuthorizationServer, address: str) -> str:
    """What the server answers to that browser."""
    query = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    back = urlsplit(server.authorize(query))
    return f"{back.path}?{back.query}"


def travel(browser: Client, server: AuthorizationServer, page: str) -> Any:
    return browser.get(way_back(server, onward(browser, page)))


@pytest.fixture
def paused(world: LedgerWorld, credential: AdapterCredential) -> Any:
    answer = world.call()
    assert answer.status_code == 202, answer.content
    return answer


def test_a_call_without_consent_waits_and_says_where_to_go(world: LedgerWorld, paused: Any) -> None:
    body = paused.json()
    assert (body["status"], body["error"]["kind"]) == ("paused", "scope_step_up")
    assert paused.headers["Location"].endswith(body["tool_call_id"])
    assert body["error"]["details"]["scopes"] == ["read"]
    assert [row["status"] for row in world.rows(paused)] == ["APPROVED", "ESCALATED"]
    assert world.ledger.seen == []
    assert world.state_of(paused)["error"]["code"] == "credential.consent_needed"


def test_the_person_finds_it_on_their_front_page_and_on_the_call(
    world: LedgerWorld, paused: Any
) -> None:
    mine = world.browser().get("/admin/").content.decode()
    assert page_of(paused) in mine
    others = world.browser(world.gateway.house.user("admin"))
    assert page_of(paused) not in others.get("/admin/").content.decode()
    call_page = f"/admin/gateway/toolcall/{paused.json()['tool_call_id']}/change/"
    assert "for the person&#x27;s consent" in others.get(call_page).content.decode()


def test_the_page_shows_client_scopes_redirect_and_risk(world: LedgerWorld, paused: Any) -> None:
    shown = world.browser().get(page_of(paused)).content.decode()
    for words in ("contextos client", "read", redirect_uri(), "read only", "ledger.read"):
        assert words in shown
    assert "waiting for you" in shown
    assert "e1" not in shown.split("<main")[-1].replace("e1ement", "")


def test_after_consent_the_call_goes_on_with_the_persons_token(
    world: LedgerWorld, server: AuthorizationServer, paused: Any
) -> None:
    browser = world.browser()
    address = onward(browser, page_of(paused))
    asked = {name: values[0] for name, values in parse_qs(urlsplit(address).query).items()}
    assert (asked["code_challenge_method"], asked["resource"]) == ("S256", RESOURCE)
    assert asked["redirect_uri"] == redirect_uri()
    back = browser.get(way_back(server, address))
    assert back.status_code == 302, back.content
    assert world.state_of(paused)["status"] == "deferred"
    work_on(paused.json()["tool_call_id"])
    assert world.state_of(paused)["status"] == "ok"
    statuses = [row["status"] for row in world.rows(paused)]
    assert statuses == ["APPROVED", "ESCALATED", "APPROVED", "EXECUTED"]
    assert world.rows(paused)[-1]["credentials"]["scopes_granted"] == ["read"]
    assert AuditEvent.objects.filter(action="consent.granted").count() == 1
    # The next call of the same person needs no question, and another process reads the same row.
    token_cache().clear()
    assert world.call(args={"entry": "e2"}).json()["status"] == "ok"


def test_a_step_up_asks_for_the_write_and_reads_keep_their_narrow_token(
    world: LedgerWorld, server: AuthorizationServer, paused: Any
) -> None:
    travel(world.browser(), server, page_of(paused))
    written = world.call("ledger.write")
    work_on(written.json()["tool_call_id"])
    waiting = world.state_of(written)
    assert waiting["error"]["details"]["scopes"] == ["read", "write"]
    page = urlsplit(waiting["error"]["details"]["consent_url"]).path
    travel(world.browser(), server, page)
    work_on(written.json()["tool_call_id"])
    assert world.state_of(written)["status"] == "ok"
    read = world.call(args={"entry": "e3"})
    assert world.rows(read)[-1]["credentials"]["scopes_granted"] == ["read"]
    assert Consent.objects.get(revoked_at__isnull=True).scopes == ["read", "write"]


def test_one_answer_lets_all_calls_go_on_that_wait_for_no_more(
    world: LedgerWorld, server: AuthorizationServer, paused: Any
) -> None:
    second = world.call(args={"entry": "e2"})
    travel(world.browser(), server, page_of(paused))
    assert {world.state_of(one)["status"] for one in (paused, second)} == {"deferred"}


def test_of_a_server_that_grants_more_the_consent_covers_what_the_page_showed(
    world: LedgerWorld, server: AuthorizationServer, paused: Any
) -> None:
    server.answers = {"scope": "read write"}
    travel(world.browser(), server, page_of(paused))
    assert Consent.objects.get().scopes == ["read"]
    written = world.call("ledger.write")
    work_on(written.json()["tool_call_id"])
    assert world.state_of(written)["error"]["details"]["scopes"] == ["read", "write"]


def test_a_server_is_not_asked_for_scopes_where_the_manifest_names_none(
    world: LedgerWorld, server: AuthorizationServer, paused: Any
) -> None:
    ConsentRequest.objects.update(scopes=[])
    address = onward(world.browser(), page_of(paused))
    assert "scope" not in parse_qs(urlsplit(address).query, keep_blank_values=True)


def test_a_token_that_is_to_last_for_ever_is_kept_for_as_long_as_dates_go(
    world: LedgerWorld, server: AuthorizationServer, paused: Any
) -> None:
    server.lifetime = 10**15
    assert travel(world.browser(), server, page_of(paused)).status_code == 302
    work_on(paused.json()["tool_call_id"])
    assert world.state_of(paused)["status"] == "ok"


# --- everything that must not work ---------------------------------------------------------------
def refused_code(answer: Any) -> str:
    assert answer.status_code in (403, 409, 502), answer.content
    return str(answer.context["refusal"].code)


def test_a_state_is_good_once(world: LedgerWorld, server: AuthorizationServer, paused: Any) -> None:
    browser = world.browser()
    back = way_back(server, onward(browser, page_of(paused)))
    browser.get(back)
    assert refused_code(browser.get(back)) == "consent.state_used"


def test_a_state_of_another_person_or_browser_is_nobodys(
    world: LedgerWorld, server: AuthorizationServer, paused: Any
) -> None:
    mine = world.browser()
    back = way_back(server, onward(mine, page_of(paused)))
    other = world.browser(world.gateway.house.user("admin"))
    assert other.get(page_of(paused)).status_code == 404
    assert refused_code(other.get(back)) == "consent.state_unknown"
    assert refused_code(world.browser().get(back)) == "consent.state_unknown"
    assert refused_code(mine.get("/admin/consent/back?code=x")) == "consent.state_unknown"
    assert Client().get(back).status_code == 302  # to the sign-in page
    assert mine.get(back).status_code == 302
    assert Consent.objects.count() == 1


def test_a_state_is_its_persons_alone_even_with_the_mark_of_their_browser(
    world: LedgerWorld, server: AuthorizationServer, paused: Any
) -> None:
    mine = world.browser()
    back = way_back(server, onward(mine, page_of(paused)))
    other = world.browser(world.gateway.house.user("admin"))
    other.get("/admin/consent/back")  # gives it a mark of its own
    session = other.session
    session["consent_browser"] = mine.session["consent_browser"]
    session.save()
    assert refused_code(other.get(back)) == "consent.state_unknown"
    assert server.asked == []


def test_of_two_who_bring_the_same_answer_at_once_one_is_too_late(
    world: LedgerWorld, server: AuthorizationServer, paused: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    browser = world.browser()
    back = way_back(server, onward(browser, page_of(paused)))

    def while_another_uses_it() -> Any:
        ConsentRequest.objects.update(trip_used_at=utcnow())
        return utcnow()

    monkeypatch.setattr("gateway.consents.trips.utcnow", while_another_uses_it)
    assert refused_code(browser.get(back)) == "consent.state_used"
    assert server.asked == []


def test_beginning_again_makes_the_trip_before_worthless(
    world: LedgerWorld, server: AuthorizationServer, paused: Any
) -> None:
    browser = world.browser()
    first = way_back(server, onward(browser, page_of(paused)))
    onward(browser, page_of(paused))
    assert refused_code(browser.get(first)) == "consent.state_unknown"


def test_a_stale_answer_is_refused(
    world: LedgerWorld, server: AuthorizationServer, paused: Any
) -> None:
    browser = world.browser()
    back = way_back(server, onward(browser, page_of(paused)))
    ConsentRequest.objects.update(trip_ends_at=utcnow() - timedelta(seconds=1))
    assert refused_code(browser.get(back)) == "consent.state_stale"
    assert Consent.objects.count() == 0


@pytest.mark.parametrize("issuer", ["https://evil.example.com", None])
def test_an_answer_of_another_issuer_is_refused_before_the_code_is_used(
    world: LedgerWorld, server: AuthorizationServer, paused: Any, issuer: str | None
) -> None:
    server.sends_issuer = issuer
    answer = travel(world.browser(), server, page_of(paused))
    assert refused_code(answer) == "consent.wrong_issuer"
    assert server.asked == []


def test_a_forged_code_buys_nothing(
    world: LedgerWorld, server: AuthorizationServer, paused: Any
) -> None:
    browser = world.browser()
    back = way_back(server, onward(browser, page_of(paused)))
    code = parse_qs(urlsplit(back).query)["code"][0]
    assert refused_code(browser.get(back.replace(code, "stolen"))) == "credential.grant_refused"
    assert world.state_of(paused)["status"] == "paused"


@pytest.mark.parametrize("where", ["here", "there"])
def test_a_no_ends_the_call_and_says_so(
    world: LedgerWorld, server: AuthorizationServer, paused: Any, where: str
) -> None:
    browser, page = world.browser(), page_of(paused)
    if where == "here":
        assert browser.post(page, {"decline": "1"}).status_code == 302
    else:
        server.declines = True
        travel(browser, server, page)
    ended = world.state_of(paused)
    assert (ended["status"], ended["error"]["code"]) == ("rejected", "consent.declined")
    assert world.rows(paused)[-1]["status"] == "REJECTED"
    assert AuditEvent.objects.filter(action="consent.declined").count() == 1
    assert browser.post(page, {"continue": "1"}).status_code == 409


def test_nobody_who_answers_in_time_ends_the_call(world: LedgerWorld, paused: Any) -> None:
    ConsentRequest.objects.update(expires_at=utcnow() - timedelta(seconds=1))
    sweep_calls()
    assert world.state_of(paused)["error"]["code"] == "consent.expired"
    assert world.rows(paused)[-1]["status"] == "EXPIRED"


def test_what_was_stopped_meanwhile_does_not_go_on(
    world: LedgerWorld, server: AuthorizationServer, paused: Any
) -> None:
    throw_switch(
        tenant_id=world.tenant.pk,
        scope="capability",
        target_id="ledger.read",
        reason="incident",
        actor=SYSTEM,
    )
    travel(world.browser(), server, page_of(paused))
    ended = world.state_of(paused)
    assert (ended["status"], ended["error"]["code"]) == ("rejected", "consent.voided")
    assert world.ledger.seen == []


def test_nobody_is_asked_for_a_client_that_was_revoked(
    world: LedgerWorld, server: AuthorizationServer, paused: Any
) -> None:
    browser = world.browser()
    back = way_back(server, onward(browser, page_of(paused)))
    revoke_credential(
        credential_id=AdapterCredential.objects.get().pk, actor=SYSTEM, reason="leaked"
    )
    assert refused_code(browser.get(back)) == "consent.not_waiting"
    assert server.asked == []
    assert "Continue to" not in browser.get(page_of(paused)).content.decode()
    make_credential(world.tenant, "client_credentials", **oauth(server))
    sweep_calls()
    work_on(paused.json()["tool_call_id"])
    assert world.state_of(paused)["status"] == "ok"  # by what its adapter has today


def test_a_cancelled_call_waits_for_nobody(world: LedgerWorld, paused: Any) -> None:
    call_id = paused.json()["tool_call_id"]
    world.gateway.post(
        f"/api/v1/tool-calls/{call_id}/cancel",
        {"reason": "not needed"},
        delegation=world.delegation,
    )
    sweep_calls()
    assert ConsentRequest.objects.get().state == "withdrawn"
    shown = world.browser().get(page_of(paused)).content.decode()
    assert "Continue to" not in shown


def test_an_agent_without_a_person_is_told_to_bring_one(
    world: LedgerWorld, credential: AdapterCredential
) -> None:
    run = world.gateway.open_run(environment="development")
    body = {"run_id": run["run_id"], "capability_id": "ledger.read", "args": {"entry": "e1"}}
    answer = world.gateway.post("/api/v1/tool-calls", body)
    assert answer.json()["error"]["code"] == "credential.person_needed"


# --- afterwards ----------------------------------------------------------------------------------
@pytest.fixture
def consent(world: LedgerWorld, server: AuthorizationServer, paused: Any) -> Consent:
    travel(world.browser(), server, page_of(paused))
    work_on(paused.json()["tool_call_id"])
    return Consent.objects.get()


def test_a_token_that_ended_is_renewed_and_the_new_refresh_token_kept(
    world: LedgerWorld, server: AuthorizationServer, consent: Consent
) -> None:
    for number in range(2):
        token_cache().clear()
        server.tokens.clear()  # the far side refuses the token that is kept
        assert world.call(args={"entry": f"n{number}"}).json()["status"] == "ok"
    consent.refresh_from_db()
    assert consent.token_version == 3
    assert len(server.refresh_tokens) == 1


def test_a_consent_the_server_forgot_is_asked_for_again(
    world: LedgerWorld, server: AuthorizationServer, consent: Consent
) -> None:
    server.refresh_tokens.clear()
    server.tokens.clear()
    assert world.call(args={"entry": "e9"}).status_code == 202
    assert AuditEvent.objects.filter(action="consent.lost").count() == 1


def test_what_was_granted_before_is_asked_for_again_with_the_new(
    world: LedgerWorld, server: AuthorizationServer, consent: Consent
) -> None:
    Consent.objects.update(scopes=["openid"])
    assert world.call(args={"entry": "e9"}).json()["error"]["details"]["scopes"] == [
        "openid",
        "read",
    ]


def test_a_consent_ends_with_its_client(
    world: LedgerWorld, server: AuthorizationServer, consent: Consent
) -> None:
    revoke_credential(credential_id=consent.credential_id, actor=SYSTEM, reason="leaked")
    consent.refresh_from_db()
    assert consent.revoked_at is not None
    assert bytes(consent.sealed_tokens) == b""
    assert AuditEvent.objects.filter(action="consent.revoked").count() == 1


def test_a_consent_taken_back_is_over_here_and_there(
    world: LedgerWorld, server: AuthorizationServer, consent: Consent
) -> None:
    (refresh_token,) = server.refresh_tokens
    revoke_consent(consent_id=consent.pk, actor=SYSTEM, reason="left the team")
    assert server.revoked == [refresh_token]
    assert world.call(args={"entry": "e9"}).status_code == 202
    with pytest.raises(ContextOSError, match=r"consent\.already_revoked"):
        revoke_consent(consent_id=consent.pk, actor=SYSTEM, reason="again")
    assert ToolCall.objects.filter(state="paused").count() == 1
