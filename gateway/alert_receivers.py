"""Who is told of alerts: e-mail addresses and signed webhooks of a tenant, with sealed secrets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.core.exceptions import ValidationError
from django.core.validators import validate_email
from django.db import transaction

from audit.services import record_event
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.identity.actors import require_authority
from contextos.identity.changes import lock
from contextos.identity.field_encryption import decrypt_field, encrypt_field
from contextos.net.signed_posts import check_address, fingerprint, key_of
from contextos.net.targets import parse_target
from gateway.models import AlertKind, AlertReceiver

EMAIL, WEBHOOK = "email", "webhook"


@transaction.atomic
def add_receiver(
    *,
    tenant_id: str,
    name: str,
    channel: str,
    address: str,
    actor: Actor,
    kinds: Sequence[str] = (),
    secret: str = "",
) -> AlertReceiver:
    """Tell this address of alerts from now on; no kinds means all of them."""
    require_authority(actor, tenant_id)
    receiver = AlertReceiver(
        tenant_id=tenant_id,
        name=name.strip(),
        channel=channel,
        address=address.strip(),
        kinds=_known(kinds),
    )
    _check(receiver, secret)
    receiver.save(force_insert=True)
    if secret:
        _seal(receiver, secret)
    _record(receiver, "gateway.alert_receiver.added", actor)
    return receiver


@transaction.atomic
def change_receiver(
    *,
    receiver_pk: int,
    name: str,
    address: str,
    kinds: Sequence[str],
    is_active: bool,
    actor: Actor,
    secret: str = "",
) -> AlertReceiver:
    """Change it, or switch it off; an empty secret keeps the one there is."""
    receiver = lock(AlertReceiver, receiver_pk)
    require_authority(actor, receiver.tenant_id)
    receiver.name, receiver.address = name.strip(), address.strip()
    receiver.kinds, receiver.is_active = _known(kinds), is_active
    _check(receiver, secret)
    receiver.save(update_fields=["name", "address", "kinds", "is_active"])
    if secret:
        _seal(receiver, secret)
    _record(receiver, "gateway.alert_receiver.changed", actor)
    return receiver


def secret_of(receiver: AlertReceiver) -> str | None:
    """The secret itself, for signing alone."""
    if receiver.sealed_secret is None:
        return None
    return decrypt_field(bytes(receiver.sealed_secret), context=secret_context(receiver)).decode()


def shown_secret(receiver: AlertReceiver) -> str:
    """A fingerprint that the receiver can work out too."""
    secret = secret_of(receiver)
    return f"sha256 {fingerprint(secret)}" if secret else "none"


def shown_address(receiver: AlertReceiver) -> str:
    """The address of a mailbox; of a webhook its origin alone, since a path may hold a key."""
    if receiver.channel == EMAIL:
        return receiver.address
    return parse_target(receiver.address).origin


def _known(kinds: Sequence[str]) -> list[str]:
    unknown = set(kinds) - set(AlertKind.values)
    if unknown:
        raise coded_error("alert.receiver_invalid", message="There is no such kind of alert.")
    return sorted(set(kinds))


def _check(receiver: AlertReceiver, secret: str) -> None:
    if receiver.channel == EMAIL:
        try:
            validate_email(receiver.address)
        except ValidationError:
            said = "That is no e-mail address."
            raise coded_error("alert.receiver_invalid", message=said) from None
    else:
        check_address(receiver.address, environment=settings.CONTEXTOS_ENV)
        if not secret and receiver.sealed_secret is None:
            raise coded_error("alert.receiver_invalid", message="A webhook needs a secret.")
    receiver.full_clean(exclude=["kinds"])


def _seal(receiver: AlertReceiver, secret: str) -> None:
    key_of(secret)  # a weak one is refused
    receiver.sealed_secret = encrypt_field(secret.encode(), context=secret_context(receiver))
    receiver.save(update_fields=["sealed_secret"])


def secret_context(receiver: AlertReceiver) -> str:
    """Where the ciphertext of its secret belongs."""
    return f"gateway.alert_receiver.secret:{receiver.tenant_id}:{receiver.pk}"


def _record(receiver: AlertReceiver, action: str, actor: Actor) -> None:
    data: dict[str, Any] = {
        "channel": receiver.channel,
        "address": shown_address(receiver),
        "kinds": receiver.kinds or "all",
        "is_active": receiver.is_active,
        "secret": shown_secret(receiver),
    }
    record_event(
        tenant_id=receiver.tenant_id,
        action=action,
        actor=actor,
        subject_kind="alert_receiver",
        subject_id=receiver.name,
        data=data,
    )
