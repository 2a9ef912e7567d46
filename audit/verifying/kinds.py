"""The two kinds of rows under the leaves of a log: the statements that read them for a check.

What is compared is name, time, leaf, columns and text of a row. Rows whose ids lie close together
are read by the range of their ids, which takes half of what looking each up does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from audit import decision_record, event_record
from audit.verifying.shapes import BETWEEN, Derived, Mentions

LEAVES = (
    "SELECT log_index, leaf_id AS name, leaf_hash FROM audit_logleaf "
    "WHERE tenant_id = %s AND log_index >= %s AND log_index < %s ORDER BY log_index"
)
MENTIONS_NEAR = (
    "SELECT kind AS kind, value AS value, record_id AS name FROM audit_decisionmention "
    "WHERE tenant_id = %s AND record_id >= %s AND record_id <= %s"
)
MENTIONS_EACH = (
    "SELECT m.kind AS kind, m.value AS value, m.record_id AS name FROM audit_logleaf l "
    "JOIN audit_decisionmention m ON m.record_id = l.leaf_id AND m.tenant_id = l.tenant_id "
    "WHERE l.tenant_id = %s AND l.log_index >= %s AND l.log_index < %s"
)
COLUMNS_FROM = 6  # of `apart`, after place, leaf id, leaf of the log, text, leaf hash and time
_BODIES = "JOIN audit_decisionbody b ON b.record_id = r.record_id AND b.created_at = r.created_at "
_BLOCK = "WHERE l.tenant_id = %s AND l.log_index >= %s AND l.log_index < %s"
# SQLite would make a time of whatever is stored there; PostgreSQL has nothing but times.
_MOMENT = {"postgresql": "{}.created_at", "sqlite": "CAST({}.created_at AS varchar)"}
# PostgreSQL keeps texts by months: these bounds let it open no others.
_MONTHS = {"postgresql": " AND b.created_at >= %s AND b.created_at <= %s", "sqlite": ""}


@dataclass(frozen=True, slots=True)
class Rows:
    """One kind of rows: how they are read, and what follows from their texts."""

    name: str
    prefix: bytes  # of their ids
    crowd: str  # how many rows of anybody have an id in a range, counted up to a limit
    near: str  # reads all that have an id in a range
    texts: str  # reads the texts with an id in a range, where they lie in another table
    each: str  # looks up each of a block; the columns as one text, which takes less than all
    apart: str  # looks up those at some places, each column by itself, to name the wrong one
    columns: Sequence[str]
    derived: Derived
    mentions: Mentions


@lru_cache
def kinds(vendor: str) -> Sequence[Rows]:
    """Both, as a database reads them."""
    return _decision_records(vendor), _events(vendor)


def _decision_records(vendor: str) -> Rows:
    columns, table = decision_record.COLUMNS, "audit_decisionrow r"
    compared, body = _compared("record_id", columns, vendor), _MOMENT[vendor].format("b")
    joined = f"FROM audit_logleaf l JOIN {table} ON r.record_id = l.leaf_id"
    return Rows(
        name="decision record",
        prefix=b"rec_",
        crowd=_crowd("record_id", table),
        near=f"SELECT {compared} FROM {table} {_between('r.record_id')} ORDER BY r.record_id",
        texts=f"SELECT b.record_id AS name, {body} AS moment, b.text AS text FROM "
        f"audit_decisionbody b {_between('b.record_id')}{_MONTHS[vendor]} ORDER BY b.record_id",
        each=f"SELECT {compared}, b.text AS text {joined} {_BODIES} {_BLOCK}",
        apart=f"SELECT {_told('b.text', columns)} {joined} LEFT {_BODIES} WHERE l.tenant_id = %s",
        columns=columns,
        derived=decision_record.derived_texts,
        mentions=decision_record.derived_mentions,
    )


def _events(vendor: str) -> Rows:
    columns, table = event_record.COLUMNS, "audit_auditevent r"
    compared = f"{_compared('event_id', columns, vendor)}, r.text AS text"
    joined = f"FROM audit_logleaf l JOIN {table} ON r.event_id = l.leaf_id"
    return Rows(
        name="event",
        prefix=b"aud_",
        crowd=_crowd("event_id", table),
        near=f"SELECT {compared} FROM {table} {_between('r.event_id')}",
        texts="",
        each=f"SELECT {compared} {joined} {_BLOCK}",
        apart=f"SELECT {_told('r.text', columns)} {joined} WHERE l.tenant_id = %s",
        columns=columns,
        derived=event_record.derived_texts,
        mentions=lambda record: (),
    )


def _crowd(key: str, table: str) -> str:
    return f"SELECT count(*) FROM (SELECT 1 FROM {table} {_between(f'r.{key}')} LIMIT %s) AS found"


def _between(key: str) -> str:
    return f"WHERE {key} >= %s AND {key} <= %s"


def _compared(key: str, columns: Sequence[str], vendor: str) -> str:
    line = f" || '{BETWEEN}' || ".join(f"r.{column}" for column in columns)
    moment = _MOMENT[vendor].format("r")
    return f"r.{key} AS name, {moment} AS moment, r.leaf_hash, CAST({line} AS varchar) AS line"


def _told(text: str, columns: Sequence[str]) -> str:
    names = ", ".join(f"r.{column}" for column in columns)
    return (
        f"l.log_index, l.leaf_id, l.leaf_hash, {text} AS text, r.leaf_hash, "
        f"CAST(r.created_at AS varchar), {names}"
    )
