"""How to make a row of every model of a tenant that has a page; the cross-tenant test asks for it.

Whoever adds such a page adds its maker here: tests/identity/test_cross_tenant.py fails until then.
A maker gets a tenant and a marker, and puts the marker into a text that the model's list shows.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from typing import Any

from django.db.models import Model
from django.utils import timezone

from audit.accesses import Terms, grant_access
from audit.erasure import request_erasure
from audit.export.reports import ReportTerms, define_report
from audit.export.services import ExportRequest, request_export
from audit.export.windows import everything
from audit.holds import place_hold
from audit.models import DecisionRow
from audit.selections import Selection
from audit.services import record_event
from contextos.identity.models import Environment, Membership, Tenant, User
from gateway.endpoints import add_endpoint
from registry.models import AdapterVersion
from registry.services import packs, policies
from registry.services.kill_switches import throw_switch
from tests.approvals.admin.rows import make_request
from tests.approvals.admin_gates.rows import make_delegation, make_gate, make_group
from tests.approvals.notice_rows import make_notice, make_webhook
from tests.audit.record_rows import chain, lookup
from tests.factories import (
    SYSTEM,
    actor_for,
    make_agent,
    make_agent_token,
    make_issuer,
    make_member,
    make_user,
)
from tests.gateway.admin.alert_rows import make_alert, make_receiver
from tests.gateway.admin.rows import make_call, make_evidence, make_run
from tests.gateway.credentials.rows import make_consent, make_credential
from tests.gateway.siem.rows import make_stream
from tests.registry.documents import bundle, pack
from tests.registry.house import House
from tests.registry.manifests import orders

Maker = Callable[[Tenant, str], Model]


def _environment(tenant: Tenant, marker: str) -> Environment:
    return tenant.environments.get()


def _membership(tenant: Tenant, marker: str) -> Membership:
    return make_member(tenant, "operator", username=marker).memberships.get()


def _event(tenant: Tenant, marker: str) -> Any:
    return record_event(
        tenant_id=tenant.pk,
        action="identity.agent.changed",
        actor=SYSTEM,
        subject_kind="agent",
        subject_id=marker,
    )


def _access(tenant: Tenant, marker: str) -> Model:
    now = timezone.now()
    return grant_access(
        user=make_user(marker),
        tenant_id=tenant.pk,
        terms=Terms(starts_at=now, ends_at=now + timedelta(days=1)),
        actor=SYSTEM,
        reason=marker,
    )


def _decision(tenant: Tenant, marker: str) -> Model:
    """The row that ends it, which is what the list shows."""
    decision_id = lookup(tenant.pk, principal_chain=chain(tenant.pk, agent=marker))
    return DecisionRow.objects.get(decision_id=decision_id, status="EXECUTED")


def _document(create_draft: Callable[..., Model], document: dict[str, Any]) -> Maker:
    """Its id is the marker."""
    id_member = next(iter(document))

    def make(tenant: Tenant, marker: str) -> Model:
        author = make_member(tenant, "manifest_author")
        return create_draft(
            tenant_id=tenant.pk,
            document={**document, id_member: marker},
            author=author,
            actor=actor_for(author, tenant),
        )

    return make


def _manifest(marker: str) -> dict[str, Any]:
    """Every name carries the marker, and there is one of everything."""
    lookup = {**orders()["capabilities"][0], "capability_id": f"{marker}.lookup"}
    return orders(
        adapter_id=f"adp_{marker}",
        name=marker,
        capabilities=[lookup],
        resources=[
            {
                "uri": f"orders://{marker}",
                "name": marker,
                "mimeType": "application/json",
                "size_bytes": 10,
                "classification": "INTERNAL",
                "source": "orders",
                "access": {"roles": ["support_agent"], "intents": ["support.refund"]},
                "freshness": {"kind": "version", "field": "v"},
                "evidence_ref": "orders",
            }
        ],
        prompts=[{"name": marker, "description": "Look an order up.", "version": "1.0.0"}],
    )


def _published(tenant: Tenant, marker: str) -> AdapterVersion:
    return House(tenant=tenant).published(_manifest(marker))


def _in_review(tenant: Tenant, marker: str) -> AdapterVersion:
    """What the list of versions shows unless it is asked for more."""
    house = House(tenant=tenant)
    return house.submit(house.draft(_manifest(marker)))


def _kill_switch(tenant: Tenant, marker: str) -> Model:
    version = _published(tenant, marker)
    return throw_switch(
        tenant_id=tenant.pk,
        scope="adapter",
        target_id=version.adapter.adapter_id,
        reason=marker,
        actor=SYSTEM,
    )


def _endpoint(tenant: Tenant, marker: str) -> Model:
    return add_endpoint(
        tenant_id=tenant.pk,
        environment="production",
        name=marker,
        url="https://payments.example.com/mcp",
        actor=SYSTEM,
    )


def _erasure(tenant: Tenant, marker: str) -> Model:
    selection = Selection(tenant_id=tenant.pk, capability_id=marker)
    return request_erasure(selection=selection, reason=marker, actor=SYSTEM)


def _hold(tenant: Tenant, marker: str) -> Model:
    selection = Selection(tenant_id=tenant.pk)
    return place_hold(selection=selection, title=marker, reason=marker, actor=SYSTEM)


def _export(tenant: Tenant, marker: str) -> Any:
    """Made for everybody who is there: auditors see only what was made for them."""
    return request_export(
        tenant_id=tenant.pk,
        request=ExportRequest(
            format="csv",
            filter={},
            title=marker,
            readers=list(User.objects.values_list("user_id", flat=True)),
        ),
        actor=SYSTEM,
        window=everything(tenant.pk),
    )


def _report(tenant: Tenant, marker: str) -> Any:
    terms = ReportTerms(name=marker, format="csv")
    return define_report(tenant_id=tenant.pk, terms=terms, actor=SYSTEM)


MAKERS: dict[str, Maker] = {
    "identity.Tenant": lambda tenant, marker: tenant,
    "identity.Environment": _environment,
    "identity.User": lambda tenant, marker: make_member(tenant, "operator", username=marker),
    "identity.Membership": _membership,
    "identity.Agent": lambda tenant, marker: make_agent(tenant, f"{marker}_agent", name=marker),
    "identity.TrustedIssuer": lambda tenant, marker: make_issuer(tenant, name=marker),
    "identity.IssuedToken": lambda tenant, marker: (
        make_agent_token(make_agent(tenant, f"{marker}_agent", name=marker)).row
    ),
    "approvals.ApprovalRequest": lambda tenant, marker: make_request(tenant, capability_id=marker),
    "approvals.ApproverGroup": make_group,
    "approvals.Delegation": make_delegation,
    "approvals.GateVersion": make_gate,
    "approvals.Notice": make_notice,
    "approvals.Webhook": make_webhook,
    "audit.AuditEvent": _event,
    "audit.Erasure": _erasure,
    "audit.ExportJob": _export,
    "audit.LegalHold": _hold,
    "audit.ReportDefinition": _report,
    "audit.AuditorAccess": _access,
    "audit.DecisionRow": _decision,
    "gateway.Endpoint": _endpoint,
    "gateway.AdapterCredential": lambda tenant, marker: make_credential(tenant, name=marker),
    "gateway.Consent": make_consent,
    "gateway.Alert": make_alert,
    "gateway.AlertReceiver": make_receiver,
    "gateway.Evidence": lambda tenant, marker: make_evidence(
        make_run(tenant), capability_id=marker
    ),
    "gateway.SiemStream": make_stream,
    "gateway.Run": lambda tenant, marker: make_run(tenant, intent=marker),
    "gateway.ToolCall": lambda tenant, marker: make_call(make_run(tenant), capability_id=marker),
    "registry.Adapter": lambda tenant, marker: _published(tenant, marker).adapter,
    "registry.AdapterVersion": _in_review,
    "registry.Capability": lambda tenant, marker: _published(tenant, marker).capabilities.get(),
    "registry.KillSwitch": _kill_switch,
    "registry.Prompt": lambda tenant, marker: _published(tenant, marker).prompts.get(),
    "registry.Resource": lambda tenant, marker: _published(tenant, marker).resources.get(),
    "registry.SchemaDocument": lambda tenant, marker: (
        _published(tenant, marker).schemas.earliest("ref").document
    ),
    "registry.ContextPackVersion": _document(packs.create_draft, pack()),
    "registry.PolicyBundleVersion": _document(policies.create_draft, bundle()),
}
