"""The page of one version: header, tabs, signature, untrusted text, timeline."""

from __future__ import annotations

import re

import pytest
from django.db import connection

from registry.admin.five_questions import answers
from registry.models import AdapterVersion, Finding
from registry.readiness import Severity, all_rules
from tests.registry.admin.visits import browser, page, text_of, version_page
from tests.registry.house import House
from tests.registry.manifests import orders, refunds

TABS = (
    "overview",
    "findings",
    "capabilities",
    "schemas",
    "access",
    "resources",
    "prompts",
    "manifest",
    "timeline",
    "reviews",
)
HOSTILE = '<script>alert(1)</script><img src="https://evil.example/p.png">\u202egnp'


def _hostile() -> dict[str, object]:
    manifest = orders(name=f"Orders {HOSTILE}", rollout_notes=HOSTILE)
    manifest["capabilities"][0]["description"] = HOSTILE
    manifest["capabilities"][0]["icons"] = [{"src": "https://evil.example/i.png"}]
    manifest["resources"] = [{"uri": "orders://all", "name": HOSTILE, "classification": "INTERNAL"}]
    manifest["prompts"] = [{"name": "p", "title": HOSTILE, "description": HOSTILE}]
    return manifest


@pytest.mark.parametrize("tab", TABS)
def test_every_tab_opens_and_marks_itself(house: House, tab: str) -> None:
    version = house.draft(_hostile())
    answer = browser(house, "auditor").get(version_page(version), {"tab": tab})
    assert answer.status_code == 200
    assert f'href="?tab={tab}" aria-current="page"' in text_of(answer)


def test_an_adapter_without_resources_and_prompts_has_no_empty_tabs(house: House) -> None:
    version = house.draft(refunds())
    shown = text_of(browser(house, "auditor").get(version_page(version)))
    assert 'href="?tab=reviews"' in shown
    assert "?tab=resources" not in shown
    assert "?tab=prompts" not in shown


@pytest.mark.proves("B8", "B14", "B15")
@pytest.mark.parametrize("tab", TABS)
def test_untrusted_words_are_quoted_and_call_no_other_host(house: House, tab: str) -> None:
    version = house.draft(_hostile())
    shown = text_of(browser(house, "author").get(version_page(version), {"tab": tab}))
    assert "<script>alert" not in shown
    assert not re.search(r'(src|href|action)="https?://', shown)
    assert "\u202e" not in shown


def test_hidden_characters_are_spelt_out_in_the_manifest(house: House) -> None:
    version = house.draft(_hostile())
    shown = text_of(browser(house, "author").get(version_page(version), {"tab": "manifest"}))
    assert "⟨U+202E⟩" in shown


@pytest.mark.proves("B2")
def test_the_signature_is_checked_anew_whenever_the_page_opens(house: House) -> None:
    version = house.published(orders())
    reader = browser(house, "auditor")
    shown = text_of(reader.get(version_page(version)))
    assert "signature verified now" in shown
    assert version.signatures.get().kid in shown
    _tamper(version)
    shown = text_of(reader.get(version_page(version)))
    assert "signature refused" in shown
    assert "verified now" not in shown


def _tamper(version: AdapterVersion) -> None:
    """As somebody with the database in hand would, triggers taken away."""
    from contextos.review.immutability import install, remove

    table = AdapterVersion._meta.db_table
    envelope = {**(version.envelope or {}), "payload": "e30="}
    remove(connection, table)
    AdapterVersion.objects.filter(pk=version.pk).update(envelope=envelope)
    install(connection, table)


def test_an_unsigned_draft_says_so(house: House) -> None:
    version = house.draft(orders())
    shown = text_of(browser(house, "author").get(version_page(version)))
    assert "not signed yet" in shown
    assert "Submit for review" in shown


def test_blocking_findings_take_the_submit_button_away(house: House) -> None:
    version = house.draft(orders(owner_role=""))
    shown = text_of(browser(house, "author").get(version_page(version), {"tab": "findings"}))
    assert "must be fixed before it can be submitted" in shown
    assert version_page(version, "submit") not in shown
    assert "owner.missing" in shown
    assert "?tab=manifest#at/owner_role" in shown


@pytest.mark.proves("B2", "E2")
def test_the_timeline_tells_who_did_what_when_and_why(house: House) -> None:
    version = house.published(orders())
    shown = text_of(browser(house, "author").get(version_page(version), {"tab": "timeline"}))
    for words in ("drafted", "submitted for review", "approved", "published", "it is sound"):
        assert words in shown
    assert house.user("reviewer").username in shown


def test_the_five_questions_are_answered_from_the_manifest(house: House) -> None:
    version = house.draft(refunds())
    shown = text_of(browser(house, "author").get(version_page(version)))
    assert "1 destructive" in shown
    assert "GATE_FINANCE_APPROVAL" in shown
    assert "1 of 1 write require an idempotency key" in shown


def test_the_download_is_the_signed_document_byte_for_byte(house: House) -> None:
    version = house.published(orders())
    answer = browser(house, "auditor").get(version_page(version, "download"))
    from contextos.core.canonical import digest_bytes

    assert digest_bytes(answer.content) == version.digest
    assert answer["Content-Disposition"].startswith("attachment")


def test_an_adapters_page_shows_what_is_active_and_the_way_back(house: House) -> None:
    first = house.published(orders(version="1.0.0"))
    second = house.published(orders(version="1.1.0"))
    address = page("adapter_change", first.adapter_id)
    shown = text_of(browser(house, "admin").get(address))
    assert "Roll back to 1.0.0" in shown
    assert version_page(first, "publish") in shown
    assert second.version in shown
    assert "Roll back to" not in text_of(browser(house, "author").get(address))


@pytest.mark.proves("B4")
def test_every_rule_that_asks_something_leaves_one_of_the_five_questions_open() -> None:
    asking = [rule for rule in all_rules() if rule.severity is not Severity.INFO]
    for rule in asking:
        found = Finding(rule=rule.id, severity=rule.severity.value, pointer="/x")
        answered = [answer.verdict == "answered" for answer in answers(orders(), [found])]
        assert answered.count(False) == 1, rule.id


def test_the_active_version_is_shown_however_many_drafts_came_after_it(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("registry.admin.adapters.SHOWN_VERSIONS", 3)
    active = house.published(orders())
    for _ in range(4):
        house.draft(orders())
    shown = text_of(browser(house, "auditor").get(page("adapter_change", active.adapter_id)))
    assert "nothing of this adapter is published" not in shown.lower()
    assert version_page(active) in shown
