"""The encrypted columns of approvals."""

from approvals.models import Webhook
from approvals.webhooks import secret_context
from contextos.identity.resealing import SealedColumn

SEALED = (SealedColumn(Webhook, "sealed_secret", secret_context),)
