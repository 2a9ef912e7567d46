"""Reads what a live server offers: initialize, capabilities, tools, resources, prompts (B5)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import mcp_types as types
from mcp import ClientSession

from contextos.core.errors import coded_error
from gateway.connectors.mcp.portal import sessions
from gateway.connectors.mcp.sessions import Order
from registry.importers.mcp import Discovered

MOST_PAGES = 50
MOST_ITEMS = 1000
Page = Callable[..., Awaitable[Any]]


def discover(order: Order) -> Discovered:
    """Ask the server; what it does not declare is not asked for."""

    async def read(client: ClientSession) -> Discovered:
        with anyio.fail_after(max(0.0, order.seconds_left())):
            return await _read(client)

    found: Discovered = sessions().use(order, read).result
    return found


async def _read(client: ClientSession) -> Discovered:
    greeting = client.initialize_result
    if greeting is None:
        raise coded_error("mcp.connection_lost")
    offers = greeting.capabilities
    resources, templates, prompts = [], [], []
    tools = await _all(client.list_tools, "tools") if offers.tools else []
    if offers.resources:
        resources = await _all(client.list_resources, "resources")
        templates = await _all(client.list_resource_templates, "resource_templates")
    if offers.prompts:
        prompts = await _all(client.list_prompts, "prompts")
    return Discovered(
        protocol_version=greeting.protocol_version,
        server=_plain(greeting.server_info),
        server_capabilities=_plain(offers),
        tools=tools,
        resources=resources,
        resource_templates=templates,
        prompts=prompts,
    )


async def _all(ask: Page, member: str) -> list[dict[str, Any]]:
    """Every page; a list without end is a fault of the server."""
    found: list[dict[str, Any]] = []
    cursor: str | None = None
    for _ in range(MOST_PAGES):
        page = await ask(params=types.PaginatedRequestParams(cursor=cursor))
        found += [_plain(item) for item in getattr(page, member)]
        cursor = page.next_cursor
        if len(found) > MOST_ITEMS:
            break
        if cursor is None:
            return found
    what = member.replace("_", " ")
    message = f"The server's list of {what} has no end, or more than {MOST_ITEMS} of them."
    raise coded_error("mcp.protocol_error", message=message)


def _plain(model: Any) -> dict[str, Any]:
    dumped: dict[str, Any] = model.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped
