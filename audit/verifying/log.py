"""The whole check of one tenant's log; `manage.py verify_log` asks for it (E2)."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from django.db import connection

from audit import merkle
from audit.decisions import MAX_RECORD_BYTES
from audit.models import Checkpoint, LogHead, UnsealedLeaf
from audit.tombstones import purge_faults
from audit.verifying.checkpoints import Signers
from audit.verifying.findings import Finding, Kind, Report
from audit.verifying.outside import check_outside
from audit.verifying.processes import processes
from audit.verifying.reading import IN_ORDER, one_moment
from audit.verifying.rows import BLOCK, as_bytes
from audit.verifying.walk import Part, Progress, stored_root, walk_log
from contextos.core import strict_json
from contextos.core.errors import ContextOSError

MOST_NAMED = 10
WORTH_PROCESSES = 4 * BLOCK  # below that they would start longer than they read
_UNSEALED = {
    "decision record": (
        "SELECT r.record_id FROM audit_decisionrow r WHERE r.tenant_id = %s "
        "AND NOT EXISTS (SELECT 1 FROM audit_logleaf l WHERE l.leaf_id = r.record_id) "
        "AND NOT EXISTS (SELECT 1 FROM audit_unsealedleaf u WHERE u.leaf_id = r.record_id) "
        "LIMIT %s"
    ),
    "event": (
        "SELECT e.event_id FROM audit_auditevent e WHERE e.tenant_id = %s "
        "AND NOT EXISTS (SELECT 1 FROM audit_logleaf l WHERE l.leaf_id = e.event_id) "
        "AND NOT EXISTS (SELECT 1 FROM audit_unsealedleaf u WHERE u.leaf_id = e.event_id) "
        "LIMIT %s"
    ),
}
# Names first: as long as nothing asks for the texts, all of them are found by indexes alone.
_STRAY_BODIES = (
    "WITH s AS MATERIALIZED (SELECT b.record_id, b.created_at FROM audit_decisionbody b "
    "WHERE NOT EXISTS (SELECT 1 FROM audit_decisionrow r WHERE r.record_id = b.record_id "
    "AND r.created_at = b.created_at) "
    "AND NOT EXISTS (SELECT 1 FROM audit_purgedleaf p WHERE p.leaf_id = b.record_id)) "
    "SELECT s.record_id AS name, t.text AS text FROM s JOIN audit_decisionbody t "
    "ON t.record_id = s.record_id AND t.created_at = s.created_at"
)
_WAITING = (
    "SELECT u.leaf_id, u.leaf_hash, COALESCE(r.leaf_hash, e.leaf_hash), COALESCE(b.text, e.text) "
    "FROM audit_unsealedleaf u LEFT JOIN audit_decisionrow r ON r.record_id = u.leaf_id "
    "LEFT JOIN audit_decisionbody b ON b.record_id = r.record_id AND b.created_at = r.created_at "
    "LEFT JOIN audit_auditevent e ON e.event_id = u.leaf_id "
    "WHERE u.tenant_id = %s ORDER BY u.leaf_id"
)


def verify_tenant(
    tenant_id: str,
    *,
    outside: Path,
    part: Part | None = None,
    jobs: int = 1,
    progress: Progress = lambda done, of: None,
) -> Report:
    """Everything that can be said about one log, from its rows to the files outside."""
    signers, chosen = Signers(), part or Part()
    head = LogHead.objects.filter(pk=tenant_id).first()
    with processes(jobs if head and chosen.rows(head.tree_size) > WORTH_PROCESSES else 1) as submit:
        strangers = submit(_strangers, tenant_id)
        walk = walk_log(
            tenant_id, head=head, part=chosen, signers=signers, submit=submit, progress=progress
        )
        walk.report.findings += strangers()
    _check_waiting(walk.report)
    _check_purges(walk.report)
    check_outside(
        outside,
        walk.report,
        known=walk.signed.texts,
        signers=signers,
        root=partial(stored_root, tenant_id),
    )
    return walk.report


def logs_there_are(outside: Path) -> list[str]:
    """Every tenant with a log, with leaves that wait, or with files outside; one whose head
    somebody took away still has its checkpoints."""
    named = {
        tenant_id
        for rows in (LogHead.objects, Checkpoint.objects, UnsealedLeaf.objects)
        for tenant_id in rows.order_by("tenant_id").values_list("tenant_id", flat=True).distinct()
    }
    folders = {each.name for each in outside.iterdir() if each.is_dir()} if outside.is_dir() else ()
    return sorted({*named, *folders})


def _strangers(tenant_id: str) -> list[Finding]:
    """Rows that nobody sealed and that do not wait: written behind our back."""
    with one_moment(without=IN_ORDER) as reads:
        found = [
            f"the {what} {name} is in no log and does not wait"
            for what, statement in _UNSEALED.items()
            for (name,) in reads.told(statement, [tenant_id, MOST_NAMED])
        ]
        # Whose a text is stands in it alone: those of others must not stand before ours.
        strays = [
            f"the text {name.decode('utf-8', 'replace')} belongs to no record"
            for name, text in reads.stream(_STRAY_BODIES, [])
            if _tenant_of(text) in (tenant_id, None)
        ]
        found += strays[:MOST_NAMED]
    return [Finding(Kind.NEVER_SEALED, said) for said in found]


def _tenant_of(text: bytes) -> str | None:
    try:
        return str(strict_json.loads_object(text, max_bytes=MAX_RECORD_BYTES).get("tenant_id"))
    except ContextOSError:
        return None


def _check_waiting(report: Report) -> None:
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, [report.tenant_id])
        for leaf_id, waiting, stored, text in cursor.fetchall():
            report.waiting += 1
            hashes = {as_bytes(waiting), as_bytes(stored), merkle.leaf_hash(str(text).encode())}
            if len(hashes) != 1:
                report.add(Kind.UNSEALED, f"{leaf_id} is not the row that waits to be sealed")


def _check_purges(report: Report) -> None:
    for fault in purge_faults(report.tenant_id):
        report.add(Kind.PURGE, f"{fault.purge_id}: {fault.problem}")
