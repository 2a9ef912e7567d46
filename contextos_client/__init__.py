"""A small typed client for ContextOS. Standard library only: copy this folder and import it."""

from .client import Client
from .errors import (
    ContextOSError,
    InvalidCall,
    KeyInFlight,
    NotAccepted,
    Refused,
    TooMany,
    Unavailable,
    Unreachable,
    WrongState,
)
from .keys import new_key
from .retry import Clock, Retry
from .run_types import Capability, Principal, RunBudget, RunContext, ToolManifest
from .types import (
    Approval,
    CallRecord,
    Finding,
    PlanVerdict,
    Task,
    ToolError,
    ToolResult,
)
from .vocabulary import ApprovalState, ErrorKind, InputAction, Status, TaskState, Verdict

__all__ = [
    "Approval",
    "ApprovalState",
    "CallRecord",
    "Capability",
    "Client",
    "Clock",
    "ContextOSError",
    "ErrorKind",
    "Finding",
    "InputAction",
    "InvalidCall",
    "KeyInFlight",
    "NotAccepted",
    "PlanVerdict",
    "Principal",
    "Refused",
    "Retry",
    "RunBudget",
    "RunContext",
    "Status",
    "Task",
    "TaskState",
    "TooMany",
    "ToolError",
    "ToolManifest",
    "ToolResult",
    "Unavailable",
    "Unreachable",
    "Verdict",
    "WrongState",
    "new_key",
]
