"""Notices and webhooks as rows, for lists and walls between tenants."""

from __future__ import annotations

from django.utils import timezone

from approvals.models import Notice, Webhook
from approvals.webhooks import create_webhook
from contextos.core.ids import new_id
from contextos.identity.models import Tenant
from tests.approvals.receivers import SECRET
from tests.factories import SYSTEM


def make_notice(tenant: Tenant, marker: str) -> Notice:
    """A message that failed."""
    return Notice.objects.create(
        mark=f"{new_id('apr')}:opened:0:email:user_nobody",
        tenant=tenant,
        approval_id=marker,
        event="opened",
        channel="email",
        receiver="user_nobody",
        due_at=timezone.now(),
        attempts=6,
        failed_at=timezone.now(),
        last_error="The mail server refused the address.",
    )


def make_webhook(tenant: Tenant, marker: str) -> Webhook:
    """A signed webhook."""
    return create_webhook(
        tenant_id=tenant.pk,
        name=marker,
        kind="signed",
        url="https://hooks.example.com/secret-path",
        secret=SECRET,
        actor=SYSTEM,
    )
