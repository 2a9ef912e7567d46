"""Admin pages of identity, one module per subject; every change calls a service."""

from contextos.identity.admin import agents, issuers, people, roles, sign_ins, tenants, tokens

__all__ = ["agents", "issuers", "people", "roles", "sign_ins", "tenants", "tokens"]
