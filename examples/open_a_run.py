"""Open a run and see whose it is, how far it may go, and exactly what it may call."""

from __future__ import annotations

from ready import REFUND, Demo, expect, start


def main(here: Demo) -> None:
    """Open, show, list."""
    with here.client() as client:
        run = client.open_run(here.tenant_id, REFUND, session_id="ticket-4711")
        manifest = client.tool_manifest(run)
    print(f"Run         {run.run_id} for {run.intent} in {run.environment}")
    print(f"In the name of {' -> '.join(f'{p.kind}:{p.id}' for p in run.principal_chain)}")
    print(f"At most     {run.safety_mode}; {run.run_budget.max_calls} calls")
    print(f"Until       {run.run_budget.expires_at}")
    print(f"Packs       {', '.join(run.context_pack_refs)}")
    print(f"Trace       {run.traceparent}")
    print(f"\nIt may call ({manifest.hash[:23]}...):")
    for capability in manifest.capabilities:
        key = "  needs a key" if capability.requires_idempotency_key else ""
        print(f"  {capability.capability_id:<30} {capability.approval_mode}{key}")
    expect(manifest.find("orders.lookup"), "a support agent may look orders up")


if __name__ == "__main__":
    start(main, __doc__)
