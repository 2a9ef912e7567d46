"""Webhooks and chat: how they are kept, and what is sent to them (a link and reviewed names)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.conf import settings
from django.db import transaction

from approvals.links import request_url
from approvals.models import ApprovalRequest, Webhook
from approvals.outbox import Undeliverable
from approvals.wording import wording
from audit.services import record_event
from contextos.core.clock import format_time, utcnow
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.core.ids import new_id
from contextos.identity.actors import require_authority
from contextos.identity.changes import lock
from contextos.identity.field_encryption import decrypt_field, encrypt_field
from contextos.net.signed_posts import (
    Message,
    check_address,
    fingerprint,
    key_of,
    message_id,
    send_message,
)
from contextos.net.targets import parse_target

SIGNED, CHAT = "signed", "chat"
_CHECKED_ELSEWHERE = ["url", "gates"]  # by contextos.net, and empty means all


# --- keeping them --------------------------------------------------------------------------------
@transaction.atomic
def create_webhook(
    *,
    tenant_id: str,
    name: str,
    kind: str,
    url: str,
    actor: Actor,
    secret: str = "",
    gates: Sequence[str] = (),
) -> Webhook:
    """Tell this address of requests from now on."""
    require_authority(actor, tenant_id)
    check_address(url, environment=settings.CONTEXTOS_ENV)
    if kind == SIGNED and not secret:
        raise coded_error("webhook.invalid", message="A signed webhook needs a secret.")
    hook = Webhook(
        tenant_id=tenant_id, name=name.strip(), kind=kind, url=url, gates=sorted(set(gates))
    )
    hook.full_clean(exclude=_CHECKED_ELSEWHERE)
    hook.save(force_insert=True)
    if secret:
        _seal(hook, secret)
    _record(hook, "created", actor, {**_facts(hook), "secret": shown_secret(hook)})
    return hook


@transaction.atomic
def update_webhook(
    *,
    webhook_pk: int,
    actor: Actor,
    name: str,
    url: str,
    gates: Sequence[str],
    is_active: bool,
    secret: str = "",
) -> Webhook:
    """Change it; an empty secret keeps the one there is."""
    hook = lock(Webhook, webhook_pk)
    require_authority(actor, hook.tenant_id)
    check_address(url, environment=settings.CONTEXTOS_ENV)
    before = _facts(hook)
    hook.name, hook.url = name.strip(), url
    hook.gates, hook.is_active = sorted(set(gates)), is_active
    hook.full_clean(exclude=_CHECKED_ELSEWHERE)
    hook.save(update_fields=["name", "url", "gates", "is_active"])
    if secret:
        _seal(hook, secret)
    after = _facts(hook)
    if after != before or secret:
        changes = {key: value for key, value in after.items() if value != before[key]}
        _record(
            hook, "changed", actor, changes | ({"secret": shown_secret(hook)} if secret else {})
        )
    return hook


@transaction.atomic
def delete_webhook(*, webhook_pk: int, actor: Actor) -> None:
    """Nothing is sent there any more; what was sent stays in the list of notices."""
    hook = lock(Webhook, webhook_pk)
    require_authority(actor, hook.tenant_id)
    _record(hook, "deleted", actor, _facts(hook))
    hook.delete()


def send_test(*, webhook_pk: int, tenant_id: str, actor: Actor) -> None:
    """Send one message now that says it is a test; a failure is a coded error."""
    require_authority(actor, tenant_id)
    hook = Webhook.objects.filter(pk=webhook_pk, tenant_id=tenant_id).first()
    if hook is None:
        raise coded_error("request.not_found")
    mark = new_id("req")
    if hook.kind == CHAT:
        body: dict[str, Any] = {"text": "ContextOS: a test. Requests will be announced here."}
    else:
        body = {"type": "webhook.test", "timestamp": format_time(utcnow()), "data": {}}
    _post(hook, body, mark)
    _record(hook, "tested", actor, _facts(hook))


# --- sending -------------------------------------------------------------------------------------
def send_to_webhook(
    request: ApprovalRequest, *, event: str, hook: Webhook | None, mark: str
) -> None:
    """One event to one address."""
    if hook is None or not hook.is_active:
        raise Undeliverable("The webhook was switched off or deleted.")
    body = _chat(request, event) if hook.kind == CHAT else _signed(request, event)
    _post(hook, body, mark)


def _post(hook: Webhook, body: dict[str, Any], mark: str) -> None:
    message = Message(url=hook.url, body=body, message_id=message_id(mark), secret=_secret(hook))
    send_message(
        message,
        environment=settings.CONTEXTOS_ENV,
        proxy=settings.EGRESS_PROXY,
        now=utcnow(),
    )


def _signed(request: ApprovalRequest, event: str) -> dict[str, Any]:
    return {
        "type": f"approval.{event}",
        "timestamp": format_time(utcnow()),
        "data": {
            "approval_id": request.pk,
            "tenant_id": request.tenant_id,
            "gate": request.gate_id,
            "capability_id": request.capability_id,
            "approval_mode": request.effective_mode,
            "state": str(request.state),
            "expires_at": format_time(request.expires_at),
            "link": request_url(request.pk),
        },
    }


def _chat(request: ApprovalRequest, event: str) -> dict[str, Any]:
    """Slack and Teams read `text`; the three characters Slack gives a meaning are escaped."""
    words = wording(request, event)
    text = f"{words.headline} ({', '.join(value for _, value in words.facts[1:3])})."
    for plain, escaped in (("&", "&amp;"), ("<", "&lt;"), (">", "&gt;")):
        text = text.replace(plain, escaped)
    return {"text": f"{text}\n{request_url(request.pk)}"}


# --- secrets -------------------------------------------------------------------------------------
def shown_secret(hook: Webhook) -> str:
    """What may be shown of a secret: a fingerprint that the receiver can work out too."""
    secret = _secret(hook)
    return f"sha256 {fingerprint(secret)}" if secret else "none"


def _secret(hook: Webhook) -> str | None:
    if hook.sealed_secret is None:
        return None
    return decrypt_field(bytes(hook.sealed_secret), context=secret_context(hook)).decode()


def _seal(hook: Webhook, secret: str) -> None:
    key_of(secret)  # refuses a weak one
    hook.sealed_secret = encrypt_field(secret.encode(), context=secret_context(hook))
    hook.save(update_fields=["sealed_secret"])


def secret_context(hook: Webhook) -> str:
    """Where the ciphertext of its secret belongs."""
    return f"approvals.webhook.secret:{hook.pk}"


# --- the log -------------------------------------------------------------------------------------
def _facts(hook: Webhook) -> dict[str, Any]:
    """The host alone: the path of a chat's address is its key."""
    return {
        "name": hook.name,
        "kind": hook.kind,
        "host": parse_target(hook.url).host,
        "gates": hook.gates,
        "is_active": hook.is_active,
    }


def _record(hook: Webhook, word: str, actor: Actor, data: dict[str, Any]) -> None:
    record_event(
        tenant_id=hook.tenant_id,
        action=f"webhook.{word}",
        actor=actor,
        subject_kind="webhook",
        subject_id=str(hook.pk),
        data=data,
    )
