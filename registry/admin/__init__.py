"""Admin pages of the registry, one module per subject; every change calls a service."""

from registry.admin import (
    adapters,
    catalogue,
    contents,
    kill_switches,
    packs,
    policies,
    versions,
)

__all__ = [
    "adapters",
    "catalogue",
    "contents",
    "kill_switches",
    "packs",
    "policies",
    "versions",
]
