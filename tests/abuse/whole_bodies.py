"""Good bodies for requests whose description leaves part of them open: documents, arguments, lists.

The description says nothing of the texts inside those; here stands one whole body for each, and
every text in it is a field of its own. test_naughty_api.py finds requests that have none.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from tests.gateway.world import INTENT, GatewayWorld
from tests.registry.documents import bundle, pack, refund_input
from tests.registry.manifests import orders
from tests.registry.walks import pack_walk, policy_walk

Body = dict[str, Any]
Where = tuple[str, str]  # method and path of the description
Pointer = tuple[str | int, ...]

DRAFT, REVIEWED, NEXT = "7.1.0", "7.2.0", "7.3.0"


@dataclass(frozen=True, slots=True)
class End:
    """What a whole body is answered with as it stands, and whether the answer shows its texts."""

    statuses: tuple[int, ...] = (200, 201, 202)
    shows: bool = False


def prepare(world: GatewayWorld) -> None:
    """What the bodies speak of: a draft and a version in review of each document."""
    house = world.house
    house.draft(orders(version=DRAFT))
    house.in_review(orders(version=REVIEWED, name="Orders again"))
    for walk, document in ((pack_walk(house), pack), (policy_walk(house), bundle)):
        walk.draft(document(version=DRAFT))
        walk.in_review(document(version=REVIEWED))


def whole_bodies() -> Mapping[Where, Body]:
    """By where they are sent."""
    approval = {"reason": "Read it.", "accepted_warnings": ["some.finding"]}
    documents: dict[Where, Body] = {
        ("POST", "/api/v1/adapters/{adapter_id}/versions"): orders(version=NEXT),
        ("PUT", "/api/v1/adapters/{adapter_id}/versions/{version}"): orders(version=DRAFT),
        ("POST", "/api/v1/packs"): pack(pack_id="support_other"),
        ("POST", "/api/v1/packs/{pack_id}/versions"): pack(version=NEXT),
        ("PUT", "/api/v1/packs/{pack_id}/versions/{version}"): pack(version=DRAFT),
        ("POST", "/api/v1/policies"): bundle(bundle_id="others"),
        ("POST", "/api/v1/policies/{bundle_id}/versions"): bundle(version=NEXT),
        ("PUT", "/api/v1/policies/{bundle_id}/versions/{version}"): bundle(version=DRAFT),
    }
    reviews = {
        ("POST", f"/api/v1/{kind}/versions/{{version}}/approve"): approval
        for kind in ("adapters/{adapter_id}", "packs/{pack_id}", "policies/{bundle_id}")
    }
    return documents | reviews | _of_calls() | _of_records()


def _of_calls() -> dict[Where, Body]:
    run = {
        "tenant_id": "",
        "intent": INTENT,
        "environment": "production",
        "context_pack_refs": ["support_refund@1.0.0"],
        "context": {"ticket": "T-1", "tags": ["one", {"deep": "two"}]},
    }
    call = {
        "run_id": "",
        "capability_id": "notes.add",
        "args": {"text": "A note."},
        "metadata": {"note": "For a customer."},
        "idempotency_key": "key-of-a-note",
    }
    step = {"step_id": "s1", "capability_id": "orders.lookup", "args": {"order_id": "ord_0001"}}
    plan = {"plan_id": "plan_1", "intent": INTENT, "intent_mode": "read_only", "steps": [step]}
    return {
        ("POST", "/api/v1/runs"): run,
        ("POST", "/api/v1/tool-calls"): call,
        ("POST", "/api/v1/tool-calls/{tool_call_id}/input"): {
            "action": "accept",
            "content": {"note": "Yes."},
        },
        ("POST", "/api/v1/plans/verify"): {"run_id": "", "plan": plan},
    }


def _of_records() -> dict[Where, Body]:
    return {
        ("POST", "/api/v1/exports"): {
            "format": "csv",
            "filter": {"capability": "orders.lookup"},
            "columns": ["decision_id"],
        },
        ("POST", "/api/v1/policies/simulate"): {"bundle": bundle(), "input": refund_input()},
    }


def _is_document(where: Where) -> bool:
    return where[1].startswith(("/api/v1/adapters", "/api/v1/packs", "/api/v1/policies/{")) or (
        where[1] == "/api/v1/policies"
    )


def _end_of(where: Where) -> End:
    if where[1].endswith("/approve"):
        return End(statuses=(200, 422))  # no finding has that name: as far as such a text gets
    if where[1].endswith("/input"):
        return End(statuses=(409,))  # the call has ended: nobody asks for any more
    return End(shows=_is_document(where) or where[1] == "/api/v1/tool-calls")


ENDS: dict[Where, End] = {where: _end_of(where) for where in whole_bodies()}


def texts_of(body: Any, at: Pointer = ()) -> Iterator[Pointer]:
    """Where its texts stand, however deep."""
    if isinstance(body, str):
        yield at
    members: Iterable[tuple[str | int, Any]] = ()
    if isinstance(body, dict | list):
        members = body.items() if isinstance(body, dict) else enumerate(body)
    for name, member in members:
        yield from texts_of(member, (*at, name))


def replaced(body: Body, at: Pointer, text: str) -> Body:
    """The same with another text there."""
    changed: Any = copy.deepcopy(body)
    holder = changed
    for name in at[:-1]:
        holder = holder[name]
    holder[at[-1]] = text
    return dict(changed)


def strings_in(value: Any) -> Iterator[str]:
    """Every text of an answer."""
    if isinstance(value, str):
        yield value
    members = value.values() if isinstance(value, dict) else value
    for member in members if isinstance(value, dict | list) else ():
        yield from strings_in(member)
