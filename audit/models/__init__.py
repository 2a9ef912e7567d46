"""Tables of the log. The canonical text is the truth; every other column is derived from it."""

from audit.models.access import AuditorAccess
from audit.models.artefacts import Artefact
from audit.models.decisions import DecisionAmount, DecisionBody, DecisionMention, DecisionRow
from audit.models.erasures import Erasure, ErasureState
from audit.models.events import AuditEvent
from audit.models.exports import ExportJob, ExportReader
from audit.models.holds import LegalHold
from audit.models.log import Checkpoint, LogHead, LogLeaf, LogNode, OutsideMark, UnsealedLeaf
from audit.models.log_checks import CheckState, LogCheck
from audit.models.payloads import Payload
from audit.models.report_definitions import ReportDefinition, ReportNotice, ReportRun
from audit.models.retention import (
    GatedDecision,
    Purge,
    PurgedLeaf,
    RecordClass,
    RetentionRule,
)
from audit.models.saved_searches import SavedSearch

__all__ = [
    "Artefact",
    "AuditEvent",
    "AuditorAccess",
    "CheckState",
    "Checkpoint",
    "DecisionAmount",
    "DecisionBody",
    "DecisionMention",
    "DecisionRow",
    "Erasure",
    "ErasureState",
    "ExportJob",
    "ExportReader",
    "GatedDecision",
    "LegalHold",
    "LogCheck",
    "LogHead",
    "LogLeaf",
    "LogNode",
    "OutsideMark",
    "Payload",
    "Purge",
    "PurgedLeaf",
    "RecordClass",
    "ReportDefinition",
    "ReportNotice",
    "ReportRun",
    "RetentionRule",
    "SavedSearch",
    "UnsealedLeaf",
]
