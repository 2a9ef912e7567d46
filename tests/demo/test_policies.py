"""The demo's pack and policies decide what its agent may call, and say so in the log."""

from __future__ import annotations

import pytest

from audit.models import AuditEvent
from contextos.demo.people import RESIDENTS
from contextos.demo.policies import build_policies
from contextos.demo.registry import build_registry
from contextos.identity.models import Tenant, User
from registry.compiled import CompiledRun, RunTerms, compiled_for, packs_for_run, pins_for_run
from registry.models import ContextPackVersion, PolicyBundleVersion
from registry.selectors import generation_of
from tests.factories import make_member, make_tenant


@pytest.fixture
def tenant(db: None) -> Tenant:
    return make_tenant()


@pytest.fixture
def people(tenant: Tenant) -> dict[str, User]:
    return {resident.username: make_member(tenant, resident.role) for resident in RESIDENTS}


def _compiled(tenant: Tenant, role: str) -> CompiledRun:
    generation = generation_of(tenant.pk)
    refs = packs_for_run(tenant_id=tenant.pk, intent="support.refund", generation=generation)
    pins = pins_for_run(
        tenant_id=tenant.pk, environment="development", generation=generation, pack_refs=refs
    )
    terms = RunTerms.of(
        tenant_id=tenant.pk,
        environment="development",
        intent="support.refund",
        role=role,
        pack_refs=refs,
        pins=pins,
    )
    return compiled_for(terms, generation)


@pytest.mark.proves("B10", "B11")
def test_the_support_agent_may_call_six_capabilities_and_nobody_else_any(
    tenant: Tenant, people: dict[str, User]
) -> None:
    build_registry(people, tenant_id=tenant.pk)
    build_policies(people, tenant_id=tenant.pk)
    compiled = _compiled(tenant, "support_agent")
    assert compiled.terms.pack_refs == ("support_refund@1.0.0",)
    assert sorted(compiled.permitted) == [
        "extract.entities",
        "idv.verify",
        "kg.query",
        "orders.lookup",
        "payments.issue_refund",
        "payments.lookup_transaction",
    ]
    assert [item.ref for item in compiled.bundles] == ["refunds@1.0.0"]
    assert compiled.resolve("adp_payments.issue_refund").grants[0].arg_constraints
    assert not _compiled(tenant, "visitor").permitted


def test_a_second_start_changes_nothing(tenant: Tenant, people: dict[str, User]) -> None:
    build_registry(people, tenant_id=tenant.pk)
    build_policies(people, tenant_id=tenant.pk)
    events = AuditEvent.objects.count()
    build_policies(people, tenant_id=tenant.pk)
    assert AuditEvent.objects.count() == events


def test_nothing_in_the_demo_had_to_be_waved_through(
    tenant: Tenant, people: dict[str, User]
) -> None:
    build_registry(people, tenant_id=tenant.pk)
    build_policies(people, tenant_id=tenant.pk)
    assert [pack.findings for pack in ContextPackVersion.objects.all()] == [[], []]
    published, proposed = PolicyBundleVersion.objects.order_by("version")
    assert (published.state, published.findings) == ("published", [])
    assert [item["rule"] for item in proposed.findings] == ["rule.removes_gate"]
