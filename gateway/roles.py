"""Who may do what with runs and calls: reading, reading values, and settling what is open."""

from __future__ import annotations

# Arguments and outputs are the tenant's business data: others see a call without them.
VALUE_READERS = frozenset({"platform_admin", "auditor", "operator"})
# Cancel a call, record an unknown outcome, let a call run again.
SETTLERS = frozenset({"platform_admin", "operator"})

_READ = ("gateway.view_run", "gateway.view_toolcall", "gateway.view_evidence")

PERMISSIONS: dict[str, tuple[str, ...]] = {
    "platform_admin": _READ,
    "manifest_author": _READ,
    "manifest_reviewer": _READ,
    "auditor": _READ,
    "operator": _READ,
}
