"""Tables of the gateway: runs, calls, their keys, and the evidence they leave."""

from gateway.models.alerts import Alert, AlertKind, AlertNotice, AlertReceiver
from gateway.models.callbacks import CallbackNotice
from gateway.models.calls import IdempotencyKey, RefusalWindow, ToolCall
from gateway.models.consents import Consent, ConsentRequest, ConsentState
from gateway.models.credentials import AdapterCredential, ClientAuth, CredentialKind
from gateway.models.endpoints import Endpoint
from gateway.models.evidence import Evidence
from gateway.models.figures import FiguresCursor, ReplayAnswer, Tally
from gateway.models.protection import AdapterTerms, Breaker, RateCount
from gateway.models.replays import ReplayAgainst, ReplayJob, ReplayState
from gateway.models.runs import Run
from gateway.models.shadow import ShadowVerdict
from gateway.models.streams import SiemStream

__all__ = [
    "AdapterCredential",
    "AdapterTerms",
    "Alert",
    "AlertKind",
    "AlertNotice",
    "AlertReceiver",
    "Breaker",
    "CallbackNotice",
    "ClientAuth",
    "Consent",
    "ConsentRequest",
    "ConsentState",
    "CredentialKind",
    "Endpoint",
    "Evidence",
    "FiguresCursor",
    "IdempotencyKey",
    "RateCount",
    "RefusalWindow",
    "ReplayAgainst",
    "ReplayAnswer",
    "ReplayJob",
    "ReplayState",
    "Run",
    "ShadowVerdict",
    "SiemStream",
    "Tally",
    "ToolCall",
]
