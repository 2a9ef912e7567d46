"""A governed read: it answers at once, with evidence and the decision that allowed it."""

from __future__ import annotations

from ready import Demo, expect, start

from contextos_client import Status


def main(here: Demo) -> None:
    """Read an order that exists, then one that does not."""
    with here.client() as client:
        run = here.open_run(client)
        found = client.call(run, "orders.lookup", {"order_id": "ord_1001"})
        expect(found.ok, f"ord_1001 is an order of the demo, not {found.status}")
        print(f"ord_1001    {found.output}")
        print(f"Evidence    {', '.join(found.evidence_refs)}")
        print(f"Decision    {found.decision_id}, in {found.latency_ms} ms")

        record = client.get_call(found)
        print(f"Asked for   {record.call['args']} as {record.call['approval_mode_effective']}")

        # The tool says no: that is a result to read, not an exception to catch.
        missing = client.call(run, "orders.lookup", {"order_id": "ord_9999"})
        expect(missing.status is Status.FAILED and missing.error, "there is no ord_9999")
        if missing.error:
            print(f"ord_9999    {missing.error.code}: {missing.error.message}")
            print(f"            {missing.error.remediation}")


if __name__ == "__main__":
    start(main, __doc__)
