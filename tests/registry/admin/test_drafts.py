"""Making and editing drafts on pages: upload, paste, form, live check."""

from __future__ import annotations

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client

from audit.models import Artefact
from contextos.core import strict_json
from registry.models import AdapterVersion
from registry.selectors import manifest_of
from tests.putting_back import triggers_asleep
from tests.registry.admin.visits import browser, page, text_of, version_page
from tests.registry.house import House
from tests.registry.manifests import many, orders, refunds

NEW = page("adapterversion_new")
CHECK = page("adapterversion_check")


def _json(document: Any) -> str:
    return strict_json.dumps(document)


@pytest.fixture
def author(house: House) -> Client:
    return browser(house, "author")


def test_the_start_page_offers_four_ways(author: Client, house: House) -> None:
    house.draft(orders())
    shown = text_of(author.get(NEW))
    for words in ("Upload a file", "Paste JSON", "Fill in twelve steps", "Start from an existing"):
        assert words in shown


@pytest.mark.proves("B1")
def test_a_pasted_manifest_is_saved_as_a_draft_of_its_author(author: Client, house: House) -> None:
    answer = author.post(NEW, {"view": "json", "action": "save", "document": _json(orders())})
    version = AdapterVersion.objects.get()
    assert answer.status_code == 302
    assert answer["Location"].startswith(version_page(version))
    assert (version.tenant_id, version.author) == (house.tenant_id, house.author)


def test_an_uploaded_file_is_checked_and_not_yet_stored(author: Client) -> None:
    broken = orders(owner_role="")
    file = SimpleUploadedFile("m.json", _json(broken).encode())
    shown = text_of(author.post(NEW, {"view": "json", "action": "check", "file": file}))
    assert "owner.missing" in shown
    assert "adp_orders" in shown
    assert not AdapterVersion.objects.exists()


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("not json", "line 1, column 1"),
        ('{"adapter_id": "a",\n "adapter_id": "b"}', "Line 2, column 2"),
        ('{"a":' + "[" * 200 + "]" * 200 + "}", "nested more than 64 levels"),
        ("[]", "object"),
        ('{"a": "\\u0000"}', "U+0000"),
    ],
)
def test_what_is_no_document_is_refused_at_its_place_and_kept(
    author: Client, text: str, words: str
) -> None:
    answer = author.post(NEW, {"view": "json", "action": "save", "document": text})
    shown = text_of(answer)
    assert answer.status_code == 422
    assert words.lower() in shown.lower()
    assert text.replace('"', "&quot;")[:40] in shown
    assert not AdapterVersion.objects.exists()


def test_a_file_beyond_the_limit_is_refused_in_words(author: Client) -> None:
    file = SimpleUploadedFile("big.json", b'{"a": "' + b"x" * (5 * 1024 * 1024) + b'"}')
    shown = text_of(author.post(NEW, {"view": "json", "action": "check", "file": file}))
    assert "more than the 5242880 bytes that are accepted" in shown


def test_a_refusal_of_the_service_is_shown_with_its_place(author: Client, house: House) -> None:
    house.draft(orders(version="1.0.0"))
    document = _json(orders(version="1.0.0"))
    answer = author.post(NEW, {"view": "json", "action": "save", "document": document})
    shown = text_of(answer)
    assert answer.status_code == 422
    assert "This version number exists already" in shown
    assert "<code>/version</code>" in shown


def test_starting_from_a_version_takes_its_manifest_but_not_its_number(
    author: Client, house: House
) -> None:
    version = house.published(orders(version="1.0.0"))
    shown = text_of(author.get(NEW, {"from": version.pk}))
    assert "adp_orders" in shown
    assert "&quot;version&quot;: &quot;1.0.0&quot;" not in shown


@pytest.mark.proves("B1", "B4")
def test_the_form_writes_into_the_same_document(author: Client, house: House) -> None:
    version = house.draft(orders(owner_role=""))
    edit = version_page(version, "edit")
    shown = author.get(edit, {"view": "form"})
    assert "No role is named as the owner" in text_of(shown)
    posted = {
        "view": "form",
        "action": "save",
        "digest": version.digest,
        "document": _json(manifest_of(version)),
        "f/owner_role": "orders_platform",
        "f/capabilities/0/domain": "sales",
    }
    assert author.post(edit, posted).status_code == 302
    saved = manifest_of(house.fresh(version))
    assert saved["owner_role"] == "orders_platform"
    assert saved["capabilities"][0]["domain"] == "sales"
    assert saved["schemas"] == manifest_of(version)["schemas"]


def test_somebody_elses_edit_meanwhile_is_not_overwritten(author: Client, house: House) -> None:
    version = house.draft(orders())
    stale = version.digest
    house.edit(version, orders(version=version.version, name="Edited elsewhere"), by="admin")
    posted = {"view": "json", "action": "save", "digest": stale, "document": _json(orders())}
    answer = author.post(version_page(version, "edit"), posted)
    assert answer.status_code == 422
    assert manifest_of(house.fresh(version))["name"] == "Edited elsewhere"


def test_a_field_that_cannot_be_read_stops_the_save_and_is_kept(
    author: Client, house: House
) -> None:
    version = house.draft(orders())
    posted = {
        "view": "form",
        "action": "save",
        "document": _json(manifest_of(version)),
        "f/transport/timeout_seconds": "a while",
        "f/auth/step_up_scopes": '{"x": }',
    }
    answer = author.post(version_page(version, "edit"), posted)
    shown = text_of(answer)
    assert answer.status_code == 422
    assert "is not a number" in shown
    assert 'value="a while"' in shown
    assert "Not JSON" in shown


@pytest.mark.parametrize(
    ("action", "words"),
    [
        ("add_capability", "2. not named yet"),
        ("show_json", 'id="id_document"'),
        ("check", "nothing blocks"),
        ("add_schema", "schema://orders.cancel.v1"),
    ],
)
def test_the_buttons_of_the_form_work_without_any_script(
    author: Client, house: House, action: str, words: str
) -> None:
    version = house.draft(orders())
    posted = {
        "view": "form",
        "action": action,
        "new_schema": "orders.cancel.v1",
        "document": _json(manifest_of(version)),
    }
    shown = text_of(author.post(version_page(version, "edit"), posted))
    assert words in shown
    assert house.fresh(version).digest == version.digest


def test_many_capabilities_are_shown_a_page_at_a_time(author: Client, house: House) -> None:
    version = house.draft(many(45))
    edit = version_page(version, "edit")
    first = text_of(author.get(edit, {"view": "form"}))
    assert "20. orders.lookup_19" in first
    assert "21. orders.lookup_20" not in first
    posted = {"view": "form", "action": "window:2", "document": _json(manifest_of(version))}
    assert "45. orders.lookup_44" in text_of(author.post(edit, posted))


def test_the_live_check_answers_findings_with_their_fields(author: Client) -> None:
    broken = refunds()
    broken["capabilities"][0].pop("approval_mode")
    posted = {"view": "form", "document": _json(broken), "f/name": "Refunds"}
    report = author.post(CHECK, posted).json()
    found = {row["rule"]: row for row in report["findings"]}
    assert found["capability.approval_mode.missing"]["field"] == "f/capabilities/0/approval_mode"
    assert report["steps"]["3"] >= 1
    assert report["counts"]["block"] >= 1


def test_the_live_check_names_the_line_in_the_json_view(author: Client) -> None:
    text = '{\n "adapter_id": "adp_x",\n "owner_role": ""\n}'
    report = author.post(CHECK, {"view": "json", "document": text}).json()
    lines = {row["pointer"]: row["line"] for row in report["findings"]}
    assert lines["/owner_role"] == "3"
    broken = author.post(CHECK, {"view": "json", "document": "{\n]"}).json()
    assert broken["fault"]["line"] == 2


def test_the_live_check_stores_nothing_and_takes_only_posts(author: Client) -> None:
    author.post(CHECK, {"view": "json", "document": _json(orders())})
    assert not AdapterVersion.objects.exists()
    assert author.get(CHECK).status_code == 404


def test_what_was_submitted_opens_no_editor(author: Client, house: House) -> None:
    version = house.in_review(orders())
    answer = author.get(version_page(version, "edit"))
    assert answer.status_code == 302
    posted = {"view": "json", "action": "save", "document": _json(orders(name="New"))}
    assert author.post(version_page(version, "edit"), posted).status_code == 302
    assert manifest_of(house.fresh(version))["name"] == "Orders"


def test_markup_and_hidden_characters_in_a_document_are_never_rendered(author: Client) -> None:
    hostile = orders(name="<script>alert(1)</script>\u202e")
    hostile["capabilities"][0]["capability_id"] = "<img src=x onerror=alert(1)>"
    for view in ("json", "form"):
        posted = {"view": view, "action": "check", "document": _json(hostile)}
        shown = text_of(author.post(NEW, posted))
        assert "<script>alert" not in shown
        assert "<img src=x" not in shown


@pytest.mark.parametrize("number", ["²", "9" * 5000])
def test_a_page_of_the_form_that_is_no_number_is_the_first(author: Client, number: str) -> None:
    posted = {"view": "form", "document": _json(orders()), "window": number}
    for action in ("check", f"window:{number}", f"remove_capability:{number}"):
        assert author.post(NEW, {**posted, "action": action}).status_code == 200


def test_a_schema_is_removed_by_its_whole_name_however_long(author: Client) -> None:
    name = f"schema://orders.{'long_' * 30}input.v1"
    manifest = orders()
    manifest["schemas"][name] = {"type": "object"}
    shown = text_of(author.post(NEW, {"view": "form", "document": _json(manifest)}))
    (button,) = re.findall(rf'value="(remove_schema:{re.escape(name)})"', shown)
    posted = {"view": "form", "document": _json(manifest), "action": button}
    assert name not in text_of(author.post(NEW, posted))


def test_a_document_that_is_not_trusted_sends_its_pages_to_the_one_that_says_why(
    author: Client, house: House
) -> None:
    version = house.draft(orders())
    with triggers_asleep(connection):
        Artefact.objects.filter(digest=version.digest).update(content=b"{}")
    for address in (
        version_page(version, "edit"),
        version_page(version, "download"),
        f"{NEW}?from={version.pk}",
    ):
        answer = author.get(address, follow=True)
        assert answer.redirect_chain == [(version_page(version), 302)]
        assert [str(message) for message in answer.context["messages"]]
