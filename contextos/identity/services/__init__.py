"""Every change to identity: each one checks, locks, changes and records in one transaction."""

from contextos.identity.services.agents import register_agent, set_agent_active, update_agent
from contextos.identity.services.issuers import set_issuer_active, trust_issuer, update_issuer
from contextos.identity.services.keys import revoke_key, rotate_key
from contextos.identity.services.memberships import change_role_term, grant_role, revoke_role
from contextos.identity.services.people import (
    activate_user,
    create_user,
    deactivate_user,
    end_sessions,
    set_password,
    update_user,
)
from contextos.identity.services.tenants import (
    add_environment,
    create_tenant,
    set_environment_active,
    set_run_limits,
    set_tenant_active,
    update_tenant,
)
from contextos.identity.services.tokens import (
    IssuedGrant,
    issue_agent_token,
    issue_user_token,
    revoke_token,
)

__all__ = [
    "IssuedGrant",
    "activate_user",
    "add_environment",
    "change_role_term",
    "create_tenant",
    "create_user",
    "deactivate_user",
    "end_sessions",
    "grant_role",
    "issue_agent_token",
    "issue_user_token",
    "register_agent",
    "revoke_key",
    "revoke_role",
    "revoke_token",
    "rotate_key",
    "set_agent_active",
    "set_environment_active",
    "set_issuer_active",
    "set_password",
    "set_run_limits",
    "set_tenant_active",
    "trust_issuer",
    "update_agent",
    "update_issuer",
    "update_tenant",
    "update_user",
]
