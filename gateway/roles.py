"""Who may do what with runs and calls: reading, reading values, and settling what is open."""

from __future__ import annotations

# Arguments and outputs are the tenant's business data: others see a call without them.
VALUE_READERS = frozenset({"platform_admin", "auditor", "operator"})
# Cancel a call, record an unknown outcome, let a call run again.
SETTLERS = frozenset({"platform_admin", "operator"})
# Say that a call did more, or less, than its capability declares.
MODE_CORRECTORS = frozenset({"platform_admin", "manifest_reviewer", "operator"})

_READ = ("gateway.view_run", "gateway.view_toolcall", "gateway.view_evidence")
_SEES_ENDPOINTS = ("gateway.view_endpoint",)
_SETS_ENDPOINTS = (
    *_SEES_ENDPOINTS,
    "gateway.add_endpoint",
    "gateway.change_endpoint",
    "gateway.delete_endpoint",
)
_SEES_CREDENTIALS = ("gateway.view_adaptercredential", "gateway.view_every_consent")
_KEEPS_CREDENTIALS = (
    *_SEES_CREDENTIALS,
    "gateway.change_adaptercredential",
    "gateway.revoke_consent",
)
_OWN_CONSENTS = ("gateway.view_consent",)
_SEES_HEALTH = (
    "gateway.view_breaker",
    "gateway.view_adapterterms",
    "gateway.view_alert",
    "gateway.view_alertreceiver",
    "gateway.view_siemstream",
)
_KEEPS_HEALTH = (
    *_SEES_HEALTH,
    "gateway.reset_breaker",
    "gateway.change_adapterterms",
    "gateway.add_alertreceiver",
    "gateway.change_alertreceiver",
)
# The log leaves the house through them: operators see them, platform admins set them up.
_KEEPS_STREAMS = (
    "gateway.add_siemstream",
    "gateway.change_siemstream",
    "gateway.delete_siemstream",
)

PERMISSIONS: dict[str, tuple[str, ...]] = {
    "platform_admin": (
        *_READ,
        *_SETS_ENDPOINTS,
        *_KEEPS_CREDENTIALS,
        "gateway.add_adaptercredential",
        *_OWN_CONSENTS,
        *_KEEPS_HEALTH,
        *_KEEPS_STREAMS,
    ),
    "manifest_author": (*_READ, *_SEES_ENDPOINTS, *_OWN_CONSENTS, *_SEES_HEALTH),
    "manifest_reviewer": (*_READ, *_SEES_ENDPOINTS, *_OWN_CONSENTS, *_SEES_HEALTH),
    "auditor": (*_READ, *_SEES_ENDPOINTS, *_SEES_CREDENTIALS, *_OWN_CONSENTS, *_SEES_HEALTH),
    "finance_approver": _OWN_CONSENTS,
    "operator": (
        *_READ,
        *_SETS_ENDPOINTS,
        *_KEEPS_CREDENTIALS,
        *_OWN_CONSENTS,
        *_KEEPS_HEALTH,
    ),
}
