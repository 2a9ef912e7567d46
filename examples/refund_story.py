"""A refund from question to money: looked up, proposed, decided by a person, paid once."""

from __future__ import annotations

from approver import Approver
from ready import Demo, expect, start

from contextos_client import Client, Refused, RunContext, ToolResult, new_key

REFUND = "payments.issue_refund"


def propose(client: Client, run: RunContext, amount: int, key: str) -> ToolResult:
    """Ask for a refund; finance has to agree, so the answer is that it waits."""
    args = {
        "transaction_id": "txn_4202",
        "amount_inr": amount,
        "currency": "INR",
        "reason_code": "customer_request",
    }
    return client.call(run, REFUND, args, idempotency_key=key)


def waits(result: ToolResult) -> str:
    """The id of the request that people decide."""
    approval = result.raw.get("approval") or {}
    print(f"    {result.status}: waits at {approval.get('gate')} as {approval.get('approval_id')}")
    expect(result.status == "paused", f"a refund waits for finance, it is {result.status}")
    return str(approval["approval_id"])


def main(here: Demo) -> None:
    """Approved and paid once; then one that finance rejects."""
    fin1 = Approver(
        here.ready["url"],
        here.ready["approver_tokens"]["fin1"],
        here.ready["users"]["fin1"]["otp_secret"],
    )
    with here.client() as client:
        run = here.open_run(client)
        print("1. The agent looks the transaction up.")
        found = client.call(run, "payments.lookup_transaction", {"transaction_id": "txn_4202"})
        print(f"    {found.output}")

        print("2. It proposes a refund.")
        key = new_key()
        first = propose(client, run, 250, key)
        approval_id = waits(first)

        print("3. fin1 reads exactly what would run, and approves with a code.")
        shown = fin1.read(approval_id)
        print(f"    {shown['summary']}  {shown['subject']['digest'][:23]}...")
        print(f"    {fin1.approve(approval_id, 'Checked with the customer.')['state']}")

        print("4. It is paid, once.")
        paid = client.wait_for(first, seconds=60)
        expect(paid.ok, f"an approved refund is paid, it is {paid.status}: {paid.error}")
        print(f"    {paid.output}")
        again = propose(client, run, 250, key)
        expect(again.output == paid.output, "the same key finds the same refund")
        print(f"    the same key again: {again.status}, replayed: {again.replayed}")

        print("5. Another one is rejected, and never runs.")
        second = propose(client, run, 300, new_key())
        rejected = fin1.reject(waits(second), "The customer was paid by card already.")
        print(f"    {rejected['state']}")
        try:
            ended = client.wait_for(second, seconds=30)
        except Refused as refusal:
            print(f"    {refusal}")
        else:
            print(f"    {ended.status}: {ended.error.message if ended.error else ''}")
            expect(ended.status == "rejected", "a rejected refund never runs")


if __name__ == "__main__":
    start(main, __doc__)
