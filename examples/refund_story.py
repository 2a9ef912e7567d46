"""Four refunds: one is paid once, one rejected, one nobody decides, one overtaken by a change."""

from __future__ import annotations

from typing import Any

from approver import Approver
from manifest_change import lower_the_limit
from ready import Demo, expect, start

from contextos_client import Client, Refused, RunContext, ToolResult, new_key

TRANSACTION = {"transaction_id": "txn_4202"}


def propose(client: Client, run: RunContext, key: str, **changes: Any) -> ToolResult:
    """Ask for a refund; somebody in finance has to agree, so the answer is that it waits."""
    args = {**TRANSACTION, "amount_inr": 250, "currency": "INR", "reason_code": "customer_request"}
    asked = client.call(run, "payments.issue_refund", args | changes, idempotency_key=key)
    if asked.status == "paused":
        approval = asked.raw["approval"]
        print(f"   It waits at {approval['gate']}.")
    return asked


def never_ran(client: Client, asked: ToolResult, code: str) -> None:
    """Wait for the end, and say why there was no refund."""
    try:
        ended = client.wait_for(asked, seconds=60)
    except Refused as refusal:
        said, message = refusal.code, str(refusal)
    else:
        said, message = (ended.error.code, ended.error.message) if ended.error else ("", "")
    print(f"   No money moved: {message} ({said})")
    expect(said == code, f"it ends with {code}, not with {said}")


def main(here: Demo) -> None:
    """Walk all four."""
    fin1 = Approver.of(here, "fin1")
    with here.client() as client:
        run = here.open_run(client)
        print("The agent looks the transaction up.")
        found = client.call(run, "payments.lookup_transaction", TRANSACTION).output or {}
        print(f"   {found['transaction_id']} is {found['status']}: {found['amount_inr']:,} rupees.")

        print("\n1. It proposes a refund, and finance approves.")
        key = new_key()
        first = propose(client, run, key)
        request = fin1.read(first.raw["approval"]["approval_id"])
        print(f"   fin1 reads: {request['summary']} ({request['subject']['digest'][:18]}...)")
        fin1.approve(request["approval_id"], "Checked with the customer.")
        print("   fin1 approves exactly that, with a fresh code.")
        paid = client.wait_for(first, seconds=60)
        expect(paid.ok, f"an approved refund is paid, it is {paid.status}: {paid.error}")
        print(f"   Paid: refund {(paid.output or {})['refund_id']}.")
        again = propose(client, run, key)
        expect(again.replayed and again.output == paid.output, "the same key, the same refund")
        print("   Asked again with the same key: the same refund, nothing is paid twice.")

        print("\n2. Finance rejects the next one.")
        second = propose(client, run, new_key(), amount_inr=300)
        fin1.reject(second.raw["approval"]["approval_id"], "Was paid back by card already.")
        never_ran(client, second, "approval.rejected")

        print("\n3. Nobody decides this one in time.")
        third = propose(client, run, new_key(), reason_code="duplicate")
        never_ran(client, third, "approval.expired")

        print("\n4. While this one waits, what the adapter promises changes.")
        fourth = propose(client, run, new_key(), amount_inr=350)
        version, limit = lower_the_limit(here)
        print(f"   Version {version} is reviewed and published: at most {limit:,} rupees at once.")
        never_ran(client, fourth, "approval.voided")
        print(f"\nAll four: {here.ready['url']}/admin/approvals/approvalrequest/?show=ended")


if __name__ == "__main__":
    start(main, __doc__)
