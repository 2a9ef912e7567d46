"""A manifest comes in: normalised, numbered, indexed, linted; and drafts are edited in turn."""

from __future__ import annotations

import json
from typing import Any

import pytest

from audit.artefacts import read_artefact
from audit.models import AuditEvent
from contextos.core.canonical import digest
from contextos.core.errors import ContextOSError
from registry.models import Adapter, AdapterVersion, SchemaDocument
from registry.selectors import manifest_of
from registry.services.adapters import register_adapter
from registry.services.manifests import create_draft, replace_draft
from tests.registry.house import House
from tests.registry.manifests import ORDER_IN, ORDER_OUT, blocked, orders, refunds


def refused(code: str, act: Any, *args: Any, **kwargs: Any) -> ContextOSError:
    with pytest.raises(ContextOSError) as caught:
        act(*args, **kwargs)
    assert caught.value.code == code
    return caught.value


def nothing_stored() -> bool:
    return not (Adapter.objects.exists() or AdapterVersion.objects.exists())


@pytest.mark.proves("B2")
def test_the_manifest_is_the_artefact_and_the_row_names_it_by_digest(house: House) -> None:
    version = house.draft(orders())
    stored = manifest_of(version)
    assert version.digest == digest(stored)
    assert read_artefact(tenant_id=house.tenant_id, digest=version.digest)
    assert (stored["adapter_id"], stored["version"]) == ("adp_orders", "1.0.0")
    assert (version.environment, version.protocol, version.highest_mode) == (
        "production",
        "function",
        "read_only",
    )


@pytest.mark.proves("B8")
def test_capabilities_are_indexed_with_their_whole_contract(house: House) -> None:
    manifest = refunds()
    manifest["capabilities"][0] |= {
        "domain": "payments",
        "intents": ["support.refund"],
        "required_claims": ["mfa"],
    }
    row = house.draft(manifest).capabilities.get()
    assert (row.capability_id, row.capability_class, row.approval_mode) == (
        "payments.issue_refund",
        "act",
        "destructive",
    )
    assert (row.gate, row.requires_idempotency_key) == ("GATE_FINANCE_APPROVAL", True)
    assert (row.domain, row.intents, row.required_claims) == (
        "payments",
        ["support.refund"],
        ["mfa"],
    )
    assert row.owner_role == "payments_platform"
    assert row.binding == "examples.payments:issue_refund"
    assert (row.pointer, row.mode_rank, row.is_active) == ("/capabilities/0", 4, False)


@pytest.mark.proves("B9")
def test_scopes_are_indexed_per_version_as_initial_or_step_up(house: House) -> None:
    auth = {
        "type": "oauth2",
        "token_audience": "payments",
        "resource": "payments",
        "initial_scopes": ["payments.read"],
        "step_up_scopes": {"payments.issue_refund": ["payments.refund.write"]},
    }
    first = house.draft(refunds(auth=auth))
    second = house.draft(refunds(auth={**auth, "initial_scopes": ["payments.read", "orders.read"]}))
    rows = set(first.scopes.values_list("kind", "name", "capability_id"))
    assert rows == {
        ("initial", "payments.read", ""),
        ("step_up", "payments.refund.write", "payments.issue_refund"),
    }
    assert second.scopes.count() == 3


@pytest.mark.proves("B9")
def test_a_wildcard_scope_stops_the_submission(house: House) -> None:
    auth = {
        "type": "oauth2",
        "token_audience": "o",
        "resource": "o",
        "initial_scopes": ["orders.*"],
    }
    error = refused("review.blocked_by_findings", house.submit, house.draft(orders(auth=auth)))
    assert any("auth.scope.wildcard" in found for found in error.data["findings"])


@pytest.mark.proves("B7")
def test_schemas_are_kept_by_content_under_their_names(house: House) -> None:
    version = house.draft(orders())
    names = dict(version.schemas.values_list("ref", "document__digest"))
    assert set(names) == {ORDER_IN, ORDER_OUT}
    manifest = manifest_of(version)
    assert names[ORDER_IN] == digest(manifest["schemas"][ORDER_IN])
    stored = SchemaDocument.objects.get(digest=names[ORDER_IN])
    assert json.JSONDecoder().decode(stored.text) == manifest["schemas"][ORDER_IN]
    assert stored.dialect == "https://json-schema.org/draft/2020-12/schema"


@pytest.mark.proves("B7")
def test_two_names_for_one_schema_share_a_document(house: House) -> None:
    manifest = orders()
    manifest["schemas"]["schema://orders.alias.v1"] = manifest["schemas"][ORDER_OUT]
    version = house.draft(manifest)
    assert version.schemas.count() == 3
    assert version.schemas.values("document").distinct().count() == 2


def test_findings_stand_beside_the_draft_in_the_order_of_the_document(house: House) -> None:
    version = house.draft(blocked())
    found = list(version.findings.values_list("rule", "severity"))
    assert ("capability.approval_mode.missing", "block") in found
    house.edit(version, orders(), by="author")
    assert not version.findings.filter(severity="block").exists()


def test_a_manifest_as_bytes_and_as_an_object_make_the_same_document(house: House) -> None:
    as_object = house.draft(orders(version="1.0.0"))
    as_bytes = create_draft(
        tenant_id=house.tenant_id,
        document=json.dumps(orders(version="2.0.0")).encode(),
        author=house.author,
        actor=house.actor("author"),
    )
    first, second = manifest_of(as_object), manifest_of(as_bytes)
    assert {**first, "version": "2.0.0"} == second


# --- numbers -------------------------------------------------------------------------------------
def test_numbers_are_assigned_in_turn_and_never_twice(house: House) -> None:
    numbers = [house.draft(orders()).version for _ in range(3)]
    assert numbers == ["1.0.0", "1.1.0", "1.2.0"]
    assert house.draft(orders(version="3.0.0")).version == "3.0.0"
    assert house.draft(orders()).version == "3.1.0"
    refused("manifest.version_taken", house.draft, orders(version="1.1.0"))


@pytest.mark.parametrize(
    "number", ["1", "1.0", "v1.0.0", "01.0.0", "1.0.0-01", "1.0.٣", 7, "x" * 99]
)
def test_a_number_that_is_no_semantic_version_is_refused(house: House, number: Any) -> None:
    refused("manifest.version_malformed", house.draft, orders(version=number))
    assert nothing_stored()


# --- edits ---------------------------------------------------------------------------------------
@pytest.mark.proves("B2")
def test_an_edit_keeps_the_number_and_names_the_editor(house: House) -> None:
    draft = house.draft(orders())
    edited = house.edit(draft, orders(name="Orders II"), by="admin")
    assert (edited.pk, edited.version) == (draft.pk, "1.0.0")
    assert set(edited.editors) == {house.author.user_id, house.user("admin").user_id}
    assert edited.author == house.author
    assert manifest_of(edited)["name"] == "Orders II"


def test_an_edit_of_an_outdated_draft_overwrites_nothing(house: House) -> None:
    draft = house.draft(orders())
    seen = draft.digest
    house.edit(draft, orders(name="By the admin"), by="admin")
    terms = {"version_id": draft.pk, "editor": house.author, "actor": house.actor("author")}
    refused(
        "manifest.changed_meanwhile",
        replace_draft,
        document=orders(name="By the author"),
        expected_digest=seen,
        **terms,
    )
    assert manifest_of(house.fresh(draft))["name"] == "By the admin"


@pytest.mark.proves("B2")
def test_what_was_submitted_is_not_edited(house: House) -> None:
    version = house.in_review(orders())
    refused("manifest.not_a_draft", house.edit, version, orders(name="Better"), by="author")


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({"adapter_id": "adp_other"}, "manifest.adapter_mismatch"),
        ({"version": "9.9.9"}, "manifest.version_mismatch"),
        ({"environment": "moon"}, "manifest.environment_unknown"),
    ],
)
def test_an_edit_does_not_turn_a_draft_into_something_else(
    house: House, changes: dict[str, Any], code: str
) -> None:
    draft = house.draft(orders())
    refused(code, house.edit, draft, orders(**changes), by="author")
    assert house.fresh(draft).digest == draft.digest


# --- refusals leave nothing behind ---------------------------------------------------------------
def _long(member: str) -> dict[str, Any]:
    manifest = orders()
    if member == "capability_id":
        manifest["capabilities"][0]["capability_id"] = "orders." + "x" * 200
    elif member == "scope":
        manifest["auth"]["initial_scopes"] = ["s" * 301]
    elif member == "schema":
        manifest["schemas"]["schema://" + "s" * 300] = {}
    else:
        manifest["resources"] = [{"uri": "r" * 501}]
    return manifest


@pytest.mark.parametrize(
    ("manifest", "code"),
    [
        (orders(adapter_id=""), "manifest.adapter_id_missing"),
        (orders(adapter_id=7), "manifest.adapter_id_missing"),
        (orders(adapter_id="x" * 101), "manifest.adapter_id_malformed"),
        (orders(adapter_id="adp/orders"), "manifest.adapter_id_malformed"),
        (orders(adapter_id="<script>"), "manifest.adapter_id_malformed"),
        (orders(adapter_id="adp\u202eorders"), "manifest.adapter_id_malformed"),
        (orders(environment="moon"), "manifest.environment_unknown"),
        (orders(environment=["production"]), "manifest.environment_unknown"),
        (orders(name="a\x00b"), "json.unstorable"),
        (orders(extra=2**60), "json.integer_too_large"),
        (_long("capability_id"), "manifest.text_too_long"),
        (_long("scope"), "manifest.text_too_long"),
        (_long("schema"), "manifest.text_too_long"),
        (_long("uri"), "manifest.text_too_long"),
    ],
)
def test_a_refused_manifest_leaves_nothing_behind(
    house: House, manifest: dict[str, Any], code: str
) -> None:
    refused(code, house.draft, manifest)
    assert nothing_stored()
    assert not SchemaDocument.objects.exists()
    assert not AuditEvent.objects.filter(action__startswith="adapter").exists()


def test_nobody_drafts_in_another_tenant(house: House, neighbour: House) -> None:
    refused(
        "tenant.forbidden",
        create_draft,
        tenant_id=house.tenant_id,
        document=orders(),
        author=neighbour.author,
        actor=neighbour.actor("author"),
    )
    draft = house.draft(orders())
    refused(
        "tenant.forbidden",
        replace_draft,
        version_id=draft.pk,
        document=orders(),
        editor=neighbour.author,
        actor=neighbour.actor("author"),
    )
    refused(
        "request.not_found",
        replace_draft,
        version_id="adv_absent",
        document=orders(),
        editor=house.author,
        actor=house.actor("author"),
    )


def test_odd_shapes_are_findings_not_faults(house: House) -> None:
    odd = orders(
        capabilities=[{"capability_id": 7}, "text", None, {"capability_id": "a.b"}] * 2,
        auth={"initial_scopes": "all", "step_up_scopes": []},
        schemas={ORDER_IN: 7, ORDER_OUT: True},
        resources=[{"size_bytes": True, "uri": 5}, 5],
        prompts={"name": "x"},
        transport="function",
        rollout_notes=["a"],
    )
    version = house.draft(odd)
    assert version.findings.filter(severity="block").exists()
    assert [c.capability_id for c in version.capabilities.all()] == ["a.b"]


# --- adapters ------------------------------------------------------------------------------------
def test_an_adapter_is_registered_once_with_an_event(house: House) -> None:
    terms = {"tenant_id": house.tenant_id, "adapter_id": "adp_new", "name": "New"}
    made = register_adapter(actor=house.actor("author"), **terms)
    refused("adapter.exists", register_adapter, actor=house.actor("author"), **terms)
    house.draft(orders(adapter_id="adp_new"))
    assert Adapter.objects.get() == made
    assert AuditEvent.objects.filter(action="adapter.registered").count() == 1


def test_an_adapter_is_not_registered_in_another_tenant(house: House, neighbour: House) -> None:
    refused(
        "tenant.forbidden",
        register_adapter,
        tenant_id=house.tenant_id,
        adapter_id="adp_new",
        name="New",
        actor=neighbour.actor("author"),
    )
