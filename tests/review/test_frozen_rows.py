"""What was submitted stays as it is, whatever SQL is thrown at it, on both databases."""

from __future__ import annotations

from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction

from audit.append_only import protected_tables
from contextos.review import frozen_contents, immutability
from contextos.review.checks import frozen_triggers_stand
from contextos.review.states import LIFECYCLE
from registry.models import AdapterVersion, Finding
from registry.services import lifecycle
from tests.putting_back import triggers_asleep
from tests.recorded_worlds import ready
from tests.registry.house import House, staffed
from tests.registry.manifests import orders, refunds, with_warning

TABLE = "registry_adapterversion"
COLUMNS = [str(field.column) for field in AdapterVersion._meta.concrete_fields]
FROZEN = sorted(set(COLUMNS) - set(immutability.LIFECYCLE_COLUMNS))
OTHER_VALUES: dict[str, Any] = {
    "digest": "sha256:" + "0" * 64,
    "editors": "[]",
    "reviewers_needed": 0,
    "capability_count": 99,
    "created_at": "2001-01-01 00:00:00+00",
    "compared_with_id": None,
    "adapter_id": 0,
    "author_id": 0,
}


def execute(statement: str, *values: Any) -> None:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement, values)


def refused(statement: str, *values: Any) -> None:
    with pytest.raises(DatabaseError, match="can't be edited or removed"):
        execute(statement, *values)


def stored(version: AdapterVersion) -> dict[str, Any]:
    return dict(AdapterVersion.objects.filter(pk=version.pk).values().get())


def _reviewed() -> AdapterVersion:
    """Submitted beside a published version, so that every column holds something."""
    house = ready(staffed)
    house.published(orders())
    return house.in_review(with_warning())


@pytest.fixture
def reviewed(db: None) -> AdapterVersion:
    return ready(_reviewed)


@pytest.mark.proves("B2")
@pytest.mark.parametrize("column", FROZEN)
def test_no_column_of_the_document_can_be_changed_after_submission(
    reviewed: AdapterVersion, column: str
) -> None:
    before = stored(reviewed)
    refused(
        f"UPDATE {TABLE} SET {column} = %s WHERE version_id = %s",
        OTHER_VALUES.get(column, "forged"),
        reviewed.pk,
    )
    assert stored(reviewed) == before


@pytest.mark.proves("B2")
def test_a_submitted_version_can_be_removed_by_nobody(reviewed: AdapterVersion) -> None:
    with pytest.raises(DatabaseError), transaction.atomic():
        reviewed.delete()
    execute_refused = f"DELETE FROM {TABLE} WHERE version_id = %s"
    with pytest.raises(DatabaseError):
        execute(execute_refused, reviewed.pk)
    assert AdapterVersion.objects.filter(pk=reviewed.pk).exists()


@pytest.mark.proves("B2")
def test_truncating_is_refused_on_postgresql(reviewed: AdapterVersion) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite has no TRUNCATE")
    execute("SET CONSTRAINTS ALL IMMEDIATE")  # PostgreSQL truncates nothing that waits for checks
    refused(f"TRUNCATE {TABLE} CASCADE")


@pytest.mark.proves("B2")
@pytest.mark.parametrize("target", sorted(LIFECYCLE.states))
def test_sql_moves_a_state_only_along_the_table(reviewed: AdapterVersion, target: str) -> None:
    statement = f"UPDATE {TABLE} SET state = %s WHERE version_id = %s"
    if target == "in_review" or LIFECYCLE.allows("in_review", target):
        execute(statement, target, reviewed.pk)
    else:
        refused(statement, target, reviewed.pk)


@pytest.mark.proves("B2")
def test_a_draft_can_not_be_declared_published_by_sql(house: House) -> None:
    draft = house.draft(orders())
    refused(f"UPDATE {TABLE} SET state = 'published' WHERE version_id = %s", draft.pk)


@pytest.mark.proves("B2")
@pytest.mark.parametrize("column", immutability.WRITTEN_ONCE)
def test_signature_and_dates_are_written_once(house: House, column: str) -> None:
    version = house.published(orders())
    value = '{"forged": true}' if column == "envelope" else "2001-01-01 00:00:00+00"
    refused(f"UPDATE {TABLE} SET {column} = %s WHERE version_id = %s", value, version.pk)
    refused(f"UPDATE {TABLE} SET {column} = NULL WHERE version_id = %s", version.pk)


@pytest.mark.proves("B2")
def test_no_row_is_born_published(house: House) -> None:
    version = house.published(orders())
    columns = ", ".join(COLUMNS)
    copied = columns.replace("version_id,", "'adv_forged',", 1).replace(" version,", " '9.9.9',", 1)
    refused(
        f"INSERT INTO {TABLE} ({columns}) SELECT {copied} FROM {TABLE} WHERE version_id = %s",
        version.pk,
    )


@pytest.mark.proves("B2")
@pytest.mark.parametrize("key", ["version_id", "adapter and number", "rowid"])
def test_replacing_a_submitted_row_is_refused_on_sqlite(house: House, key: str) -> None:
    if connection.vendor != "sqlite":
        pytest.skip("only SQLite replaces rows without firing delete triggers")
    version = house.in_review(orders())
    columns = ", ".join(COLUMNS)
    forged = columns.replace("state,", "'draft',", 1)
    if key != "version_id":
        forged = forged.replace("version_id,", "'adv_forged',", 1)
    if key == "rowid":
        forged = "rowid, " + forged.replace(" version,", " '9.9.9',", 1)
        columns = f"rowid, {columns}"
    refused(f"INSERT OR REPLACE INTO {TABLE} ({columns}) SELECT {forged} FROM {TABLE}")
    assert house.fresh(version).state == "in_review"


def test_a_draft_can_still_be_written_and_thrown_away(house: House) -> None:
    draft = house.draft(orders())
    house.edit(draft, refunds(adapter_id="adp_orders"), by="author")
    for rows in (draft.findings, draft.capabilities, draft.scopes, draft.schemas):
        rows.all().delete()
    draft.delete()
    assert not AdapterVersion.objects.filter(pk=draft.pk).exists()


@pytest.mark.proves("B2")
@pytest.mark.parametrize("table", sorted(frozen_contents.frozen_with_version()))
def test_the_contents_of_a_submitted_version_stay(house: House, table: str) -> None:
    manifest = orders(
        resources=[{"uri": "orders://all", "classification": "PUBLIC", "name": "All"}],
        prompts=[{"name": "ask", "description": "Ask."}],
        auth={"type": "oauth2", "token_audience": "o", "resource": "o", "initial_scopes": ["o.r"]},
    )
    version = house.draft(manifest)
    rows = f"FROM {table} WHERE version_id = %s"
    house_rows = _count(f"SELECT count(*) {rows}", version.pk)
    assert house_rows > 0
    house.submit(version)
    refused(f"DELETE {rows}", version.pk)
    refused(f"UPDATE {table} SET version_id = 'adv_other' WHERE version_id = %s", version.pk)
    assert _count(f"SELECT count(*) {rows}", version.pk) == house_rows


@pytest.mark.proves("B3")
def test_a_warning_can_not_vanish_between_submission_and_approval(house: House) -> None:
    version = house.in_review(with_warning())
    with pytest.raises(DatabaseError), transaction.atomic():
        Finding.objects.filter(version=version).delete()
    with pytest.raises(DatabaseError), transaction.atomic():
        Finding.objects.filter(version=version).update(severity="info")
    with pytest.raises(DatabaseError), transaction.atomic():
        Finding.objects.create(version=version, position=99, rule="a.b", severity="info")


@pytest.mark.proves("B2")
@pytest.mark.parametrize("table", ["registry_review", "registry_signature"])
def test_reviews_and_signatures_are_only_added(house: House, table: str) -> None:
    house.published(orders())
    assert table in protected_tables()
    for statement in (f"DELETE FROM {table}", f"UPDATE {table} SET id = id + 1"):
        with pytest.raises(DatabaseError, match="can't be changed or removed"):
            execute(statement)


@pytest.mark.proves("B7")
def test_a_schema_document_is_stored_once_and_never_changed(house: House) -> None:
    first, second = house.draft(orders()), house.draft(orders())
    used = [set(v.schemas.values_list("ref", "document_id")) for v in (first, second)]
    assert used[0] == used[1]
    assert len(used[0]) == 2
    for statement in (
        "UPDATE registry_schemadocument SET text = '{}'",
        "DELETE FROM registry_schemadocument",
    ):
        with pytest.raises(DatabaseError, match="can't be changed or removed"):
            execute(statement)


def test_one_person_may_comment_often_but_decide_once(house: House) -> None:
    version = house.in_review(refunds())
    reviewer, actor = house.user("reviewer"), house.actor("reviewer")
    for text in ("First thought.", "Second thought."):
        lifecycle.comment(version_id=version.pk, reviewer=reviewer, actor=actor, text=text)
    house.approve(version)
    lifecycle.comment(version_id=version.pk, reviewer=reviewer, actor=actor, text="After all.")
    columns = "version_id, reviewer_id, verdict, reason, accepted_warnings, digest, created_at"
    with pytest.raises(DatabaseError):
        execute(
            f"INSERT INTO registry_review ({columns}) SELECT {columns} FROM registry_review "
            "WHERE verdict = 'approve'"
        )
    assert version.reviews.count() == 4


def test_a_missing_trigger_is_found_when_the_product_starts(house: House) -> None:
    assert frozen_triggers_stand(databases=["default"]) == []
    with triggers_asleep(connection) if connection.vendor == "sqlite" else _dropped():
        found = {error.msg.split()[0] for error in frozen_triggers_stand(databases=["default"])}
    assert TABLE in found
    assert set(frozen_contents.frozen_with_version()) <= found


class _dropped:  # noqa: N801  reads as a phrase in the `with` above
    def __enter__(self) -> None:
        immutability.remove(connection, TABLE)
        for table in frozen_contents.frozen_with_version():
            frozen_contents.remove(connection, table)

    def __exit__(self, *fault: object) -> None:
        immutability.install(connection, TABLE)
        for table, (parent, mutable) in frozen_contents.frozen_with_version().items():
            frozen_contents.install(connection, table, parent, mutable)


def _count(statement: str, *values: Any) -> int:
    with connection.cursor() as cursor:
        cursor.execute(statement, values)
        return int(cursor.fetchone()[0])
