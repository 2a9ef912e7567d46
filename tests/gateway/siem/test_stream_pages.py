"""Pages of SIEM streams: who sets them up, who sees them, what they never show (E7)."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse

from gateway.models import SiemStream
from tests.approvals.receivers import SECRET, receiver
from tests.gateway.siem.rows import make_stream
from tests.identity.signed_in import browser_of
from tests.registry.house import House

LIST, ADD = "admin:gateway_siemstream_changelist", "admin:gateway_siemstream_add"


@pytest.fixture
def house(db: None) -> House:
    return House()


def _page(stream: SiemStream, name: str = "change") -> str:
    return reverse(f"admin:gateway_siemstream_{name}", args=[stream.pk])


def _entered(**changes: Any) -> dict[str, Any]:
    return {
        "name": "Splunk",
        "transport": "webhook",
        "address": "http://127.0.0.1:9/services/collector?key=hidden-in-path",
        "format": "jsonl",
        "contents": "all",
        "secret": SECRET,
        "authorization": "Splunk very-secret-token",
        "authority": "",
        **changes,
    }


def test_a_platform_admin_sets_a_stream_up_and_no_page_shows_its_secrets(house: House) -> None:
    browser = browser_of(house.user("admin"), house.tenant)
    assert browser.post(reverse(ADD), _entered()).status_code == 302
    stream = SiemStream.objects.get()
    shown = browser.get(reverse(LIST)).text + browser.get(_page(stream)).text
    assert "very-secret-token" not in shown
    assert SECRET not in shown
    read = browser_of(house.user("auditor"), house.tenant)
    seen = read.get(reverse(LIST)).text + read.get(_page(stream)).text
    assert "hidden-in-path" not in seen
    assert "http://127.0.0.1:9" in seen


@pytest.mark.parametrize("name", ["author", "reviewer", "auditor", "operator", "approver"])
def test_nobody_else_sets_one_up(house: House, name: str) -> None:
    browser = browser_of(house.user(name), house.tenant)
    assert browser.post(reverse(ADD), _entered()).status_code in {302, 403}
    assert not SiemStream.objects.exists()


def test_a_bad_address_is_told_on_the_form(house: House) -> None:
    browser = browser_of(house.user("admin"), house.tenant)
    answer = browser.post(reverse(ADD), _entered(address="http://169.254.169.254/"))
    assert answer.status_code == 200
    assert "not a public address" in answer.text
    assert SECRET not in answer.text


def test_a_stream_is_tested_paused_resumed_and_sent_again_by_buttons(house: House) -> None:
    browser = browser_of(house.user("admin"), house.tenant)
    with receiver() as taken:
        stream = make_stream(house.tenant, address=taken.url)
        page = browser.get(_page(stream)).text
        for words in ("Send a test", "Pause", "Resume", "Send again from"):
            assert words in page
        assert browser.post(_page(stream, "send_test")).status_code == 302
        assert len(taken.requests) == 1
        taken.answers.append(500)
        assert "answered 500" in browser.post(_page(stream, "send_test")).text
    assert browser.post(_page(stream, "pause"), {"reason": "Maintenance."}).status_code == 302
    stream.refresh_from_db()
    assert stream.is_active is False
    assert browser.post(_page(stream, "resume")).status_code == 302
    again = {"from_index": "0", "reason": "Lost."}
    assert browser.post(_page(stream, "again"), again).status_code == 302


def test_an_empty_list_teaches(house: House) -> None:
    shown = browser_of(house.user("operator"), house.tenant).get(reverse(LIST)).text
    assert "The log is sent nowhere yet" in shown
