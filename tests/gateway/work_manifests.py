"""An adapter that writes notes and builds reports: what goes to a worker, in every way."""

from __future__ import annotations

from typing import Any

from tests.registry.documents import Document, pack, permission
from tests.registry.manifests import Manifest, orders

NOTE_IN, NOTE_OUT = "schema://notes.add.input.v1", "schema://notes.add.output.v1"
REPORT_IN, REPORT_OUT = "schema://reports.build.input.v1", "schema://reports.build.output.v1"


def _note(operation: str, **changes: Any) -> dict[str, Any]:
    return {
        "capability_id": f"notes.{operation}",
        "function_name": f"examples.notes:{operation}",
        "capability_class": "act",
        "approval_mode": "local_write",
        "description": "Add a note to a customer's file.",
        "input_schema_ref": NOTE_IN,
        "output_schema_ref": NOTE_OUT,
        "evidence_keys": ["note_id"],
        "timeout_seconds": 5,
        "cost": {"reserve_cents": 5},
        "idempotency": {"required": True, "dedup_window_seconds": 3600, "adapter_dedup": True},
        "retry_policy": {
            "max_attempts": 3,
            "retryable_error_codes": ["TRY_AGAIN", "function.runner_died"],
            "requires_same_idempotency_key": True,
        },
        **changes,
    }


_BLIND = {"required": True, "dedup_window_seconds": 3600, "adapter_dedup": False}
_REPORT: dict[str, Any] = {
    "capability_id": "reports.build",
    "function_name": "examples.reports:build",
    "capability_class": "observe",
    "approval_mode": "read_only",
    "description": "Build a report on past orders.",
    "input_schema_ref": REPORT_IN,
    "output_schema_ref": REPORT_OUT,
    "evidence_keys": ["report_id"],
    "timeout_seconds": 5,
    "execution": {
        "mode": "task",
        "cancellable": True,
        "poll_interval_seconds": 1,
        "ttl_seconds": 600,
        "policy_refs": ["refunds"],
    },
}


def work(**changes: Any) -> Manifest:
    """The adapter `adp_work` with notes.add, notes.add_blindly and reports.build."""
    manifest = orders(adapter_id="adp_work", name="Work", owner_role="work_platform")
    manifest["schemas"] = {
        NOTE_IN: {
            "type": "object",
            "additionalProperties": False,
            "properties": {"text": {"type": "string", "maxLength": 200}},
            "required": ["text"],
        },
        NOTE_OUT: {
            "type": "object",
            "properties": {"note_id": {"type": "string"}},
            "required": ["note_id"],
        },
        REPORT_IN: {
            "type": "object",
            "additionalProperties": False,
            "properties": {"kind": {"type": "string"}},
            "required": ["kind"],
        },
        REPORT_OUT: {
            "type": "object",
            "properties": {"report_id": {"type": "string"}},
            "required": ["report_id"],
        },
    }
    manifest["capabilities"] = [
        _note("add"),
        _note("add_blindly", idempotency=_BLIND, execution={"mode": "call", "cancellable": True}),
        _REPORT,
    ]
    return {**manifest, **changes}


def work_pack() -> Document:
    """The usual pack, and a second one that permits all of the work."""
    return pack(
        pack_id="support_work",
        tooling_layer={
            "permissions": [
                permission("adp_work", operation, environments=["production"])
                for operation in ("add", "add_blindly", "build")
            ]
        },
    )
