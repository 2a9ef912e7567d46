"""A tenant with an adapter that can be made to fail, and a steady one beside it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tests.gateway.shaky_functions import MOOD
from tests.gateway.world import GatewayWorld
from tests.recorded_worlds import ready
from tests.registry.documents import pack, permission
from tests.registry.manifests import Manifest, orders
from tests.registry.walks import pack_walk

IN, OUT = "schema://items.read.input.v1", "schema://items.read.output.v1"
CALLS = "/api/v1/tool-calls"


def capability(name: str, **changes: Any) -> dict[str, Any]:
    return {
        "capability_id": name,
        "function_name": f"examples.{name.replace('.', ':')}",
        "capability_class": "observe",
        "approval_mode": "read_only",
        "description": "Read one item.",
        "input_schema_ref": IN,
        "output_schema_ref": OUT,
        "evidence_keys": ["item"],
        "timeout_seconds": 5,
        **changes,
    }


def adapter(name: str, *capabilities: dict[str, Any], **changes: Any) -> Manifest:
    schemas = {
        IN: {
            "type": "object",
            "additionalProperties": False,
            "properties": {"item": {"type": "string", "maxLength": 100}},
            "required": ["item"],
        },
        OUT: {
            "type": "object",
            "properties": {"item": {"type": "string"}, "from": {"type": "string"}},
            "required": ["item"],
        },
    }
    return orders(
        adapter_id=f"adp_{name}",
        observability={
            "trace_context": "w3c",
            "span_name_prefix": f"contextos.adapter.{name}",
            "metrics": ["latency_ms", "retry_count"],
        },
        name=name.title(),
        owner_role=f"{name}_platform",
        schemas=schemas,
        capabilities=list(capabilities),
        **changes,
    )


WRITE: dict[str, Any] = {
    "capability_class": "act",
    "approval_mode": "local_write",
    "description": "Write one item.",
    "idempotency": {"required": True, "dedup_window_seconds": 3600, "adapter_dedup": True},
}


@dataclass
class ShakyWorld(GatewayWorld):
    """`shaky.read` and `shaky.write` fail on demand; `steady.read` never does."""

    def publish(self, *, permitted: tuple[str, ...] = (), **read: Any) -> ShakyWorld:
        """Publish both adapters; keyword arguments are members of `shaky.read`."""
        shaky = adapter(
            "shaky", capability("shaky.read", **read), capability("shaky.write", **WRITE)
        )
        self.house.published(shaky)
        self.house.published(adapter("steady", capability("steady.read")))
        names = permitted or ("shaky.read", "shaky.write", "steady.read")
        parts = [name.partition(".") for name in names]
        permissions = [
            permission(f"adp_{adapter_name}", operation, environments=["production"])
            for adapter_name, _, operation in parts
        ]
        layer = {"permissions": permissions}
        pack_walk(self.house).published(pack(pack_id="support_shaky", tooling_layer=layer))
        return self

    def call(self, run: dict[str, Any], name: str = "shaky.read", **more: Any) -> Any:
        body = {"run_id": run["run_id"], "capability_id": name, "args": {"item": "a"}, **more}
        return self.post(CALLS, body)


def shaky_world(**how: Any) -> ShakyWorld:
    """Both adapters published as `how` says, in a database without tenants."""
    return ready(_published, **how)


def _published(**how: Any) -> ShakyWorld:
    return ShakyWorld().publish(**how)


def feels(mood: str) -> None:
    """From now on the shaky adapter answers so."""
    MOOD.write_text(mood)
