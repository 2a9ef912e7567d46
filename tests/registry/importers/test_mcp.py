"""A live server's own words become a draft: careful with what is new, true to what was decided."""

from __future__ import annotations

from typing import Any

import pytest

from contextos.core import strict_json
from registry.importers.mcp import Discovered, draft_from
from registry.manifest import normalise
from tests.architecture.source import ROOT

ANY = {"type": "object"}


def payments() -> dict[str, Any]:
    path = ROOT / "examples" / "manifests" / "payments.json"
    return normalise(strict_json.loads_object(path.read_bytes()))


def live(base: dict[str, Any]) -> list[dict[str, Any]]:
    """The tools as a server would list them that keeps to the manifest."""
    return [
        {
            "name": item["mcp_tool_name"],
            "description": item["description"],
            "inputSchema": base["schemas"][item["input_schema_ref"]],
            "outputSchema": base["schemas"][item["output_schema_ref"]],
        }
        for item in base["capabilities"]
    ]


def found(tools: list[dict[str, Any]], **more: Any) -> Discovered:
    return Discovered(
        protocol_version="2025-11-25",
        server={"name": "s", "version": "1"},
        server_capabilities={"tools": {}},
        tools=tools,
        **more,
    )


@pytest.mark.proves("B5")
def test_a_server_that_kept_its_word_changes_nothing_but_what_it_declares() -> None:
    base = payments()
    drafted = draft_from(found(live(base)), base=base)
    assert (drafted.added, drafted.changed, drafted.gone) == ((), (), ())
    assert drafted.manifest["capabilities"] == base["capabilities"]
    assert drafted.manifest["schemas"] == base["schemas"]
    assert drafted.manifest["server_capabilities"] == {"tools": {}}
    assert "version" not in drafted.manifest  # the registry numbers the draft


@pytest.mark.proves("B5")
def test_a_new_tool_is_read_as_carefully_as_can_be_whatever_it_says_of_itself() -> None:
    base = payments()
    tool = {
        "name": "payments-list.All",
        "description": "Reads.",
        "inputSchema": ANY,
        "annotations": {"readOnlyHint": True, "destructiveHint": False},
    }
    drafted = draft_from(found([*live(base), tool]), base=base)
    new = drafted.manifest["capabilities"][-1]
    assert drafted.added == ("payments-list.All",)
    assert (new["capability_class"], new["approval_mode"]) == ("act", "destructive")
    assert new["capability_id"] == "payments.list_all"
    assert new["idempotency"] == {"required": True}
    assert new["input_schema"] == ANY


@pytest.mark.proves("B5")
def test_what_people_decided_of_a_known_tool_is_kept_when_the_server_changes_it() -> None:
    base = payments()
    tools = live(base)
    tools[1] = {**tools[1], "description": "Now also deletes.", "inputSchema": ANY}
    drafted = draft_from(found(tools[1:]), base=base)
    (refund,) = drafted.manifest["capabilities"]
    assert drafted.changed == ("payments_issue_refund",)
    assert drafted.gone == ("payments_lookup_transaction",)
    assert refund["approval_mode"] == "destructive"
    assert refund["requires_approval_gate"] == "GATE_FINANCE_APPROVAL"
    assert refund["description"] == "Now also deletes."
    assert (refund["input_schema"], "input_schema_ref" in refund) == (ANY, False)
    assert "schema://payments.lookup_transaction.input.v1" not in drafted.manifest["schemas"]


@pytest.mark.proves("B5")
def test_every_capability_that_a_tool_serves_is_kept_as_it_was_decided() -> None:
    base = payments()
    bounded = {
        **base["capabilities"][1],
        "capability_id": "payments.issue_small_refund",
        "arg_constraints": {"amount_inr": {"max": 500}},
    }
    base["capabilities"].append(bounded)
    drafted = draft_from(found(live(payments())), base=base)
    kept = {item["capability_id"]: item for item in drafted.manifest["capabilities"]}
    assert kept == {item["capability_id"]: item for item in base["capabilities"]}
    assert (drafted.added, drafted.changed, drafted.gone) == ((), (), ())


def test_two_tools_never_get_one_id() -> None:
    tools = [{"name": name, "inputSchema": ANY} for name in ("get-it", "get_it", "9 lives", "✓")]
    drafted = draft_from(found(tools), base={"adapter_id": "adp_odd_mcp"})
    ids = [item["capability_id"] for item in drafted.manifest["capabilities"]]
    assert ids == ["odd.get_it", "odd.get_it_2", "odd.t_9_lives", "odd.t"]


@pytest.mark.proves("B5")
def test_resources_are_restricted_and_prompts_known_until_somebody_decides() -> None:
    base = {"adapter_id": "adp_x", "resources": [{"uri": "a://1", "classification": "PUBLIC"}]}
    drafted = draft_from(
        found(
            [],
            resources=[
                {"uri": "a://1", "name": "one", "size": 3},
                {"uri": "a://2", "name": "two", "mimeType": "text/plain"},
            ],
            resource_templates=[{"uriTemplate": "a://{id}", "name": "any"}],
            prompts=[{"name": "greet", "arguments": [{"name": "who"}]}],
        ),
        base=base,
    ).manifest
    known, new = drafted["resources"]
    assert (known["classification"], known["size_bytes"]) == ("PUBLIC", 3)
    assert (new["classification"], new["access"]["roles"]) == ("RESTRICTED", [])
    assert drafted["resource_templates"][0]["parameter_constraints"] == {}
    assert drafted["prompts"][0]["arguments"] == [{"name": "who"}]
