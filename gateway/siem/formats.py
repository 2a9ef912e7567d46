"""Writes records as JSON lines, as CEF, and as RFC 5424 lines around either (pure)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable

import contextos
from contextos.core.clock import parse_time
from gateway.siem.records import SiemRecord, Value

VENDOR = PRODUCT = "ContextOS"
# 32473 is the number that IANA keeps for documentation; receivers match the name before it.
_SD_ID = "contextos@32473"
_AUDIT_FACILITY = 13
_NIL = "-"
_NOT_PRINTABLE = re.compile(r"[^\x21-\x7e]")
# CEF's own keys for what it has keys for; the rest goes into numbered strings with labels.
_CEF_KEYS = {
    "outcome": "outcome",
    "status": "act",
    "error_code": "reason",
    "user": "suser",
    "egress_host": "dhost",
    "decision_id": "cs1",
    "capability": "cs2",
    "mode_effective": "cs3",
    "agent": "cs4",
    "adapter": "cs5",
    "trace_id": "cs6",
    "repeat_count": "cnt",
    "actor": "suser",
    "action": "act",
    "subject": "duser",
    "subject_kind": "cs3",
    "gate": "cs1",
    "record_hash": "fileHash",
}
_LABELLED = ("cs1", "cs2", "cs3", "cs4", "cs5", "cs6")


def json_line(record: SiemRecord) -> str:
    """One object, ASCII only: no receiver has to guess an encoding."""
    return json.dumps(record.document(), separators=(",", ":"), sort_keys=True)


def cef_line(record: SiemRecord) -> str:
    """Header and extension, each escaped as the format asks."""
    version = contextos.__version__
    head = (VENDOR, PRODUCT, version, record.name, record.title, str(record.severity))
    header = "|".join(_in_header(part) for part in head)
    return f"CEF:0|{header}|{_extension(record)}"


def _extension(record: SiemRecord) -> str:
    pairs: dict[str, str] = {
        "rt": str(int(parse_time(record.time).timestamp() * 1000)),
        "externalId": record.id,
        "cn1": str(record.log_index),
        "cn1Label": "logIndex",
        "deviceExternalId": record.tenant_id,
    }
    for name, value in record.document().items():
        key = _CEF_KEYS.get(name)
        if key is None or key in pairs:
            continue
        pairs[key] = _in_extension(value)
        if key in _LABELLED:
            pairs[f"{key}Label"] = name
    return " ".join(f"{key}={value}" for key, value in pairs.items())


def _in_header(text: str) -> str:
    return _one_line(text).replace("\\", "\\\\").replace("|", "\\|")


def _in_extension(value: Value) -> str:
    text = ", ".join(value) if isinstance(value, list) else str(value)
    text = text.replace("\\", "\\\\").replace("=", "\\=")
    return text.replace("\r", "\\r").replace("\n", "\\n")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def syslog_line(record: SiemRecord, message: str, *, host: str) -> bytes:
    """An RFC 5424 line of the audit facility; the stable id stands in its structured data."""
    priority = _AUDIT_FACILITY * 8 + _syslog_severity(record.severity)
    data = (
        f'[{_SD_ID} id="{_in_data(record.id)}" index="{record.log_index}" '
        f'tenant="{_in_data(record.tenant_id)}"]'
    )
    head = f"<{priority}>1 {record.time} {_name(host, 255)} contextos {_NIL} {record.kind}"
    return f"{head} {data} {message}".encode()


def _syslog_severity(severity: int) -> int:
    """critical, error, warning, notice, informational."""
    bounds = ((9, 2), (7, 3), (5, 4), (3, 5))
    return next((level for least, level in bounds if severity >= least), 6)


def _name(text: str, longest: int) -> str:
    return _NOT_PRINTABLE.sub("", text)[:longest] or _NIL


def _in_data(text: str) -> str:
    return re.sub(r'(["\\\]])', r"\\\1", text)


def body_of(lines: Iterable[str]) -> bytes:
    """A batch for a webhook."""
    return "".join(f"{line}\n" for line in lines).encode()
