"""Random damage to a log by SQL, as somebody who owns the database could do it."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from django.db import connection

from audit import append_only, merkle
from audit.decision_record import COLUMNS as RECORD_COLUMNS
from audit.event_record import COLUMNS as EVENT_COLUMNS
from audit.event_record import hashed_text, leaf_hash
from audit.models import Checkpoint, LogHead, LogLeaf
from audit.partitions import TABLE, standing_partitions
from contextos.core import strict_json

TABLES = (
    "audit_decisionrow",
    "audit_decisionbody",
    "audit_decisionmention",
    "audit_auditevent",
    "audit_logleaf",
    "audit_lognode",
    "audit_checkpoint",
)
Damage = Callable[[random.Random], str]


@contextmanager
def without_triggers() -> Iterator[None]:
    """As the owner of the database: nothing refuses anything any more."""
    parts = [name for name in standing_partitions(connection) if name != TABLE]
    for table in (*TABLES, *parts):
        append_only.remove(connection, table)
    yield


def sql(statement: str, *values: Any) -> list[tuple[Any, ...]]:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return list(cursor.fetchall()) if cursor.description else []


def _one(chance: random.Random, table: str, key: str) -> Any:
    names = sorted(row[0] for row in sql(f"SELECT {key} FROM {table}"))
    return chance.choice(names)


# --- edits ---------------------------------------------------------------------------------------
def edit_text(chance: random.Random) -> str:
    table, key = chance.choice(
        [("audit_decisionbody", "record_id"), ("audit_auditevent", "event_id")]
    )
    name = _one(chance, table, key)
    ((text,),) = sql(f"SELECT text FROM {table} WHERE {key} = %s", name)
    at = chance.randrange(len(text))
    other = chance.choice([c for c in 'abc019{}":, ' if c != text[at]])
    sql(f"UPDATE {table} SET text = %s WHERE {key} = %s", text[:at] + other + text[at + 1 :], name)
    return f"a character of {name}"


def edit_column(chance: random.Random) -> str:
    columns = {
        "audit_decisionrow": ("record_id", [each for each in RECORD_COLUMNS if each != "seq"]),
        "audit_auditevent": ("event_id", [each for each in EVENT_COLUMNS if each != "event_id"]),
    }
    table = chance.choice(sorted(columns))
    key, names = columns[table]
    row, column = _one(chance, table, key), chance.choice(names)
    sql(f"UPDATE {table} SET {column} = 'forged' WHERE {key} = %s", row)
    return f"{column} of {row}"


def edit_time(chance: random.Random) -> str:
    table, key = chance.choice(
        [("audit_decisionrow", "record_id"), ("audit_auditevent", "event_id")]
    )
    row = _one(chance, table, key)
    sql(f"UPDATE {table} SET created_at = '2001-02-03 04:05:06' WHERE {key} = %s", row)
    return f"created_at of {row}"


def edit_hash(chance: random.Random) -> str:
    places = {
        "audit_decisionrow": ("record_id", "leaf_hash"),
        "audit_auditevent": ("event_id", "leaf_hash"),
        "audit_logleaf": ("leaf_id", "leaf_hash"),
        "audit_checkpoint": ("id", "root_hash"),
        "audit_loghead": ("tenant_id", "root_hash"),
        "audit_lognode": ("id", "root_hash"),
    }
    table = chance.choice(sorted(places))
    key, column = places[table]
    row = _one(chance, table, key)
    forged = chance.randbytes(32)
    sql(f"UPDATE {table} SET {column} = %s WHERE {key} = %s", forged, row)
    return f"{column} of {table} {row}"


def edit_checkpoint(chance: random.Random) -> str:
    row = Checkpoint.objects.get(pk=_one(chance, "audit_checkpoint", "id"))
    at = chance.randrange(len(row.text))
    other = chance.choice([c for c in "Ab1/\n" if c != row.text[at]])
    sql(
        "UPDATE audit_checkpoint SET text = %s WHERE id = %s",
        row.text[:at] + other + row.text[at + 1 :],
        row.pk,
    )
    return f"the text of checkpoint {row.tree_size}"


def edit_record_with_its_hashes(chance: random.Random) -> str:
    """Text, record hash, leaf hashes: consistent in itself, only not what was signed."""
    name = _one(chance, "audit_auditevent", "event_id")
    ((text,),) = sql("SELECT text FROM audit_auditevent WHERE event_id = %s", name)
    record = {k: v for k, v in strict_json.loads_object(text).items() if k != "record_hash"}
    forged = hashed_text({**record, "reason": f"forged {chance.random()}"})
    leaf = leaf_hash(forged)
    sql(
        "UPDATE audit_auditevent SET text = %s, leaf_hash = %s WHERE event_id = %s",
        forged,
        leaf,
        name,
    )
    sql("UPDATE audit_logleaf SET leaf_hash = %s WHERE leaf_id = %s", leaf, name)
    return f"{name} with all its hashes"


# --- deletions -----------------------------------------------------------------------------------
def delete_row(chance: random.Random) -> str:
    table, key = chance.choice(
        [
            ("audit_decisionrow", "record_id"),
            ("audit_decisionbody", "record_id"),
            ("audit_auditevent", "event_id"),
            ("audit_logleaf", "leaf_id"),
            ("audit_checkpoint", "id"),
            ("audit_lognode", "id"),
        ]
    )
    row = _one(chance, table, key)
    sql(f"DELETE FROM {table} WHERE {key} = %s", row)
    return f"{table} {row}"


def delete_with_leaf(chance: random.Random) -> str:
    name = _one(chance, "audit_auditevent", "event_id")
    sql("DELETE FROM audit_auditevent WHERE event_id = %s", name)
    ((index,),) = sql("SELECT log_index FROM audit_logleaf WHERE leaf_id = %s", name)
    sql("DELETE FROM audit_logleaf WHERE leaf_id = %s", name)
    rows = sql("SELECT leaf_id FROM audit_logleaf WHERE log_index > %s ORDER BY log_index", index)
    for (leaf_id,) in rows:  # close the gap
        sql("UPDATE audit_logleaf SET log_index = log_index - 1 WHERE leaf_id = %s", leaf_id)
    return f"{name}, its leaf, and the gap"


# --- insertions ----------------------------------------------------------------------------------
def insert_row(chance: random.Random) -> str:
    """A copy of a row under another id, never queued for the sealer."""
    name, forged = (
        _one(chance, "audit_auditevent", "event_id"),
        f"aud_{chance.getrandbits(64):026x}",
    )
    columns = ", ".join([*EVENT_COLUMNS[1:], "created_at", "text", "leaf_hash"])
    sql(
        f"INSERT INTO audit_auditevent (event_id, {columns}) "
        f"SELECT %s, {columns} FROM audit_auditevent WHERE event_id = %s",
        forged,
        name,
    )
    return f"{forged}, a copy of {name}"


def insert_leaf(chance: random.Random) -> str:
    head = LogHead.objects.get()
    sql(
        "INSERT INTO audit_logleaf (leaf_id, tenant_id, log_index, leaf_hash) "
        "VALUES (%s, %s, %s, %s)",
        f"rec_{chance.getrandbits(64):026x}", head.tenant_id, head.tree_size, chance.randbytes(32),
    )  # fmt: skip
    return "a leaf after the last"


def insert_node(chance: random.Random) -> str:
    head = LogHead.objects.get()
    sql(
        "INSERT INTO audit_lognode (tenant_id, level, position, root_hash) VALUES (%s, %s, %s, %s)",
        head.tenant_id, chance.choice([1, 3]), 1000, chance.randbytes(32),
    )  # fmt: skip
    return "a node over nothing"


# --- reorderings and truncations -----------------------------------------------------------------
def swap_places(chance: random.Random) -> str:
    leaves = list(LogLeaf.objects.order_by("log_index").values_list("leaf_id", "log_index"))
    (one, first), (two, second) = chance.sample(leaves, 2)
    for name, place in ((one, -1), (two, first), (one, second)):
        sql("UPDATE audit_logleaf SET log_index = %s WHERE leaf_id = %s", place, name)
    return f"{first} and {second}"


def swap_texts(chance: random.Random) -> str:
    names = sorted(row[0] for row in sql("SELECT record_id FROM audit_decisionbody"))
    one, two = chance.sample(names, 2)
    texts = dict(
        sql("SELECT record_id, text FROM audit_decisionbody WHERE record_id IN (%s, %s)", one, two)
    )
    for name, text in ((one, texts[two]), (two, texts[one])):
        sql("UPDATE audit_decisionbody SET text = %s WHERE record_id = %s", text, name)
    return f"the texts of {one} and {two}"


def truncate(chance: random.Random) -> str:
    """Everything from a checkpoint on, head and all: only the files outside know better."""
    sizes = sorted(Checkpoint.objects.values_list("tree_size", flat=True))
    size = chance.choice(sizes[:-1])
    gone = [row[0] for row in sql("SELECT leaf_id FROM audit_logleaf WHERE log_index >= %s", size)]
    for table, key in (
        ("audit_decisionrow", "record_id"),
        ("audit_decisionbody", "record_id"),
        ("audit_auditevent", "event_id"),
        ("audit_logleaf", "leaf_id"),
    ):
        for name in gone:
            sql(f"DELETE FROM {table} WHERE {key} = %s", name)
    sql("DELETE FROM audit_checkpoint WHERE tree_size > %s", size)
    sql("DELETE FROM audit_lognode WHERE position >= %s", size >> merkle.FANOUT_BITS)
    tree = merkle.CompactTree()
    for leaf in LogLeaf.objects.order_by("log_index").values_list("leaf_hash", flat=True):
        tree.append(bytes(leaf))
    LogHead.objects.update(tree_size=size, root_hash=tree.root(), peaks=b"".join(tree.peaks))
    return f"everything after {size}"


DAMAGES: Sequence[Damage] = (
    edit_text,
    edit_column,
    edit_time,
    edit_hash,
    edit_checkpoint,
    edit_record_with_its_hashes,
    delete_row,
    delete_with_leaf,
    insert_row,
    insert_leaf,
    insert_node,
    swap_places,
    swap_texts,
    truncate,
)
