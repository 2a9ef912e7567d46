"""Write once: the key makes a repetition find the recorded answer instead of a second effect."""

from __future__ import annotations

from ready import DESK, Demo, expect, start, surprise

from contextos_client import InvalidCall, ToolResult, new_key

NOTE = {"order_id": "ord_1001", "text": "The customer was charged twice."}


def show(title: str, result: ToolResult) -> None:
    """What became of it, in two lines."""
    print(f"{title}: {result.status}, replayed: {result.replayed}")
    print(f"    call {result.tool_call_id}, output {result.output}")


def main(here: Demo) -> None:
    """Write, write again with the same key, then misuse the key."""
    key = new_key()  # once per intended effect; store it before you call
    with here.client() as client:
        run = here.open_run(client, DESK)
        first = client.call(run, "notes.add", NOTE, idempotency_key=key, wait=10)
        if first.is_waiting:
            first = client.wait_for(first, seconds=30)
        show("First  ", first)
        expect(first.ok, f"the note should be written, not {first.status}: {first.error}")

        again = client.call(run, "notes.add", NOTE, idempotency_key=key, wait=10)
        show("Again  ", again)
        expect(again.replayed, "the same key is answered from the record")
        expect(again.output == first.output, "the recorded answer is the same")

        try:
            client.call(run, "notes.add", {**NOTE, "text": "Other"}, idempotency_key=key)
        except InvalidCall as refusal:
            print(f"Misused: {refusal}\n    {refusal.remediation}")
            expect(refusal.code == "idempotency.conflict", "a key belongs to its arguments")
        else:
            surprise("a key with other arguments was not refused")


if __name__ == "__main__":
    start(main, __doc__)
