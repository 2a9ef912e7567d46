"""Pages of packs and policies: who may open them, what they show, what their buttons do."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from django.db import connection
from django.test import override_settings
from django.urls import reverse

from audit.models import Artefact
from contextos.review.states import VersionState
from registry.models import ContextPackVersion, PolicyBundleVersion
from tests.putting_back import triggers_asleep
from tests.recorded_worlds import ready
from tests.registry.admin.visits import browser, page, text_of
from tests.registry.api.document_endpoints import PACKS, POLICIES, Kind
from tests.registry.documents import bundle, failing_bundle, refund_input
from tests.registry.furnished import house_or
from tests.registry.house import House, staffed
from tests.registry.manifests import refunds
from tests.registry.walks import Walk, policy_walk

STEMS = {"packs": "contextpackversion", "policies": "policybundleversion"}
KINDS = pytest.mark.parametrize("kind", [PACKS, POLICIES], ids=lambda kind: kind.address)
READERS = ("admin", "author", "reviewer", "auditor", "operator")


def _page(kind: Kind, name: str, *arguments: Any) -> str:
    return page(f"{STEMS[kind.address]}_{name}", *arguments)


def _json(document: Any) -> str:
    return orjson.dumps(document, option=orjson.OPT_INDENT_2).decode()


# --- who -----------------------------------------------------------------------------------------
@pytest.mark.live
@KINDS
def test_everybody_with_a_part_in_the_registry_reads_the_pages(house: House, kind: Kind) -> None:
    version = kind.approved(house)
    for name in READERS:
        visitor = browser(house, name)
        for one in ("change", "review", "download"):
            assert visitor.get(_page(kind, one, version.pk)).status_code == 200, (name, one)
        assert visitor.get(_page(kind, "changelist")).status_code == 200


@KINDS
def test_only_authors_write_and_only_publishers_publish(house: House, kind: Kind) -> None:
    draft, approved = kind.draft(house), None
    approved = kind.walk(house).approve(
        kind.walk(house).submit(kind.walk(house).draft(kind.make(version="2.0.0")))
    )
    for name in READERS:
        visitor = browser(house, name)
        writes = 200 if name in ("admin", "author") else 403
        assert visitor.get(_page(kind, "new")).status_code == writes
        assert visitor.get(_page(kind, "edit", draft.pk)).status_code == writes
        assert visitor.get(_page(kind, "submit", draft.pk)).status_code == writes
        assert visitor.post(_page(kind, "check"), {"document": "{}"}).status_code == writes
        publishes = 200 if name == "admin" else 403
        assert visitor.get(_page(kind, "publish", approved.pk)).status_code == publishes
        assert visitor.get(_page(kind, "retire", approved.pk)).status_code == publishes


@KINDS
def test_nothing_of_another_tenant_is_found(house: House, neighbour: House, kind: Kind) -> None:
    version = kind.draft(house)
    stranger = browser(neighbour, "admin")
    for one in ("change", "review", "edit", "submit", "publish", "retire", "download"):
        assert stranger.get(_page(kind, one, version.pk)).status_code == 404, one
    assert version.document_id not in text_of(stranger.get(_page(kind, "changelist")))
    assert stranger.get(f"{_page(kind, 'new')}?from={version.pk}").status_code == 404


@KINDS
def test_a_document_that_is_not_trusted_sends_its_pages_to_the_one_that_says_why(
    house: House, kind: Kind
) -> None:
    draft = kind.draft(house)
    with triggers_asleep(connection):
        Artefact.objects.filter(digest=draft.digest).update(content=b"{}")
    author = browser(house, "author")
    for address in (
        _page(kind, "edit", draft.pk),
        _page(kind, "download", draft.pk),
        f"{_page(kind, 'new')}?from={draft.pk}",
    ):
        answer = author.get(address, follow=True)
        assert answer.redirect_chain == [(_page(kind, "change", draft.pk), 302)]


@pytest.mark.parametrize(
    "spoilt",
    [
        {"policy_layer": []},
        {"policy_layer": {"bundle_refs": 7}},
        {"decision_layer": {"decision_specs": "x"}},
        {"tooling_layer": {"permissions": 5}},
        {"tooling_layer": {"permissions": [{"approval_mode": {}, "roles": [{}]}]}},
        {"intents": 7},
    ],
)
def test_a_draft_that_holds_anything_has_its_page(house: House, spoilt: dict[str, Any]) -> None:
    draft = PACKS.walk(house).draft(PACKS.make(**spoilt))
    assert browser(house, "author").get(_page(PACKS, "change", draft.pk)).status_code == 200


def test_parts_that_share_a_name_or_the_start_of_a_long_id_are_all_compared(house: House) -> None:
    walk, start = policy_walk(house), "r" * 150
    document = bundle()
    first, second = document["rules"]
    rules = [{**first, "rule_id": f"{start}1"}, {**second, "rule_id": f"{start}2"}]
    tests = [document["tests"][0], document["tests"][0]]
    walk.published(bundle(rules=rules, tests=[]))
    allowing = {**rules[0], "then": {"allow": True, "approval_mode": "read_only"}}
    named = {**tests[0], "input": refund_input(70000)}
    for test in (tests[1], named):
        test["expect"] = {"allowed": False}
    changed = bundle(version="1.1.0", rules=[allowing, rules[1]], tests=[named, tests[1]])
    version = walk.submit(walk.draft(changed))
    shown = text_of(browser(house, "reviewer").get(_page(POLICIES, "review", version.pk)))
    assert shown.count("data-change>") == 3
    assert "&quot;approval_mode&quot;: &quot;read_only&quot;" in shown
    assert "70000" in shown


# --- writing -------------------------------------------------------------------------------------
@KINDS
def test_a_draft_is_written_checked_and_saved(house: House, kind: Kind) -> None:
    author = browser(house, "author")
    checked = author.post(_page(kind, "new"), {"action": "check", "document": _json(kind.make())})
    assert checked.status_code == 200
    model = kind.walk(house).model
    assert not model._default_manager.exists()
    author.post(_page(kind, "new"), {"action": "save", "document": _json(kind.make())})
    saved: Any = model._default_manager.get()
    assert (saved.state, saved.author) == (VersionState.DRAFT, house.user("author"))
    changed = kind.make(owner_role="others")
    author.post(
        _page(kind, "edit", saved.pk),
        {"action": "save", "document": _json(changed), "digest": saved.digest},
    )
    assert model._default_manager.get().owner_role == "others"


@KINDS
def test_a_text_that_can_not_be_read_is_shown_with_its_line(house: House, kind: Kind) -> None:
    answer = browser(house, "author").post(
        _page(kind, "new"), {"action": "save", "document": '{\n "a": 1,\n "a": 2\n}'}
    )
    assert answer.status_code == 422
    assert "Line 3, column" in text_of(answer)


@KINDS
def test_an_edit_over_somebody_elses_is_refused_and_kept_on_the_page(
    house: House, kind: Kind
) -> None:
    draft = kind.draft(house)
    kind.walk(house).edit(draft, kind.make(owner_role="first"), by="author")
    answer = browser(house, "author").post(
        _page(kind, "edit", draft.pk),
        {"action": "save", "document": _json(kind.make()), "digest": draft.digest},
    )
    assert answer.status_code == 422
    assert "Somebody else has edited this draft" in text_of(answer)


def test_what_is_only_a_draft_can_be_edited(house: House) -> None:
    version = PACKS.in_review(house)
    answer = browser(house, "author").get(_page(PACKS, "edit", version.pk))
    assert answer.status_code == 302


def test_a_new_version_starts_from_another_with_the_next_number(house: House) -> None:
    version = POLICIES.draft(house)
    shown = text_of(browser(house, "author").get(f"{_page(POLICIES, 'new')}?from={version.pk}"))
    assert "&quot;version&quot;: &quot;1.1.0&quot;" in shown


@pytest.mark.proves("C4")
def test_the_editor_names_each_error_at_its_line_and_explains_the_language(house: House) -> None:
    broken = bundle()
    broken["rules"][0]["if"] = {"log": "x"}
    text = _json(broken)
    answer = text_of(
        browser(house, "author").post(_page(POLICIES, "new"), {"action": "check", "document": text})
    )
    line = next(n for n, found in enumerate(text.split("\n"), start=1) if '"log"' in found)
    assert f"line {line}," in answer
    assert "The operator &quot;log&quot; is not allowed." in answer
    assert "request.args." in answer
    assert "starts_with" in answer


def test_the_script_gets_the_same_findings(house: House) -> None:
    author = browser(house, "author")
    report = author.post(_page(POLICIES, "check"), {"document": _json(failing_bundle())}).json()
    assert report["counts"]["block"] == 1
    assert report["findings"][0]["pointer"] == "/tests/0"
    report = author.post(_page(POLICIES, "check"), {"document": "{"}).json()
    assert report["fault"]["line"] == 1


def test_the_editor_shows_how_the_tests_come_out(house: House) -> None:
    shown = text_of(
        browser(house, "author").post(
            _page(POLICIES, "new"), {"action": "check", "document": _json(failing_bundle())}
        )
    )
    assert "a large refund is denied" in shown
    assert "expected true" in shown


# --- review and publication ----------------------------------------------------------------------
@KINDS
def test_the_review_shows_what_changes_and_takes_the_decision(house: House, kind: Kind) -> None:
    walk: Walk = kind.walk(house)
    walk.published(kind.make())
    changed = walk.in_review(kind.make(version="1.1.0", owner_role="others"))
    reviewer = browser(house, "reviewer")
    shown = text_of(reviewer.get(_page(kind, "review", changed.pk)))
    assert "What changes since 1.0.0" in shown
    assert "owner_role" in shown
    said = {
        "verdict": "approve",
        "digest": changed.digest,
        "reason": "Fine.",
        "tick": [item["id"] for item in changed.findings],
    }
    reviewer.post(_page(kind, "review", changed.pk), said)
    assert walk.fresh(changed).state == VersionState.IN_REVIEW  # the page asks once more
    reviewer.post(_page(kind, "review", changed.pk), {**said, "confirmed": "1"})
    assert walk.fresh(changed).state == VersionState.APPROVED


def test_a_policy_is_published_in_shadow_and_let_decide_by_buttons(house: House) -> None:
    version = POLICIES.approved(house)
    admin, address = browser(house, "admin"), _page(POLICIES, "publish", version.pk)
    admin.post(address, {"notes": "Watch first.", "shadow": "on"})
    row = PolicyBundleVersion.objects.get(pk=version.pk)
    assert (row.state, row.shadow) == ("published", True)
    assert "Let it decide" in text_of(admin.get(_page(POLICIES, "change", version.pk)))
    admin.post(address, {"notes": ""})
    assert PolicyBundleVersion.objects.get(pk=version.pk).shadow is False


def test_the_pages_of_a_pack_say_what_it_permits(house: House) -> None:
    version = PACKS.draft(house)
    shown = text_of(browser(house, "auditor").get(_page(PACKS, "change", version.pk)))
    for words in ("issue_refund", "role: support_agent", "amount_inr: max 20000"):
        assert words in shown


@KINDS
@pytest.mark.parametrize("tab", ["overview", "findings", "document", "timeline", "reviews", "x"])
def test_every_tab_opens(house: House, kind: Kind, tab: str) -> None:
    version = kind.in_review(house)
    answer = browser(house, "auditor").get(f"{_page(kind, 'change', version.pk)}?tab={tab}")
    assert answer.status_code == 200


@KINDS
def test_text_of_a_document_is_never_markup(house: House, kind: Kind) -> None:
    hostile = kind.make(owner_role="<script>alert(1)</script>")
    version = kind.walk(house).draft(hostile)
    visitor = browser(house, "author")
    for address in (
        _page(kind, "changelist"),
        _page(kind, "edit", version.pk),
        f"{_page(kind, 'change', version.pk)}?tab=document",
        _page(kind, "review", version.pk),
    ):
        assert "<script>alert" not in text_of(visitor.get(address))


# --- simulator -----------------------------------------------------------------------------------
SIMULATOR = "policybundleversion_simulator"


def _governed() -> House:
    """A published policy and a draft that denies what it allowed."""
    house = ready(staffed)
    house.published(refunds())
    walk = policy_walk(house)
    walk.published(bundle())
    stricter = bundle(version="1.1.0")
    stricter["rules"][0]["then"] = {"allow": False}
    walk.draft(stricter)
    return house


house, governed = house_or("governed", _governed)


@pytest.mark.proves("C4")
def test_the_simulator_shows_both_decisions_side_by_side(governed: House) -> None:
    answer = browser(governed, "auditor").post(
        page(SIMULATOR), {"action": "input", "input": _json(refund_input(500))}
    )
    shown = text_of(answer)
    assert "With refunds@1.1.0" in shown
    assert "policy.denied_by_rule" in shown
    assert "small_refund_lower" in shown
    assert "differs" in shown


def test_the_simulator_starts_from_the_tests_of_the_bundle(governed: House) -> None:
    reader = browser(governed, "auditor")
    assert "a large refund is denied" in text_of(reader.get(page(SIMULATOR)))
    shown = text_of(reader.post(page(SIMULATOR), {"action": "example:0"}))
    assert "the same decision" in shown


@pytest.mark.parametrize("text", ["{", "[]", '{"capability": 7}', ""])
def test_an_input_that_can_not_be_used_is_explained(governed: House, text: str) -> None:
    answer = browser(governed, "auditor").post(page(SIMULATOR), {"action": "input", "input": text})
    assert answer.status_code == 422
    assert 'id="fault"' in text_of(answer)


def test_without_recorded_calls_the_simulator_says_so(governed: House) -> None:
    answer = browser(governed, "auditor").post(
        page(SIMULATOR), {"action": "recorded", "last_n": "10"}
    )
    assert "no recorded calls" in text_of(answer)


@override_settings(
    CONTEXTOS_POLICY_INPUTS_PROVIDER="tests.registry.api.test_documents.recorded_two"
)
def test_recorded_calls_are_decided_again(governed: House) -> None:
    shown = text_of(
        browser(governed, "auditor").post(page(SIMULATOR), {"action": "recorded", "last_n": "2"})
    )
    assert "Of 2 recorded calls 1 would be decided otherwise" in shown
    assert "dec_2" in shown


def test_a_tenant_without_policies_is_told_where_to_begin(house: House) -> None:
    assert "Write your first policy" in text_of(browser(house, "author").get(page(SIMULATOR)))


def test_the_simulator_offers_nothing_of_another_tenant(governed: House, neighbour: House) -> None:
    draft = PolicyBundleVersion.objects.get(version="1.1.0")
    answer = browser(neighbour, "admin").get(f"{page(SIMULATOR)}?version={draft.pk}")
    assert "refunds" not in text_of(answer).split("<main")[-1]


# --- the front page ------------------------------------------------------------------------------
def _front(house: House, name: str) -> str:
    return text_of(browser(house, name).get(reverse("admin:index")))


@KINDS
def test_a_review_waits_on_the_front_page_of_those_who_may_decide(house: House, kind: Kind) -> None:
    version = kind.in_review(house)
    address = _page(kind, "review", version.pk)
    assert address in _front(house, "reviewer")
    assert address not in _front(house, "operator")
    kind.walk(house).approve(version)
    assert address not in _front(house, "reviewer")
    assert _page(kind, "change", version.pk) in _front(house, "admin")


@KINDS
def test_a_document_that_can_not_be_trusted_is_on_the_front_page(house: House, kind: Kind) -> None:
    version = kind.walk(house).published(kind.make())
    assert "not usable" not in _front(house, "admin")
    with triggers_asleep(connection):
        rows = kind.walk(house).model._default_manager.filter(pk=version.pk)
        rows.update(envelope={"payload": "", "payloadType": "x", "signatures": []})
    front = _front(house, "admin")
    assert "not usable" in front
    shown = text_of(browser(house, "admin").get(_page(kind, "change", version.pk)))
    assert "signature refused" in shown


def test_policies_in_force_and_first_steps_are_on_the_front_page(house: House) -> None:
    assert "Publish your first policy" in _front(house, "author")
    policy_walk(house).published(bundle())
    policy_walk(house).published(bundle(version="1.1.0"), shadow=True)
    front = _front(house, "author")
    assert "refunds@1.0.0" in front
    assert "watches only" in front


# --- help and pictures of the language -----------------------------------------------------------
def test_the_help_lists_exactly_the_operators_and_roots_of_the_language() -> None:
    from registry.admin.syntax_help import OPERATOR_GROUPS, ROOTS
    from registry.policy.logic import OPERATORS, READABLE_ROOTS, check_logic

    listed = [operator for group in OPERATOR_GROUPS for operator in group.operators]
    assert len(listed) == len(set(listed))
    assert set(listed) == OPERATORS
    assert set(ROOTS) == set(READABLE_ROOTS)
    for group in OPERATOR_GROUPS:
        logic = orjson.loads(group.example)
        assert check_logic({"!!": [logic]}) == ()


def test_the_help_shows_effects_that_a_bundle_may_have() -> None:
    from registry.admin.syntax_help import EFFECTS
    from registry.policy import check_bundle

    for example, _ in EFFECTS:
        document = bundle(tests=[])
        document["rules"][0]["then"] = orjson.loads(example)
        assert check_bundle(document) == ()


def test_models_are_named_as_people_say_them() -> None:
    assert str(ContextPackVersion._meta.verbose_name_plural) == "Context Packs"
    assert str(PolicyBundleVersion._meta.verbose_name_plural) == "policy bundles"
