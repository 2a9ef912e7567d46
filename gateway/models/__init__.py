"""Tables of the gateway: runs, calls, their keys, and the evidence they leave."""

from gateway.models.callbacks import CallbackNotice
from gateway.models.calls import IdempotencyKey, RefusalWindow, ToolCall
from gateway.models.evidence import Evidence
from gateway.models.runs import Run
from gateway.models.shadow import ShadowVerdict

__all__ = [
    "CallbackNotice",
    "Evidence",
    "IdempotencyKey",
    "RefusalWindow",
    "Run",
    "ShadowVerdict",
    "ToolCall",
]
