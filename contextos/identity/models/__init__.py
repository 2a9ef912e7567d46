"""Tables of identity, one module per subject."""

from contextos.identity.models.agents import Agent
from contextos.identity.models.factors import RecoveryCode, RecoveryDevice, TotpDevice
from contextos.identity.models.issuers import TrustedIssuer
from contextos.identity.models.people import Membership, User
from contextos.identity.models.tenants import Environment, Tenant
from contextos.identity.models.tokens import IssuedToken

__all__ = [
    "Agent",
    "Environment",
    "IssuedToken",
    "Membership",
    "RecoveryCode",
    "RecoveryDevice",
    "Tenant",
    "TotpDevice",
    "TrustedIssuer",
    "User",
]
