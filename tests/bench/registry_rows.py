"""What the registry answers, and how fast: lint, diff, resolve, catalogue, policy, plan."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db import connection

from contextos.core import strict_json
from registry.compiled import compiled_for
from registry.manifest import normalise
from registry.models import Capability
from registry.plans import verify_plan
from registry.policy import PolicyInputs, compile_bundle, evaluate
from registry.readiness import lint_bytes
from registry.risk_diff import diff_manifests
from registry.selectors import generation_of
from tests.bench.measure import Row, median_ms, median_us_of_many, p95_ms
from tests.factories import make_member
from tests.identity.signed_in import browser_of
from tests.registry.documents import bundle, pack_permitting, permission
from tests.registry.house import House
from tests.registry.manifests import many
from tests.registry.offered import new_run
from tests.registry.walks import pack_walk, policy_walk

MODES = ("read_only", "local_write", "network", "delegated", "destructive")


def registry_rows(*, quick: bool) -> Iterator[Row]:
    """Every row of the registry; quick runs repeat less and keep the sizes."""
    repeats = 5 if quick else 15
    yield from _manifest_rows(repeats)
    yield from _resolve_rows(repeats)
    yield from _catalogue_rows(10 if quick else 40)
    yield from _policy_rows(repeats)
    yield from _plan_rows(repeats)


def _manifest_rows(repeats: int) -> Iterator[Row]:
    manifest = many(200)
    document = strict_json.dumps(manifest).encode()
    yield Row(
        "lint_200_capabilities_ms",
        median_ms(lambda: lint_bytes(document), repeats=repeats),
        "ms",
        must=300,
        aim=150,
    )
    old, new = normalise(manifest), normalise(many(200, name="Renamed"))
    yield Row(
        "risk_diff_200_capabilities_ms",
        median_ms(lambda: diff_manifests(old, new), repeats=repeats),
        "ms",
        must=300,
        aim=100,
    )


def _resolve_rows(repeats: int) -> Iterator[Row]:
    house = House()
    house.published(many(200))
    policy_walk(house).published(bundle(tests=[]))
    granted = [permission("adp_orders", f"lookup_{number}") for number in range(200)]
    pack_walk(house).published(pack_permitting(*granted))
    terms, generation = new_run(house), generation_of(house.tenant_id)

    def resolve() -> Any:
        return compiled_for(terms, generation).resolve("orders.lookup_100")

    yield Row(
        "resolve_capability_us",
        median_us_of_many(resolve, inner=2000, repeats=repeats),
        "us",
        must=20,
        aim=5,
    )


def _catalogue_rows(repeats: int) -> Iterator[Row]:
    version = House().draft(many(1))  # only a draft may still get rows
    Capability.objects.bulk_create(
        Capability(
            version=version,
            tenant_id=version.tenant_id,
            environment=version.environment,
            capability_id=f"bench.capability_{number}",
            capability_class="act" if number % 2 else "observe",
            approval_mode=MODES[number % 5],
            mode_rank=number % 5,
            description="One of ten thousand.",
            pointer=f"/capabilities/{number}",
            is_active=True,
        )
        for number in range(10_000)
    )
    with connection.cursor() as cursor:  # autovacuum does so by itself soon after rows came
        cursor.execute(f"ANALYZE {Capability._meta.db_table}")
    tenant = version.tenant
    browser = browser_of(make_member(tenant, "platform_admin"), tenant)
    pages = iter(range(10_000_000))

    def page() -> None:
        answer = browser.get("/admin/registry/capability/", {"p": 1 + next(pages) % 50})
        if answer.status_code != 200:
            raise RuntimeError(f"the catalogue answered {answer.status_code}")

    yield Row("catalogue_10000_page_p95_ms", p95_ms(page, repeats=repeats), "ms", must=300, aim=150)


def _policy_rows(repeats: int) -> Iterator[Row]:
    rules = [
        {
            "rule_id": f"rule_{number}",
            "applies_to": {"capability": "payments.issue_refund"} if number % 2 else {},
            "if": {">": [{"var": "request.args.amount_inr"}, number]},
            "then": {"allow": True},
            "description": "One of a thousand.",
        }
        for number in range(1000)
    ]
    bundle = compile_bundle(
        {
            "bundle_id": "bench",
            "version": "1.0.0",
            "priority": 1,
            "rules": rules,
            "guardrails": {"must_refuse": [], "must_escalate": [], "redaction_rules": []},
            "tests": [],
        }
    )
    inputs = PolicyInputs(
        capability={
            "capability_id": "payments.issue_refund",
            "capability_class": "act",
            "approval_mode": "local_write",
        },
        args={"amount_inr": 4200},
        permitted=True,
    )
    yield Row(
        "policy_1000_rules_ms",
        median_ms(lambda: evaluate(inputs, (bundle,)), repeats=repeats * 3),
        "ms",
        must=20,
        aim=5,
    )


def _plan_rows(repeats: int) -> Iterator[Row]:
    schema = {
        "type": "object",
        "properties": {"order_id": {"type": "string", "pattern": "^o[0-9]+$"}},
        "required": ["order_id"],
        "additionalProperties": False,
    }
    pack = {
        "pack_id": "bench",
        "permissions": [
            {
                "permission_id": "p1",
                "adapter_id": "adp_orders",
                "capability": "lookup",
                "allow": True,
                "approval_mode": "read_only",
            }
        ],
        "capabilities": [
            {
                "capability_id": "adp_orders.lookup",
                "adapter_id": "adp_orders",
                "capability_class": "observe",
                "approval_mode": "read_only",
                "input_schema": schema,
            }
        ],
    }
    plan = {
        "plan_id": "plan_1",
        "intent": "support.refund",
        "intent_mode": "read_only",
        "steps": [
            {
                "step_id": f"s{n}",
                "capability_id": "adp_orders.lookup",
                "args": {"order_id": f"o{n}"},
            }
            for n in range(100)
        ],
    }
    yield Row(
        "plan_check_100_steps_ms",
        median_ms(lambda: verify_plan(plan, pack, {}), repeats=repeats),
        "ms",
        must=20,
        aim=5,
    )
