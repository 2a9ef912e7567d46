"""Ask the critic about a plan before any of it runs: ok, replan, or reject."""

from __future__ import annotations

from typing import Any

from ready import REFUND, Demo, expect, start

from contextos_client import PlanVerdict, Verdict, new_key

LOOK = {"step_id": "look", "capability_id": "orders.lookup", "args": {"order_id": "ord_1001"}}


def plan(*steps: dict[str, Any]) -> dict[str, Any]:
    """A plan of these steps."""
    return {
        "plan_id": "plan_refund",
        "intent": REFUND,
        "intent_mode": "execute",
        "steps": list(steps),
    }


def refund(**changes: Any) -> dict[str, Any]:
    """Pay the order back, after it was looked at."""
    args = {"transaction_id": "txn_4200", "amount_inr": 4200, "currency": "INR"}
    step = {
        "step_id": "refund",
        "capability_id": "payments.issue_refund",
        "args": {**args, "reason_code": "duplicate"},
        "idempotency_key": new_key(),
        "depends_on": ["look"],
    }
    return {**step, **changes}


def show(title: str, said: PlanVerdict) -> None:
    """The verdict and each of its reasons."""
    print(f"{title}: {said.verdict}")
    for finding in said.findings:
        print(f"  {finding.step_id}: {finding.code}: {finding.message}")
    for step in said.approval_required_steps:
        print(f"  {step}: runs as {said.effective_modes[step]}, so somebody has to approve it")


def main(here: Demo) -> None:
    """One plan of each verdict."""
    unknown = {"step_id": "erase", "capability_id": "orders.erase", "args": {}}
    plans = {
        "Look, then refund": (plan(LOOK, refund()), Verdict.OK),
        "Refund without a key": (plan(LOOK, refund(idempotency_key=None)), Verdict.REPLAN),
        "Something nobody permits": (plan(LOOK, unknown), Verdict.REJECT),
    }
    with here.client() as client:
        run = here.open_run(client)
        for title, (drawn, wanted) in plans.items():
            said = client.verify_plan(run, drawn)
            show(title, said)
            expect(said.verdict is wanted, f"{title} should be {wanted}")


if __name__ == "__main__":
    start(main, __doc__)
