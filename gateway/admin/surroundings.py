"""What is true today around a refused call: its run, packs, switches, and what is published."""

from __future__ import annotations

from collections.abc import Iterable

from django.utils import timezone

from contextos.core.errors import ContextOSError
from gateway.admin.budget import wall_ms_left
from gateway.budgets import being_waited
from gateway.explaining import Ref, Refused, RunFacts, SpokenPermission, Today
from gateway.models import Run
from gateway.runs import compiled_run
from registry.admin.stops import stops_on, target_label
from registry.capability_names import operation_of
from registry.models import Capability
from registry.opened_cache import trusted_kids
from registry.packs import ContextPack, Permission
from registry.selectors import generation_of
from registry.tenant_documents import TenantDocuments, documents_of, pack_of_run

MOST_PERMISSIONS = 8


def today_for(tenant_id: str, refused: Refused) -> Today:
    """Looked up anew whenever the page is opened."""
    run = Run.objects.filter(tenant_id=tenant_id, pk=refused.run_id).first()
    rows = list(
        Capability.objects.filter(tenant_id=tenant_id, capability_id=refused.capability_id)
        .select_related("version__adapter")
        .defer("version__envelope")
        .order_by("-is_active")[:20]
    )
    adapters = {row.version.adapter.adapter_id for row in rows}
    return Today(
        run=_run_facts(run) if run else None,
        switches=_switches(tenant_id, refused, rows),
        permissions=_permissions(tenant_id, refused, run, adapters),
        published_in=sorted({row.environment for row in rows if row.is_active}),
        callable_now=_callable(run, refused.capability_id) if run else None,
    )


def _run_facts(run: Run) -> RunFacts:
    now = timezone.now()
    agent = run.document.get("agent") or {}
    return RunFacts(
        role=str(agent.get("role") or ""),
        environment=run.environment,
        intent=run.intent,
        safety_mode=run.safety_mode,
        packs=pack_refs(run),
        calls=(run.used_calls, run.max_calls),
        cents=(run.spent_cents + run.reserved_cents, run.max_cost_cents),
        expires_in_seconds=(run.expires_at - now).total_seconds(),
        wall_ms_left=wall_ms_left(run, now, being_waited(run, now)),
    )


def pack_refs(run: Run) -> list[str]:
    """The packs a run carries."""
    return [str(item["ref"]) if isinstance(item, dict) else str(item) for item in run.packs]


def _callable(run: Run, capability_id: str) -> bool:
    try:
        compiled_run(run).resolve(capability_id)
    except ContextOSError:
        return False
    return True


def _switches(tenant_id: str, refused: Refused, rows: list[Capability]) -> list[Ref]:
    versions = [row.version_id for row in rows]
    adapter = refused.adapter_id or (rows[0].version.adapter.adapter_id if rows else "")
    found = stops_on(
        tenant_id,
        adapter_id=adapter,
        version_ids=versions,
        capability_ids=[refused.capability_id],
    )
    return [
        Ref("switch", stop.pk, f"{stop.get_scope_display().lower()} {target_label(stop)}")
        for stop in found
    ]


# --- what packs say ------------------------------------------------------------------------------
def _permissions(
    tenant_id: str, refused: Refused, run: Run | None, adapters: set[str]
) -> list[SpokenPermission]:
    documents = documents_of(tenant_id, generation_of(tenant_id))
    packs = {**documents.packs, **_carried(documents, tenant_id, run)}
    operation = operation_of(refused.capability_id)
    names = {refused.capability_id, operation}
    found = [
        _spoken(ref, permission)
        for ref, pack in sorted(packs.items())
        for permission in pack.permissions
        if permission.capability in names and _means(permission, adapters)
    ]
    return found[:MOST_PERMISSIONS]


def _carried(documents: TenantDocuments, tenant_id: str, run: Run | None) -> dict[str, ContextPack]:
    """The run's own packs, which may have been replaced since; a withdrawn one says nothing."""
    found: dict[str, ContextPack] = {}
    for ref in pack_refs(run) if run else ():
        try:
            found[ref] = pack_of_run(documents, tenant_id, ref, trusted_kids())
        except ContextOSError:
            continue
    return found


def _means(permission: Permission, adapters: Iterable[str]) -> bool:
    """Whether a permission's adapter is one that offers the capability."""
    given = permission.adapter_id
    return any(adapter == given or adapter.startswith(f"{given}_") for adapter in adapters)


def _spoken(ref: str, permission: Permission) -> SpokenPermission:
    mode = permission.approval_mode
    return SpokenPermission(
        pack_ref=ref,
        permission_id=permission.permission_id,
        allow=permission.allow is True,
        roles=sorted(permission.roles),
        intents=sorted(permission.intents),
        environments=sorted(permission.environments),
        approval_mode=str(mode) if mode else None,
        arg_constraints=permission.arg_constraints,
    )
