"""Reading a manifest, and bringing draft spellings into the one normalised form."""

import copy
from typing import Any

import pytest
from hypothesis import given

from contextos.core.errors import ContextOSError
from contextos.core.modes import ApprovalMode, CapabilityClass
from contextos.core.strict_json import dumps
from registry.manifest import (
    MAX_MANIFEST_BYTES,
    load_manifest,
    normalise,
    normalise_with_origins,
    view,
)
from registry.manifest.published_schema import manifest_schema, manifest_validator, unknown_members
from registry.validation import check_schema
from tests.registry.readiness.manifests import changed, example
from tests.registry.readiness.strategies import WILD_DOCUMENTS, mutated_manifests

pytestmark = pytest.mark.proves("B1")

EXAMPLES = ("payments", "payments_v2", "orders", "knowledge")


def capability(**members: Any) -> dict[str, Any]:
    document = {"protocol": "mcp", "capabilities": [{"capability_id": "a.b", **members}]}
    found: dict[str, Any] = normalise(document)["capabilities"][0]
    return found


class TestNormalising:
    @given(mutated_manifests())
    def test_it_is_idempotent_and_changes_nothing_it_was_given(self, document: Any) -> None:
        before = copy.deepcopy(document)
        once = normalise(document)
        assert document == before
        assert dumps(normalise(once)) == dumps(once)

    @given(WILD_DOCUMENTS)
    def test_it_takes_any_object(self, document: Any) -> None:
        once = normalise(document)
        assert normalise(once) == once

    @pytest.mark.parametrize("name", EXAMPLES)
    def test_a_complete_manifest_only_gains_defaults(self, name: str) -> None:
        document, normalised = example(name), normalise(example(name))
        assert normalised["schemas"] == document["schemas"]
        for given_one, made in zip(
            document["capabilities"], normalised["capabilities"], strict=True
        ):
            assert {key: made[key] for key in given_one} == given_one
        assert normalised["environment"] == "production"

    def test_every_default_is_written_out(self) -> None:
        made = capability()
        assert made["idempotency"] == {"required": False}
        assert made["execution"] == {"mode": "call", "cancellable": False}
        assert made["retry_policy"]["max_attempts"] == 1
        assert made["decision_bindings"] == made["evidence_keys"] == made["icons"] == []
        document = normalise({"auth": {"type": "oauth2"}})
        assert document["environment"] == "production"
        assert document["sampling"] == {"declared": False}
        assert document["auth"]["allow_token_passthrough"] is False

    def test_a_transport_given_as_a_word_becomes_an_object(self) -> None:
        assert normalise({"transport": "stdio"})["transport"] == {"kind": "stdio"}

    def test_feature_names_become_server_capabilities(self) -> None:
        made = normalise({"capabilities": ["tools", {"capability_id": "a.b"}, "prompts"]})
        assert made["server_capabilities"] == {"tools": {}, "prompts": {}}
        assert [item["capability_id"] for item in made["capabilities"]] == ["a.b"]

    def test_pinned_features_win_over_feature_names(self) -> None:
        pinned = {"tools": {"listChanged": True}}
        made = normalise({"capabilities": ["tools"], "server_capabilities": pinned})
        assert made["server_capabilities"] == pinned

    def test_a_word_that_is_no_feature_stays_for_the_linter(self) -> None:
        assert normalise({"capabilities": ["payments"]})["capabilities"] == ["payments"]

    def test_inline_schemas_move_under_a_name(self) -> None:
        document = {"capabilities": [{"capability_id": "a.b", "input_schema": {"type": "object"}}]}
        made = normalise(document)
        assert made["capabilities"][0]["input_schema_ref"] == "schema://a.b.input.v1"
        assert "input_schema" not in made["capabilities"][0]
        assert made["schemas"] == {"schema://a.b.input.v1": {"type": "object"}}

    def test_an_inline_schema_fills_the_reference_beside_it(self) -> None:
        item = {"capability_id": "a.b", "output_schema_ref": "a.out", "output_schema": True}
        made = normalise({"capabilities": [item]})
        assert made["schemas"] == {"schema://a.out": True}
        assert made["capabilities"][0]["output_schema_ref"] == "schema://a.out"

    def test_two_inline_schemas_never_overwrite_each_other(self) -> None:
        items = [
            {"capability_id": "a.b", "input_schema": {"title": "one"}},
            {"capability_id": "a.b", "input_schema": {"title": "two"}},
        ]
        made = normalise({"capabilities": items})
        refs = [item["input_schema_ref"] for item in made["capabilities"]]
        assert [made["schemas"][ref]["title"] for ref in refs] == ["one", "two"]

    @pytest.mark.parametrize("ref", ["a.input.v1", "schema://a.input.v1", "#/schemas/a.input.v1"])
    def test_references_without_a_scheme_get_one(self, ref: str) -> None:
        assert capability(input_schema_ref=ref)["input_schema_ref"] == "schema://a.input.v1"

    @pytest.mark.parametrize("ref", ["https://x.example.com/a.json", "urn:a", "", "#/$defs/a"])
    def test_other_references_are_left_alone(self, ref: str) -> None:
        assert capability(input_schema_ref=ref)["input_schema_ref"] == ref

    def test_schemas_may_name_each_other_without_a_scheme(self) -> None:
        schemas = {"money": {"type": "number"}, "refund": {"properties": {"a": {"$ref": "money"}}}}
        made = normalise({"schemas": schemas})["schemas"]
        assert made["schema://refund"]["properties"]["a"] == {"$ref": "schema://money"}

    def test_data_that_looks_like_a_reference_is_left_alone(self) -> None:
        schemas = {
            "money": {},
            "refund": {"const": {"$ref": "money"}, "default": {"$ref": "money"}},
        }
        made = normalise({"schemas": schemas})["schemas"]
        assert made["schema://refund"] == schemas["refund"]

    @pytest.mark.parametrize(
        ("protocol", "binding"),
        [
            ("mcp", "mcp_tool_name"),
            ("openapi", "openapi_operation_id"),
            ("a2a", "a2a_skill_id"),
            ("function", "function_name"),
            ("custom", "mcp_tool_name"),
        ],
    )
    def test_a_protocol_tool_becomes_the_protocols_own_binding(
        self, protocol: str, binding: str
    ) -> None:
        item = {"capability_id": "a.b", "protocol_tool": "a_b"}
        made = normalise({"protocol": protocol, "capabilities": [item]})["capabilities"][0]
        assert made[binding] == "a_b"
        assert "protocol_tool" not in made

    def test_decision_bindings_are_collected_without_their_prefix(self) -> None:
        made = capability(decision_bindings=["decision.x.y"], decision_binding="decision.x.z")
        assert made["decision_bindings"] == ["x.y", "x.z"]
        assert "decision_binding" not in made
        repeated = capability(decision_bindings=["x.y"], decision_binding="decision.x.y")
        assert repeated["decision_bindings"] == ["x.y"]

    def test_step_up_scopes_use_the_exact_capability_id(self) -> None:
        document = changed({"/auth/step_up_scopes": {"adp_payments.issue_refund": ["a"]}})
        assert normalise(document)["auth"]["step_up_scopes"] == {"payments.issue_refund": ["a"]}

    def test_sampling_is_declared_by_whoever_says_anything_about_it(self) -> None:
        assert normalise({"sampling": {"purpose": "x"}})["sampling"]["declared"] is True
        assert normalise({"sampling": {}})["sampling"]["declared"] is False
        assert normalise({"sampling": {"declared": False}})["sampling"]["declared"] is False

    def test_it_remembers_where_everything_came_from(self) -> None:
        document = {
            "protocol": "mcp",
            "transport": "stdio",
            "schemas": {"x/y": {}},
            "capabilities": [
                "tools",
                {"capability_id": "a.b", "input_schema": {}, "protocol_tool": "t"},
            ],
        }
        source_of = normalise_with_origins(document).origins.source_of
        assert source_of("/transport/kind") == "/transport"
        assert source_of("/capabilities/0/capability_id") == "/capabilities/1/capability_id"
        assert source_of("/capabilities/0/mcp_tool_name") == "/capabilities/1/protocol_tool"
        inline = "/schemas/schema:~1~1a.b.input.v1/properties/x"
        assert source_of(inline) == "/capabilities/1/input_schema/properties/x"
        assert source_of("/schemas/schema:~1~1x~1y/type") == "/schemas/x~1y/type"
        assert source_of("/name") == "/name"


class TestReading:
    def test_a_manifest_is_read_from_bytes(self) -> None:
        manifest = load_manifest(dumps(example("payments")).encode())
        refund = manifest.capabilities[1]
        assert manifest.adapter_id == "adp_payments_mcp"
        assert refund.capability_class is CapabilityClass.ACT
        assert refund.approval_mode is ApprovalMode.DESTRUCTIVE
        assert refund.is_write
        assert refund.tool_name == "payments_issue_refund"
        assert refund.schema_ref("input") in manifest.schemas
        assert [item.capability_id for item in manifest.writes()] == ["payments.issue_refund"]

    @pytest.mark.parametrize(
        ("data", "code"),
        [
            (b"not json", "json.malformed"),
            (b"", "json.malformed"),
            (b'{"a": 1, "a": 2}', "json.duplicate_key"),
            (b"[" * 200 + b"]" * 200, "json.too_deep"),
            (b'{"a": ' * 200 + b"1" + b"}" * 200, "json.too_deep"),
            (b'{"a": "' + b"x" * MAX_MANIFEST_BYTES + b'"}', "json.too_large"),
            (b"[]", "json.not_an_object"),
            (b'{"a": NaN}', "json.malformed"),
            (b'{"a": "\\ud800"}', "json.unstorable"),
            (b"\xff\xfe", "json.malformed"),
        ],
    )
    def test_what_is_no_strict_json_object_is_refused_with_its_code(
        self, data: bytes, code: str
    ) -> None:
        with pytest.raises(ContextOSError) as caught:
            load_manifest(data)
        assert caught.value.code == code

    def test_a_manifest_of_almost_five_megabytes_is_read(self) -> None:
        padded = example("orders") | {"rollout_notes": "x" * (MAX_MANIFEST_BYTES - 10_000)}
        assert load_manifest(dumps(padded)).adapter_id == "adp_orders"

    def test_wrong_types_read_as_absent(self) -> None:
        manifest = view({"adapter_id": 7, "auth": [], "transport": None, "capabilities": [1, {}]})
        assert manifest.adapter_id == manifest.auth_type == manifest.transport_kind == ""
        (only,) = manifest.capabilities
        assert only.index == 1
        assert only.capability_class is None
        assert only.approval_mode is None
        assert not only.is_write

    def test_a_write_is_a_write_even_where_half_of_its_declaration_is_missing(self) -> None:
        for members in ({"capability_class": "act"}, {"approval_mode": "destructive"}):
            assert view({"capabilities": [members]}).capabilities[0].is_write


class TestPublishedSchema:
    def test_it_is_a_valid_schema(self) -> None:
        assert check_schema(dict(manifest_schema()), imported=False) == ()

    @pytest.mark.parametrize("name", EXAMPLES)
    def test_the_examples_fit_it_as_written_and_as_normalised(self, name: str) -> None:
        document = example(name)
        assert manifest_validator().errors(document) == ()
        assert manifest_validator().errors(normalise(document)) == ()

    def test_draft_spellings_fit_it_too(self) -> None:
        document = example("payments")
        document["transport"] = "streamable_http"
        document["capabilities"].append("tools")
        document["capabilities"][0]["input_schema"] = {"type": "object"}
        assert manifest_validator().errors(document) == ()

    def test_unknown_members_are_found_at_any_depth(self) -> None:
        document = changed({"/colour": 1, "/transport/hue": 2, "/capabilities/0/tone": 3})
        assert dict(unknown_members(document)) == {
            "/colour": "colour",
            "/transport/hue": "hue",
            "/capabilities/0/tone": "tone",
        }

    def test_maps_with_free_keys_hold_no_unknown_members(self) -> None:
        document = changed(
            {
                "/schemas/schema:~1~1x": {"anything": {"goes": 1}},
                "/server_capabilities/experimental": {"x": 1},
                "/auth/step_up_scopes/payments.lookup_transaction": ["a"],
            }
        )
        assert list(unknown_members(document)) == []
