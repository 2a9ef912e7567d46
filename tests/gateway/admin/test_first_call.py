"""The first-call page: leads a platform admin from an empty tenant to an agent's first answer."""

from __future__ import annotations

import html
import re
from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from audit.models import AuditEvent
from contextos.identity.models import Agent, IssuedToken
from contextos.identity.services import add_environment
from gateway.models import Run, ToolCall
from registry.models import Capability, ContextPackVersion, PolicyBundleVersion
from tests.factories import SYSTEM, make_agent, make_agent_token, make_superuser, make_tenant
from tests.gateway.admin.visits import EVERYBODY, READERS, looked_up, page, visitor
from tests.gateway.world import GatewayWorld
from tests.identity.signed_in import browser_of
from tests.registry.house import House
from tests.registry.manifests import orders
from tests.registry.walks import pack_walk, policy_walk

PAGE = page("first_call")
AGENT = {
    "do": "agent",
    "agent-agent_id": "agt_first",
    "agent-name": "First agent",
    "agent-role": "helper",
}


@pytest.fixture
def bare(db: None, function_runner: None, house: House) -> House:
    """A tenant with people and an environment, and nothing else."""
    add_environment(tenant_id=house.tenant_id, name="production", actor=SYSTEM)
    house.user("reviewer")
    return house


def _admin(house: House) -> Client:
    return browser_of(house.user("admin"), house.tenant)


def _states(answer: Any) -> dict[str, str]:
    return {step.key: step.state for step in answer.context["steps"]}


def _words(answer: Any) -> str:
    return html.unescape(answer.content.decode())


def _registered(house: House, browser: Client) -> Agent:
    answer = browser.post(PAGE, {**AGENT, "agent-owner": house.user("admin").pk})
    assert answer.status_code == 302, _words(answer)
    return Agent.objects.get(tenant=house.tenant)


def _walk(walk: Any, version: Any) -> None:
    walk.submit(version, by="admin")
    walk.approve(walk.model.objects.get(pk=version.pk), by="reviewer")
    walk.publish(version, by="admin")


# --- the whole way --------------------------------------------------------------------------------
@pytest.mark.proves("C1")
def test_a_platform_admin_comes_from_an_empty_tenant_to_the_first_answer(bare: House) -> None:
    browser = _admin(bare)
    empty = browser.get(PAGE)
    assert _states(empty) == {
        "tenant": "done",
        "agent": "next",
        "token": "blocked",
        "adapter": "open",
        "pack": "blocked",
        "call": "blocked",
    }
    assert "No published adapter offers a read here yet" in _words(empty)

    agent = _registered(bare, browser)
    assert (agent.max_mode, agent.owner) == ("read_only", bare.user("admin"))
    issued = browser.post(PAGE, {"do": "token", "token-lifetime": "1h"})
    assert _states(issued)["token"] == "done"
    bare.published(orders())
    for name in ("policy", "pack"):
        sent = {"do": name, "pack-pack_id": "first_call", "pack-intent": "first.call"}
        assert browser.post(PAGE, sent).status_code == 302
    drafted = _words(browser.get(PAGE))
    assert "reads it over and submits it" in drafted
    assert "Make the call" not in drafted
    _walk(policy_walk(bare), PolicyBundleVersion.objects.get(tenant=bare.tenant))
    _walk(pack_walk(bare), ContextPackVersion.objects.get(tenant=bare.tenant))

    ready = browser.get(PAGE)
    assert _states(ready)["call"] == "next"
    made = browser.post(PAGE, {"do": "call", "arg-m0": "ord_0001"}, follow=True)
    assert set(_states(made).values()) == {"done"}
    shown = _words(made)
    assert "The call came back" in shown
    assert "allow_orders_lookup" in shown
    assert '"order_id": "ord_0001"' in shown
    call = ToolCall.objects.get(tenant_id=bare.tenant_id)
    assert page("toolcall_change", call.pk) in shown
    assert (call.agent_id, call.state) == ("agt_first", "ok")


@pytest.mark.proves("B10")
def test_what_the_page_drafts_waits_for_somebody_who_did_not_write_it(bare: House) -> None:
    browser = _admin(bare)
    _registered(bare, browser)
    bare.published(orders())
    browser.post(PAGE, {"do": "pack", "pack-pack_id": "first_call", "pack-intent": "first.call"})
    assert "Draft another pack" in _words(browser.get(PAGE))
    assert "Draft another policy" not in _words(browser.get(PAGE))
    draft = ContextPackVersion.objects.get(tenant=bare.tenant)
    assert (draft.state, draft.block_count, draft.warn_count) == ("draft", 0, 0)
    assert draft.author == bare.user("admin")
    pack_walk(bare).submit(draft, by="admin")
    shown = browser.get(PAGE)
    (errand,) = next(step for step in shown.context["steps"] if step.key == "pack").errands
    assert str(bare.user("reviewer")) in errand.words
    assert str(bare.user("admin")) not in errand.words
    assert errand.link.url.endswith("/review/")
    assert browser.post(PAGE, {"do": "call", "arg-m0": "ord_0001"}).status_code == 409


# --- the token ------------------------------------------------------------------------------------
@pytest.mark.proves("C7")
def test_an_issued_token_works_and_stands_in_one_answer_only(world: GatewayWorld) -> None:
    agent, browser = world.agent, visitor(world, "admin")
    answer = browser.post(PAGE, {"do": "token", "token-lifetime": "15m"})
    token = "".join(answer.context["token_parts"])
    assert world.get("/api/v1/runs/run_0", token=token).status_code == 404  # let in
    assert "no-store" in answer.headers["Cache-Control"]
    assert "Bearer $TOKEN" in _words(answer)
    assert token[-40:] not in browser.get(PAGE, {"agent": agent.agent_id}).text
    assert not AuditEvent.objects.filter(text__contains=token[-40:]).exists()


@pytest.mark.proves("C7")
def test_the_call_is_made_with_a_narrow_token_that_is_revoked_at_once(world: GatewayWorld) -> None:
    make_agent_token(world.agent)
    browser = visitor(world, "admin")
    browser.post(PAGE, {"do": "call", "arg-m0": "ord_0001"})
    token = IssuedToken.objects.filter(tenant=world.house.tenant).latest("issued_at", "token_id")
    run = Run.objects.get(tenant_id=world.tenant_id)
    assert (token.scopes, token.max_mode, token.state) == (
        ["orders.lookup"],
        "read_only",
        "revoked",
    )
    assert run.run_id in token.revoke_reason
    assert token.issued_by == token.revoked_by == world.house.user("admin").user_id
    assert run.safety_mode == "read_only"


# --- failures -------------------------------------------------------------------------------------
@pytest.mark.proves("C13")
def test_a_refused_call_says_why_and_what_would_allow_it(world: GatewayWorld) -> None:
    make_agent_token(world.agent)
    browser = visitor(world, "admin")
    shown = browser.post(PAGE, {"do": "call", "arg-m0": "nonsense"}, follow=True)
    assert "The arguments do not fit the capability's input schema." in _words(shown)
    assert "What would allow it" in _words(shown)
    assert _states(shown)["call"] == "next"
    assert not IssuedToken.objects.usable().filter(scopes__isnull=False).exists()


def test_arguments_are_asked_for_as_the_schema_has_them(world: GatewayWorld) -> None:
    world.agent  # noqa: B018  made on first use
    shown = visitor(world, "admin").get(PAGE)
    field = shown.context["forms"]["call"].fields["m0"]
    assert (field.label, field.required) == ("order_id", True)
    assert "ord_[0-9]{4}" in field.help_text
    refused = visitor(world, "admin").post(PAGE, {"do": "call", "arg-m0": ""})
    assert refused.status_code == 422
    assert not Run.objects.exists()


def test_a_tenant_of_one_is_told_that_nobody_approves_their_own_work(db: None) -> None:
    house = House()
    shown = browser_of(house.user("admin"), house.tenant).get(PAGE)
    assert _states(shown)["tenant"] == "next"
    assert "Nobody approves what they wrote" in _words(shown)


def test_a_tenant_without_people_is_told_that_an_agent_needs_an_owner(db: None) -> None:
    tenant, runner = make_tenant(), make_superuser()
    shown = browser_of(runner, tenant).get(PAGE)
    assert _states(shown)["agent"] == "blocked"
    assert reverse("admin:identity_user_add") in shown.text
    assert "agent" not in shown.context["forms"]


def test_an_id_that_is_taken_is_said_at_the_form(bare: House) -> None:
    browser = _admin(bare)
    _registered(bare, browser)
    again = browser.post(PAGE, {**AGENT, "agent-owner": bare.user("admin").pk})
    assert again.status_code == 422
    assert Agent.objects.filter(tenant=bare.tenant).count() == 1


# --- walls ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("name", EVERYBODY)
def test_only_platform_admins_act_and_readers_see(world: GatewayWorld, name: str) -> None:
    world.agent  # noqa: B018  made on first use
    browser = visitor(world, name)
    seen = browser.get(PAGE)
    assert (seen.status_code == 200) is (name in READERS)
    if seen.status_code == 200:
        assert bool(re.search(r'name="do"', seen.text)) is (name == "admin")
    for step in ("agent", "token", "pack", "policy", "call"):
        code = browser.post(PAGE, {"do": step, "token-lifetime": "1h"}).status_code
        assert (code in (302, 403)) if name != "admin" else code in (200, 302, 422)
    assert IssuedToken.objects.filter(kind="agent").exists() is (name == "admin")


@pytest.mark.proves("C6")
def test_nothing_of_another_tenant_is_seen_or_used(
    world: GatewayWorld, elsewhere: GatewayWorld
) -> None:
    theirs = make_agent(elsewhere.house.tenant, role="support_agent", name="Their agent")
    read = Capability.objects.get(tenant_id=elsewhere.tenant_id, capability_id="orders.lookup")
    their_call = looked_up(elsewhere)
    picked = {
        "agent": theirs.agent_id,
        "capability": str(read.pk),
        "decision": their_call.decision_id,
    }
    browser = visitor(world, "admin")
    shown = browser.get(PAGE, picked)
    assert "Their agent" not in _words(shown)
    assert shown.context["made"] is None
    assert shown.context["progress"].call is None
    assert shown.context["progress"].capability.tenant_id == world.tenant_id
    answer = browser.post(
        f"{PAGE}?agent={theirs.agent_id}", {"do": "token", "token-lifetime": "1h"}
    )
    assert answer.status_code == 409  # this tenant has no agent, so there is no token to issue
    owner = elsewhere.house.user("admin").pk
    assert browser.post(PAGE, {**AGENT, "agent-owner": owner}).status_code == 422
    assert not IssuedToken.objects.filter(subject=theirs.agent_id, issued_by__gt="").exclude(
        tenant_id=elsewhere.tenant_id
    )


def test_a_post_without_the_csrf_token_is_refused(world: GatewayWorld) -> None:
    signed_in = visitor(world, "admin")
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in.cookies
    assert strict.post(PAGE, {"do": "policy"}).status_code == 403


# --- the front page -------------------------------------------------------------------------------
def test_the_front_page_leads_here_until_a_call_came_back(world: GatewayWorld) -> None:
    browser = visitor(world, "admin")
    front = browser.get(reverse("admin:index"))
    assert f'href="{PAGE}"' in front.text
    looked_up(world)
    assert f'href="{PAGE}"' not in browser.get(reverse("admin:index")).text
