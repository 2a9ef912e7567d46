"""The encrypted column of the log: values, each bound to its row."""

from audit.models import Payload
from audit.payloads import payload_context
from contextos.identity.resealing import SealedColumn

SEALED = (SealedColumn(Payload, "sealed", lambda row: payload_context(row.tenant_id, row.pk)),)
