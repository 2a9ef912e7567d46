"""Visits to the gateway's pages by the people of a house, and calls to look at."""

from __future__ import annotations

from typing import Any

from django.test import Client
from django.urls import reverse
from django.utils import timezone

from gateway.models import ToolCall
from gateway.worker import work_on
from tests.gateway.world import GatewayWorld
from tests.identity.signed_in import browser_of

CALLS = "/api/v1/tool-calls"
EVERYBODY = ("admin", "author", "reviewer", "auditor", "operator", "approver", "service")
READERS = ("admin", "author", "reviewer", "auditor", "operator")
VALUE_READERS = ("admin", "auditor", "operator")
SETTLERS = ("admin", "operator")


def visitor(world: GatewayWorld, name: str) -> Client:
    """A signed-in browser of somebody of the world's house."""
    return browser_of(world.house.user(name), world.house.tenant)


def page(name: str, *arguments: Any) -> str:
    """The address of one of the gateway's pages."""
    return reverse(f"admin:gateway_{name}", args=arguments)


def propose(world: GatewayWorld, capability: str, args: Any, **body: Any) -> dict[str, Any]:
    """What the gateway answers to a call."""
    run = body.pop("run", None) or world.open_run()
    sent = {"run_id": run["run_id"], "capability_id": capability, "args": args, **body}
    return dict(world.post(CALLS, sent).json())


def looked_up(world: GatewayWorld, order_id: str = "ord_0001", **body: Any) -> ToolCall:
    """A read that came back."""
    answer = propose(world, "orders.lookup", {"order_id": order_id}, **body)
    return ToolCall.objects.get(pk=answer["tool_call_id"])


def note(
    world: GatewayWorld, text: str, *, capability: str = "notes.add", worked: bool = True
) -> ToolCall:
    """A write, taken up by a worker unless told otherwise."""
    answer = propose(world, capability, {"text": text}, idempotency_key="ik_1")
    call_id = answer["tool_call_id"]
    if worked:
        ToolCall.objects.filter(pk=call_id).update(due_at=timezone.now())
        work_on(call_id)
    return ToolCall.objects.get(pk=call_id)


def unknown_outcome(world: GatewayWorld, *, deduplicates: bool = False) -> ToolCall:
    """A write whose process died after the effect; with deduplication the retries run out."""
    if not deduplicates:
        return note(world, "die after writing", capability="notes.add_blindly")
    call = note(world, "hello", worked=False)
    ToolCall.objects.filter(pk=call.pk).update(
        state="unknown_outcome", attempts=3, error_code="function.timeout"
    )
    return ToolCall.objects.get(pk=call.pk)
