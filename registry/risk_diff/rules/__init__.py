"""The rules by subject; importing this package enters them all."""

from registry.risk_diff.rules import (
    adapter,
    auth,
    capability,
    catalogue,
    constraints,
    contract,
    interaction,
    process,
    resources,
    transport,
)

__all__ = [
    "adapter",
    "auth",
    "capability",
    "catalogue",
    "constraints",
    "contract",
    "interaction",
    "process",
    "resources",
    "transport",
]
