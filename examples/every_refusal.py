"""Provoke every refusal an agent can provoke; print its code, its sentence and what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ready import INTENT, Demo, expect, start, surprise

from contextos_client import Client, ContextOSError, RunContext, new_key

ORDER = {"order_id": "ord_1001"}
Row = tuple[int, str, Callable[[], Any]]  # HTTP status, what is wrong, how to provoke it


def outside_a_call(here: Demo, client: Client) -> Iterator[Row]:
    """Wrong token, tenant, intent, run, call."""
    stranger = here.client("not.a.token")
    yield 401, "a token nobody issued", lambda: here.open_run(stranger)
    yield 403, "another tenant", lambda: client.open_run("tenant_other", INTENT)
    yield 403, "an intent without a pack", lambda: client.open_run(here.tenant_id, "hr.payroll")
    yield 404, "a run that is not yours", lambda: client.tool_manifest("run_unknown")
    yield 404, "a call that is not yours", lambda: client.get_call("tool_unknown")


def bad_calls(client: Client, run: RunContext) -> Iterator[Row]:
    """Calls that are malformed, not permitted, or do not fit."""

    def look(args: dict[str, Any], **more: Any) -> Callable[[], Any]:
        return lambda: client.call(run, "orders.lookup", args, **more)

    yield 400, "a mode that is none", look(ORDER, approval_mode_requested="bold")
    yield 400, "text no database stores", look({"order_id": "ord_\ud800"})
    yield 400, "a write without a key", lambda: client.call(run, "notes.add", {"text": "Hello"})
    yield 404, "something not permitted", lambda: client.call(run, "orders.erase", {})
    yield 422, "arguments off the schema", look({"order_id": 1001})
    yield 422, "a number beyond 2^53", look({"order_id": 2**53 + 1})
    key = new_key()
    client.call(run, "orders.lookup", ORDER, idempotency_key=key)
    other = look({"order_id": "ord_1002"}, idempotency_key=key)
    yield 422, "a used key with other arguments", other


def too_much(here: Demo, client: Client) -> Iterator[Row]:
    """Past the budget of the run; too late; too often in vain."""
    spent = here.open_run(client, run_budget={"max_calls": 1})
    ended = client.call(spent, "orders.lookup", ORDER)
    yield 409, "cancelling what has ended", lambda: client.cancel(ended, "Too late.")
    yield 429, "a run past its budget", lambda: client.call(spent, "orders.lookup", ORDER)
    stuck, nowhere = here.open_run(client), {"order_id": "ord_9999"}
    for _ in range(3):
        client.call(stuck, "orders.lookup", nowhere)
    yield (
        429,
        "the same failure again and again",
        lambda: client.call(stuck, "orders.lookup", nowhere),
    )


def main(here: Demo) -> None:
    """Walk the table."""
    with here.client() as client:
        run = here.open_run(client)
        rows = [*outside_a_call(here, client), *bad_calls(client, run)]
        for http_status, title, provoke in [*rows, *too_much(here, client)]:
            try:
                answer = provoke()
            except ContextOSError as refusal:
                print(f"{refusal.http_status} {type(refusal).__name__}: {title}")
                print(f"    {refusal.code}: {refusal.message}")
                print(f"    {refusal.remediation}")
                expect(refusal.http_status == http_status, f"{title} should be {http_status}")
            else:
                surprise(f"{title} was not refused: {answer}")


if __name__ == "__main__":
    start(main, __doc__)
