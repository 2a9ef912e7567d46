"""Throwing and lifting kill switches."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from audit.services import record_event
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.identity.actors import require_authority
from registry.models import Adapter, AdapterVersion, Capability, KillSwitch
from registry.models.kill_switches import KillScope
from registry.services.generation import bump_generation


@transaction.atomic
def throw_switch(
    *, tenant_id: str, scope: str, target_id: str, reason: str, actor: Actor
) -> KillSwitch:
    """Stop something from the next call on, in every process."""
    require_authority(actor, tenant_id)
    if not reason.strip():
        raise coded_error("kill_switch.reason_missing")
    target_id = known_target(tenant_id, scope, target_id)
    switch = KillSwitch(
        switch_id=new_id("kill"),
        tenant_id=tenant_id,
        scope=scope,
        target_id=target_id,
        reason=reason.strip(),
        thrown_by=actor.id,
        thrown_at=timezone.now(),
    )
    try:
        with transaction.atomic():
            switch.save(force_insert=True)
    except IntegrityError as clash:
        raise coded_error("kill_switch.already_thrown") from clash
    bump_generation(tenant_id)
    _record(switch, "kill_switch.thrown", actor, switch.reason)
    return switch


@transaction.atomic
def lift_switch(*, switch_id: str, actor: Actor, reason: str) -> KillSwitch:
    """Let calls through again."""
    switch = KillSwitch.objects.select_for_update(of=("self",)).filter(pk=switch_id).first()
    if switch is None:
        raise coded_error("request.not_found")
    require_authority(actor, switch.tenant_id)
    if not reason.strip():
        raise coded_error("kill_switch.reason_missing")
    thrown = KillSwitch.objects.filter(pk=switch_id, lifted_at__isnull=True)
    moment = timezone.now()
    if thrown.update(lifted_at=moment, lifted_by=actor.id, lift_reason=reason.strip()) != 1:
        raise coded_error("kill_switch.already_lifted")
    bump_generation(switch.tenant_id)
    _record(switch, "kill_switch.lifted", actor, reason.strip())
    switch.refresh_from_db()
    return switch


def known_target(tenant_id: str, scope: str, target_id: str) -> str:
    """The id that is stopped: a switch on nothing would give a false sense of safety."""
    if scope not in KillScope.values:
        raise coded_error("kill_switch.scope_unknown", data={"known": list(KillScope.values)})
    if scope == KillScope.VERSION:
        target_id = _version_id(tenant_id, target_id)
    if not _exists(tenant_id, scope, target_id):
        raise coded_error("kill_switch.target_unknown", data={"scope": scope, "id": target_id})
    return target_id


def _exists(tenant_id: str, scope: str, target_id: str) -> bool:
    if scope == KillScope.TENANT:
        return target_id == tenant_id
    if scope == KillScope.ADAPTER:
        return Adapter.objects.filter(tenant_id=tenant_id, adapter_id=target_id).exists()
    if scope == KillScope.VERSION:
        return AdapterVersion.objects.filter(tenant_id=tenant_id, pk=target_id).exists()
    return Capability.objects.filter(tenant_id=tenant_id, capability_id=target_id).exists()


def _version_id(tenant_id: str, written: str) -> str:
    """`adp_orders@1.0.0`, as people write it when something is on fire, names a version too."""
    adapter_id, mark, number = written.partition("@")
    if not mark:
        return written
    named = AdapterVersion.objects.filter(
        tenant_id=tenant_id, adapter__adapter_id=adapter_id, version=number
    )
    return named.values_list("pk", flat=True).first() or written


def _record(switch: KillSwitch, action: str, actor: Actor, reason: str) -> None:
    record_event(
        tenant_id=switch.tenant_id,
        action=action,
        actor=actor,
        subject_kind="kill_switch",
        subject_id=switch.switch_id,
        reason=reason,
        data={"scope": switch.scope, "target": switch.target_id},
    )
