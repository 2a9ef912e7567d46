"""Provoke every refusal an agent can provoke; print its code, its sentence and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from ready import DESK, REFUND, Demo, expect, start, surprise

from contextos_client import Client, ContextOSError, new_key

ORDER, NOTE = {"order_id": "ord_1001"}, {"order_id": "ord_1001", "text": "Called back."}
Row = tuple[int, str, Callable[[], Any]]  # HTTP status, what is wrong, how to provoke it


def not_yours(here: Demo, client: Client) -> Iterator[Row]:
    """Wrong token, tenant, intent, run, call."""
    stranger = here.client("not.a.token")
    yield 401, "a token nobody issued", partial(here.open_run, stranger)
    yield 403, "another tenant", partial(client.open_run, "tenant_other", REFUND)
    yield 403, "an intent without a pack", partial(here.open_run, client, "hr.payroll")
    yield 404, "a run that is not yours", partial(client.tool_manifest, "run_unknown")
    yield 404, "a call that is not yours", partial(client.get_call, "tool_unknown")


def bad_reads(here: Demo, client: Client) -> Iterator[Row]:
    """Calls that are malformed, not permitted, or do not fit."""
    run, key = here.open_run(client), new_key()
    look = partial(client.call, run, "orders.lookup")
    yield 400, "a mode that is none", partial(look, ORDER, approval_mode_requested="bold")
    yield 400, "text no database stores", partial(look, {"order_id": "ord_\ud800"})
    yield 404, "something not permitted", partial(client.call, run, "orders.erase", {})
    yield 422, "arguments off the schema", partial(look, {"order_id": 1001})
    yield 422, "a number beyond 2^53", partial(look, {"order_id": 2**53 + 1})
    look(ORDER, idempotency_key=key)
    other = partial(look, {"order_id": "ord_1002"}, idempotency_key=key)
    yield 422, "a used key with other arguments", other


def bad_writes(here: Demo, client: Client) -> Iterator[Row]:
    """Without a key; beyond what the run may do."""
    write = partial(client.call, here.open_run(client, DESK), "notes.add", NOTE)
    yield 400, "a write without a key", write
    careful = here.open_run(client, DESK, safety_mode="read_only")
    above = partial(client.call, careful, "notes.add", NOTE, idempotency_key=new_key())
    yield 403, "a write in a read-only run", above


def too_much(here: Demo, client: Client) -> Iterator[Row]:
    """Too late; past the budget of the run; too often in vain."""
    spend = partial(client.call, here.open_run(client, run_budget={"max_calls": 1}))
    ended = spend("orders.lookup", ORDER)
    yield 409, "cancelling what has ended", partial(client.cancel, ended, "Too late.")
    yield 429, "a run past its budget", partial(spend, "orders.lookup", ORDER)
    fail = partial(client.call, here.open_run(client), "orders.lookup", {"order_id": "ord_9999"})
    for _ in range(3):
        fail()
    yield 429, "the same failure again and again", fail


def main(here: Demo) -> None:
    """Walk the table."""
    with here.client() as client:
        for rows in (not_yours, bad_reads, bad_writes, too_much):
            for http_status, title, provoke in rows(here, client):
                try:
                    answer = provoke()
                except ContextOSError as refusal:
                    print(f"{refusal.http_status} {type(refusal).__name__}: {title}")
                    print(f"    {refusal}\n    {refusal.remediation}")
                    expect(refusal.http_status == http_status, f"it should be {http_status}")
                else:
                    surprise(f"{title} was not refused: {answer}")


if __name__ == "__main__":
    start(main, __doc__)
