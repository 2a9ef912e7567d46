"""Putting a capability out of use until somebody has looked, and letting it back."""

from __future__ import annotations

from django.db import IntegrityError, transaction
from django.utils import timezone

from audit.services import record_event
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.identity.actors import require_authority
from registry.models import AdapterVersion, Quarantine
from registry.services.generation import bump_generation


@transaction.atomic
def quarantine_capability(
    *, version_id: str, capability_id: str, reason: str, actor: Actor
) -> Quarantine:
    """From the next call on the capability answers that it rests; twice is once."""
    version = AdapterVersion.objects.filter(pk=version_id).first()
    if version is None:
        raise coded_error("request.not_found")
    require_authority(actor, version.tenant_id)
    if not version.capabilities.filter(capability_id=capability_id).exists():
        raise coded_error("quarantine.target_unknown", data={"capability_id": capability_id[:200]})
    row = Quarantine(
        quarantine_id=new_id("qua"),
        tenant_id=version.tenant_id,
        version=version,
        capability_id=capability_id,
        reason=reason.strip(),
        opened_by=actor.id,
        opened_at=timezone.now(),
    )
    try:
        with transaction.atomic():
            row.save(force_insert=True)
    except IntegrityError:
        return Quarantine.objects.get(
            version=version, capability_id=capability_id, released_at__isnull=True
        )
    bump_generation(version.tenant_id)
    _record(row, "capability.quarantined", actor, row.reason)
    return row


@transaction.atomic
def release_capability(*, quarantine_id: str, reason: str, actor: Actor) -> Quarantine:
    """Let calls through again, saying why that is safe."""
    row = Quarantine.objects.select_for_update(of=("self",)).filter(pk=quarantine_id).first()
    if row is None:
        raise coded_error("request.not_found")
    require_authority(actor, row.tenant_id)
    if not reason.strip():
        raise coded_error("quarantine.reason_missing")
    resting = Quarantine.objects.filter(pk=row.pk, released_at__isnull=True)
    columns = {"released_at": timezone.now(), "released_by": actor.id}
    if resting.update(release_reason=reason.strip(), **columns) != 1:
        raise coded_error("quarantine.already_released")
    bump_generation(row.tenant_id)
    _record(row, "capability.released", actor, reason.strip())
    row.refresh_from_db()
    return row


def _record(row: Quarantine, action: str, actor: Actor, reason: str) -> None:
    record_event(
        tenant_id=row.tenant_id,
        action=action,
        actor=actor,
        subject_kind="quarantine",
        subject_id=row.quarantine_id,
        reason=reason,
        data={"version_id": row.version_id, "capability_id": row.capability_id},
    )
