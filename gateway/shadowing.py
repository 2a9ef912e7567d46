"""Policies in shadow: asked about every call, recorded where they differ, deciding nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from audit.one_statement import Insert, Json
from contextos.core.clock import utcnow
from contextos.core.ids import new_id
from gateway.models import ShadowVerdict
from registry.compiled import CompiledRun
from registry.policy import PolicyDecision, PolicyInputs, evaluate
from registry.policy.bundles import CompiledBundle


@dataclass(frozen=True, slots=True)
class ShadowDifference:
    """What a watching bundle would have said otherwise."""

    bundle_ref: str
    decided: dict[str, Any]
    would_decide: dict[str, Any]


def shadow_differences(
    compiled: CompiledRun, inputs: PolicyInputs, decision: PolicyDecision
) -> tuple[ShadowDifference, ...]:
    """One entry per watching bundle whose verdict differs from what was decided."""
    found = []
    for watching in compiled.shadow_bundles:
        deciding = _with(watching, compiled.bundles)
        other = evaluate(inputs, deciding, inputs_hash=decision.inputs_hash)
        if other.projection() != decision.projection():
            found.append(ShadowDifference(watching.ref, _said(decision), _said(other)))
    return tuple(found)


def shadow_writes(
    differences: Sequence[ShadowDifference],
    *,
    tenant_id: str,
    decision_id: str,
    capability_id: str,
    after: str | None,
) -> list[Insert]:
    """The rows that go with the decision they are about."""
    return [
        Insert(
            name=f"shadow_{number}",
            table=ShadowVerdict._meta.db_table,
            values={
                "verdict_id": new_id("pol"),
                "tenant_id": tenant_id,
                "bundle_ref": item.bundle_ref,
                "decision_id": decision_id,
                "capability_id": capability_id,
                "decided": Json(item.decided),
                "would_decide": Json(item.would_decide),
                "created_at": utcnow(),
            },
            after=after,
        )
        for number, item in enumerate(differences)
    ]


def _with(
    watching: CompiledBundle, bundles: Sequence[CompiledBundle]
) -> tuple[CompiledBundle, ...]:
    """The deciding bundles with the watching one in the place of its namesake."""
    others = [bundle for bundle in bundles if bundle.bundle_id != watching.bundle_id]
    return (*others, watching)


def _said(decision: PolicyDecision) -> dict[str, Any]:
    verdict = decision.projection()
    return {
        **verdict,
        "reason": decision.reason,
        "matched_rule_ids": list(decision.matched_rule_ids),
    }
