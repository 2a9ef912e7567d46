"""Long-running work: look until it ends, answer its question, cancel what nobody wants."""

from __future__ import annotations

from ready import DESK, Demo, expect, start

from contextos_client import Client, RunContext, Status, ToolResult


def show(title: str, result: ToolResult) -> None:
    """Where the call stands, in a line."""
    task = f", task {result.task.state}" if result.task else ""
    output = f": {result.output}" if result.ok else ""
    print(f"{title:<11} {result.status}{task}{output}")


def wait_to_the_end(client: Client, run: RunContext) -> None:
    """The gateway goes on without us; we look as often as it asks."""
    begun = client.call(run, "reports.build", {"topic": "orders"})
    show("Begun", begun)
    expect(begun.status is Status.DEFERRED, "a report takes its time")
    ended = client.wait_for(begun, seconds=60)
    show("Ended", ended)
    expect(ended.ok, f"the report should be built: {ended.error}")


def answer_a_question(client: Client, run: RunContext) -> None:
    """A tool may need something from us first; `wait_for` comes back with its question."""
    begun = client.call(run, "reports.build", {"topic": "refunds", "ask_year": True})
    asked = client.wait_for(begun, seconds=60)
    expect(asked.needs_input and asked.input_request, f"it should ask a question: {asked}")
    show("Asks", asked)
    print(f"            {(asked.input_request or {}).get('message')}")
    answered = client.give_input(asked, {"year": 2025})
    ended = client.wait_for(answered, seconds=60)
    show("Answered", ended)
    expect(ended.ok and ended.output["year"] == 2025, f"the report is of 2025: {ended.error}")


def cancel(client: Client, run: RunContext) -> None:
    """The reason is kept in the record."""
    begun = client.call(run, "reports.build", {"topic": "refunds", "ask_year": True})
    client.cancel(begun, "The customer called it off.")
    ended = client.wait_for(begun, seconds=60)
    show("Cancelled", ended)
    expect(ended.status is Status.CANCELLED, f"it should be cancelled, not {ended.status}")


def main(here: Demo) -> None:
    """All three."""
    with here.client() as client:
        run = here.open_run(client, DESK)
        wait_to_the_end(client, run)
        answer_a_question(client, run)
        cancel(client, run)


if __name__ == "__main__":
    start(main, __doc__)
