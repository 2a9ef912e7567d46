"""Drafting, reading, editing and walking a version through its life over REST."""

from __future__ import annotations

import base64
from typing import Any

import orjson
import pytest

from contextos.core.canonical import canonicalise, digest_bytes
from registry.models import AdapterVersion
from tests.putting_back import triggers_asleep
from tests.registry.api.calls import caller, code_of, version_path, versions
from tests.registry.house import House
from tests.registry.manifests import blocked, narrower, orders, refunds, wider, with_warning


@pytest.mark.proves("B1", "B2")
def test_a_manifest_goes_from_upload_to_a_signed_publication(house: House) -> None:
    author, reviewer, admin = (caller(house, name) for name in ("author", "reviewer", "admin"))
    drafted = author.post(versions(), with_warning())
    assert drafted.status_code == 201
    body = drafted.json()
    path = f"{versions()}/{body['version_id']}"
    assert drafted["Location"] == f"/api/v1/{path}"
    assert (body["state"], body["version"], body["risk"]) == ("draft", "1.0.0", "")
    assert body["findings_summary"]["warn"] == 1
    warnings = [found["id"] for found in body["findings"] if found["severity"] == "warn"]

    assert author.post(f"{path}/submit").json()["state"] == "in_review"
    ticked = {"reason": "Sound.", "accepted_warnings": warnings, "digest": body["digest"]}
    approved = reviewer.post(f"{path}/approve", ticked).json()
    assert approved["state"] == "approved"
    assert approved["reviews"][0]["accepted_warnings"] == warnings
    assert approved["reviews"][0]["reviewer"]["user_id"] == house.user("reviewer").user_id

    published = admin.post(f"{path}/publish", {"rollout_notes": "Watched."}).json()
    assert (published["state"], published["publication_notes"]) == ("published", "Watched.")
    assert published["signature_valid"] is True
    payload = base64.b64decode(published["envelope"]["payload"])
    assert digest_bytes(payload) == published["digest"] == body["digest"]
    assert canonicalise(published["manifest"]) == payload
    assert published["signatures"][0]["kid"] == published["envelope"]["signatures"][0]["keyid"]

    retired = admin.post(f"{path}/retire", {"reason": "Over."}).json()
    assert (retired["state"], retired["signature_valid"]) == ("retired", None)


@pytest.mark.parametrize("name", ["version", "version_id"])
def test_a_version_is_found_by_number_and_by_id(house: House, name: str) -> None:
    version = house.draft(orders(version="1.0.0-rc.1+build.5"))
    found = caller(house, "auditor").get(f"{versions()}/{getattr(version, name)}")
    assert found.json()["version_id"] == version.version_id


def test_a_first_manifest_makes_its_adapter(house: House) -> None:
    author = caller(house, "author")
    assert code_of(author.get("adapters/adp_orders")) == (404, "request.not_found")
    author.post(versions(), orders())
    assert author.get("adapters/adp_orders").json()["name"] == "Orders"
    mismatched = author.post(versions("adp_other"), orders())
    assert code_of(mismatched) == (422, "manifest.adapter_mismatch")


@pytest.mark.proves("B3")
def test_the_author_is_told_that_they_can_not_approve(house: House) -> None:
    version = house.submit(house.draft(orders(), by="admin"), by="admin")
    response = caller(house, "admin").post(version_path(version, "approve"), {"reason": "Mine."})
    assert code_of(response) == (403, "review.author_cannot_approve")


@pytest.mark.proves("B3")
def test_a_destructive_version_waits_for_the_second_reviewer(house: House) -> None:
    path = version_path(house.in_review(refunds()), "approve")
    first = caller(house, "reviewer").post(path, {"reason": "Yes."})
    assert (first.status_code, first.json()["state"]) == (200, "in_review")
    again = caller(house, "reviewer").post(path, {"reason": "Yes!"})
    assert code_of(again) == (409, "review.already_decided")
    second = caller(house, "reviewer2").post(path, {"reason": "Yes."}).json()
    assert (second["state"], second["reviewers_needed"]) == ("approved", 2)


@pytest.mark.proves("B4")
def test_a_blocked_draft_names_what_stops_it(house: House) -> None:
    response = caller(house, "author").post(version_path(house.draft(blocked()), "submit"))
    assert code_of(response) == (422, "review.blocked_by_findings")
    assert response.json()["details"]["findings"] == [
        "capability.approval_mode.missing@/capabilities/0/approval_mode"
    ]


@pytest.mark.parametrize(
    ("step", "body", "status", "code"),
    [
        ("approve", {"reason": "x"}, 422, "review.warnings_not_ticked"),
        (
            "approve",
            {"accepted_warnings": ["auth.none_in_production"]},
            422,
            "review.reason_missing",
        ),
        ("approve", {"reason": "x", "digest": "sha256:0"}, 409, "review.stale_digest"),
        ("approve", {"reason": "x", "accepted_warning": []}, 422, "validation.failed"),
        ("approve", {"reason": 7, "accepted_warnings": "all"}, 422, "validation.failed"),
        ("reject", {"reason": " "}, 422, "review.reason_missing"),
        ("reject", None, 422, "review.reason_missing"),
        ("request-changes", {}, 422, "review.reason_missing"),
        ("submit", {"force": True}, 403, "role.missing"),
    ],
)
def test_a_refused_step_says_what_is_missing(
    house: House, step: str, body: Any, status: int, code: str
) -> None:
    version = house.in_review(with_warning())
    response = caller(house, "reviewer").post(version_path(version, step), body)
    assert code_of(response) == (status, code)
    assert house.fresh(version).state == "in_review"


def test_a_step_that_the_state_does_not_allow_is_a_conflict(house: House) -> None:
    version = house.draft(orders())
    response = caller(house, "admin").post(version_path(version, "publish"))
    assert code_of(response) == (409, "state.transition_refused")
    assert response.json()["details"]["possible"] == ["in_review", "retired"]


@pytest.mark.proves("B3")
def test_changes_are_asked_for_with_a_reason_and_answered_by_a_new_version(house: House) -> None:
    version = house.in_review(orders())
    reason = {"reason": "Name the owner."}
    asked = caller(house, "reviewer").post(version_path(version, "request-changes"), reason).json()
    assert (asked["state"], asked["reviews"][0]["reason"]) == (
        "changes_requested",
        reason["reason"],
    )
    author = caller(house, "author")
    edit = author.put(version_path(version), orders())
    assert code_of(edit) == (409, "manifest.not_a_draft")
    assert author.post(versions(), orders()).json()["version"] == "1.1.0"


@pytest.mark.proves("B17")
def test_a_rollback_is_publishing_the_old_version_again(house: House) -> None:
    first, second = house.published(orders()), house.published(narrower())
    admin = caller(house, "admin")
    rolled = admin.post(version_path(first, "publish"), {"rollout_notes": "Back: incident 7."})
    assert (rolled.status_code, rolled.json()["state"]) == (200, "published")
    assert admin.get(version_path(second)).json()["state"] == "deprecated"
    active = admin.get("adapters/adp_orders").json()["active"]
    assert [item["version_id"] for item in active] == [first.version_id]


# --- the diff ------------------------------------------------------------------------------------
@pytest.mark.proves("B3", "B9")
def test_the_diff_shows_what_got_riskier_than_the_published_version(house: House) -> None:
    base = house.published(orders())
    changed = wider()
    changed["auth"]["initial_scopes"] = ["orders.read"]
    version = house.draft(changed)
    diff = caller(house, "reviewer").get(version_path(version, "diff")).json()
    assert diff["verdict"] == "widens"
    assert diff["against"]["version_id"] == base.version_id
    assert diff["changes"][0]["direction"] == "widens"
    rules = {change["rule"] for change in diff["changes"] if change["direction"] == "widens"}
    assert "schema.pattern" in rules
    assert any("scope" in rule for rule in rules)


@pytest.mark.proves("B3")
def test_the_diff_against_any_version_of_the_adapter_can_be_asked_for(house: House) -> None:
    first, second = house.published(orders()), house.published(narrower())
    reader = caller(house, "auditor")
    against = reader.get(f"{version_path(first, 'diff')}?against={second.version}").json()
    assert against["verdict"] == "widens"
    # The published version is compared with what its reviewers saw it beside.
    own = reader.get(version_path(second, "diff")).json()
    assert (own["verdict"], own["against"]["version_id"]) == ("narrows", first.version_id)
    absent = reader.get(f"{version_path(first, 'diff')}?against=9.9.9")
    assert code_of(absent) == (404, "request.not_found")


@pytest.mark.proves("B3")
def test_everything_is_new_in_a_first_version(house: House) -> None:
    diff = caller(house, "author").get(version_path(house.draft(orders()), "diff")).json()
    assert (diff["verdict"], diff["against"]) == ("widens", None)


# --- tampering -----------------------------------------------------------------------------------
@pytest.mark.proves("B2")
def test_a_tampered_version_is_shown_as_tampered_and_its_manifest_is_not(house: House) -> None:
    from django.db import connection

    version = house.published(orders())
    with triggers_asleep(connection):
        AdapterVersion.objects.filter(pk=version.pk).update(digest="sha256:" + "0" * 64)
    shown = caller(house, "auditor").get(version_path(version)).json()
    assert (shown["signature_valid"], shown["manifest"]) == (False, None)
    assert shown["problem"]


# --- ETags ---------------------------------------------------------------------------------------
def test_an_unchanged_version_is_not_sent_again(house: House) -> None:
    version, reader = house.draft(orders()), caller(house, "auditor")
    first = reader.get(version_path(version))
    etag = first["ETag"]
    assert etag.startswith(f'"{version.digest}.')
    again = reader.get(version_path(version), If_None_Match=etag)
    assert (again.status_code, again.content) == (304, b"")
    house.submit(version)
    after = reader.get(version_path(version), If_None_Match=etag)
    assert (after.status_code, after.json()["state"]) == (200, "in_review")
    assert after["ETag"] != etag


def test_lists_are_not_sent_again_either(house: House) -> None:
    house.published(orders())
    reader = caller(house, "auditor")
    for path in ("adapters", versions(), "capabilities", "kill-switches"):
        first = reader.get(path)
        assert reader.get(path, If_None_Match=first["ETag"]).status_code == 304
        assert "private" in first["Cache-Control"]
        assert "Authorization" in first["Vary"]


def test_an_edit_with_the_etag_of_an_older_draft_is_refused(house: House) -> None:
    author, admin = caller(house, "author"), caller(house, "admin")
    drafted = author.post(versions(), orders())
    path, etag = f"{versions()}/{drafted.json()['version_id']}", drafted["ETag"]
    edited = admin.put(path, orders(name="By the admin"), If_Match=etag)
    assert edited.status_code == 200
    late = author.put(path, orders(name="By the author"), If_Match=etag)
    assert code_of(late) == (412, "manifest.changed_meanwhile")
    assert author.get(path).json()["manifest"]["name"] == "By the admin"
    fresh = author.put(path, orders(name="Both"), If_Match=f'"{edited.json()["digest"]}"')
    assert (fresh.status_code, fresh.json()["findings_summary"]["block"]) == (200, 0)
    assert author.put(path, orders(), If_Match="*").status_code == 200


def test_submitting_another_draft_than_the_one_seen_is_refused(house: House) -> None:
    version, author = house.draft(orders()), caller(house, "author")
    etag = author.get(version_path(version))["ETag"]
    house.edit(version, wider(), by="admin")
    late = author.post(version_path(version, "submit"), If_Match=etag)
    assert code_of(late) == (409, "review.stale_digest")
    garbled = author.post(version_path(version, "submit"), If_Match="who knows")
    assert code_of(garbled) == (400, "request.invalid")


# --- findings ------------------------------------------------------------------------------------
@pytest.mark.proves("B4")
def test_findings_are_listed_in_order_and_filtered(house: House) -> None:
    version, reader = house.draft(blocked()), caller(house, "author")
    found = reader.get(version_path(version, "findings")).json()["results"]
    assert set(found[0]) == {"id", "rule", "severity", "pointer", "message", "remediation"}
    assert len(found) == version.findings.count()
    blocks = reader.get(version_path(version, "findings") + "?severity=block").json()["results"]
    assert [item["rule"] for item in blocks] == ["capability.approval_mode.missing"]
    wrong = reader.get(version_path(version, "findings") + "?severity=fatal")
    assert code_of(wrong) == (422, "validation.failed")


def test_answers_are_valid_json_whatever_the_manifest_holds(house: House) -> None:
    odd = orders(name="<b>&\u202e\u200b", numbers=[1e300, 0.1, -0.0], empty={"": ""})
    shown = caller(house, "author").post(versions(), odd)
    assert shown.status_code == 201
    assert orjson.loads(shown.content)["manifest"]["name"] == "<b>&\u202e\u200b"
    assert shown["Content-Type"] == "application/json"
    assert shown["X-Content-Type-Options"] == "nosniff"
