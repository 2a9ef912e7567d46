"""The encrypted columns of identity."""

from contextos.identity.callbacks import callback_context
from contextos.identity.models import Agent, TotpDevice
from contextos.identity.resealing import SealedColumn

SEALED = (
    SealedColumn(Agent, "sealed_callback_secret", callback_context),
    SealedColumn(TotpDevice, "secret", lambda device: device.context),
)
