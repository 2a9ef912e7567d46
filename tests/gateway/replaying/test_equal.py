"""Every kind of decision comes out the same when it is taken again from its record (E4)."""

from __future__ import annotations

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from audit.decisions import rows_of
from audit.models import Payload
from audit.one_statement import write_together
from audit.payloads import open_row, seal_payload
from contextos.identity.models import Tenant
from gateway.models import IdempotencyKey, ToolCall
from gateway.replaying.findings import ReplayStatus
from gateway.replaying.loading import recorded_decisions
from registry.models import AdapterVersion
from tests.gateway.replaying.story import StoryWorld

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E4")]

ENDS = {
    "read": ["APPROVED", "EXECUTED"],
    "read by its second name": ["APPROVED", "EXECUTED"],
    "read with a key": ["APPROVED", "EXECUTED"],
    "read as a step of a plan": ["APPROVED", "EXECUTED"],
    "tool said no": ["APPROVED", "FAILED"],
    "answer not as reviewed": ["APPROVED", "FAILED"],
    "read that changed something": ["APPROVED", "EXECUTED"],
    "no such capability": ["REJECTED"],
    "arguments refused": ["REJECTED"],
    "number too large": ["REJECTED"],
    "key missing": ["REJECTED"],
    "mode refused": ["REJECTED"],
    "run unknown": ["REJECTED"],
    "last of its budget": ["APPROVED", "EXECUTED"],
    "budget spent": ["REJECTED"],
    "refusals counted": ["REJECTED"],
    "written": ["APPROVED", "EXECUTED"],
    "tried in vain": ["APPROVED", "FAILED"],
    "outcome unknown": ["APPROVED", "UNKNOWN"],
    "happened after all": ["APPROVED", "UNKNOWN", "EXECUTED"],
    "did not happen": ["APPROVED", "UNKNOWN", "FAILED"],
    "called off": ["APPROVED", "CANCELLED"],
    "took long": ["APPROVED", "DEFERRED", "EXECUTED"],
    "broke in the end": ["APPROVED", "DEFERRED", "FAILED"],
    "still working": ["APPROVED", "DEFERRED"],
    "approved": ["PROPOSED", "APPROVED", "EXECUTED"],
    "rejected": ["PROPOSED", "REJECTED"],
    "expired": ["PROPOSED", "EXPIRED"],
    "voided": ["PROPOSED", "REJECTED"],
    "cancelled": ["PROPOSED", "CANCELLED"],
    "waiting": ["PROPOSED"],
}


def test_every_kind_of_decision_replays_equal(world: StoryWorld) -> None:
    assert set(world.decisions) == set(ENDS)
    for name, statuses in ENDS.items():
        rows = rows_of(tenant_id=world.tenant_id, decision_id=world.decisions[name])
        assert [row["status"] for row in rows] == statuses, name
        result = world.replayed(name)
        assert (result.status, result.diffs) == (ReplayStatus.EQUAL, ()), name


def test_an_approved_write_is_taken_again_from_the_first_step_to_the_last(
    world: StoryWorld,
) -> None:
    result = world.replayed("approved")
    steps = ["record", "values", "documents", "resolve", "validate", "policy", "gate", "result"]
    assert [step.value for step in result.checked] == [*steps, "evidence", "rows"]
    assert result.taken == ()


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("budget spent", "used up its budget"),
        ("run unknown", "no such run"),
        ("happened after all", "a person found out"),
    ],
)
def test_what_belongs_to_its_moment_is_taken_from_the_record_and_said_so(
    world: StoryWorld, name: str, says: str
) -> None:
    assert says in " ".join(world.replayed(name).taken)


@pytest.mark.parametrize("name", ["no such capability", "arguments refused", "mode refused"])
def test_refusals_that_follow_from_documents_and_inputs_are_worked_out_again(
    world: StoryWorld, name: str
) -> None:
    assert world.replayed(name).taken == ()


def test_the_counted_refusal_replays_from_the_values_of_the_first(world: StoryWorld) -> None:
    first, counted = world.decisions["arguments refused"], world.decisions["refusals counted"]
    row = rows_of(tenant_id=world.tenant_id, decision_id=counted)[0]
    assert row["repeat_count"] == 1
    assert not Payload.objects.filter(decision_id=counted).exists()
    assert Payload.objects.filter(decision_id=first, kind="terms").exists()
    assert world.replayed("refusals counted").taken == ()


def test_a_decision_replays_after_its_version_was_retired_and_the_key_forgotten(
    world: StoryWorld,
) -> None:
    IdempotencyKey.objects.all().delete()
    version = AdapterVersion.objects.get(adapter__adapter_id="adp_orders")
    world.house.retire(version)
    result = world.replayed("read with a key")
    assert result.status is ReplayStatus.EQUAL
    assert "salt of the key is forgotten" in " ".join(result.taken)


def test_records_written_before_transcripts_told_the_time_replay_too(world: StoryWorld) -> None:
    """As older installations have them: no time in the transcript, no terms of a refusal."""
    _forget_members(world)
    for name in ("read", "written", "approved", "read that changed something"):
        result = world.replayed(name)
        assert result.status is ReplayStatus.EQUAL, name
        assert "stored result" in " ".join(result.taken)
    changes = "What the tool said it changed was read from the stored result."
    assert changes in world.replayed("read that changed something").taken
    overtaken = world.replayed("happened after all")
    assert overtaken.status is ReplayStatus.EQUAL
    assert "overtaken attempt" in " ".join(overtaken.taken)
    Payload.objects.filter(kind="terms").delete()
    for name in ("no such capability", "arguments refused", "budget spent"):
        assert world.replayed(name).status is ReplayStatus.EQUAL, name


def _forget_members(world: StoryWorld) -> None:
    for row in list(Payload.objects.filter(kind="transcript")):
        newer = ("latency_ms", "mutations")
        said = {name: v for name, v in open_row(row).items() if name not in newer}
        sealed = seal_payload(
            tenant_id=world.tenant_id, decision_id=row.decision_id, kind="transcript", value=said
        )
        row.delete()
        write_together(sealed.write)


def test_statements_do_not_grow_with_the_decisions(world: StoryWorld) -> None:
    names = list(world.decisions.values())
    counts = []
    for some in (names[:3], names):
        with CaptureQueriesContext(connection) as asked:
            list(recorded_decisions(tenant_id=world.tenant_id, decision_ids=some))
        counts.append(len(asked))
    assert counts[1] <= 12, counts


def test_another_tenants_decision_is_not_there(world: StoryWorld) -> None:
    other = Tenant.objects.create(tenant_id="tenant_other", name="Other")
    found = list(
        recorded_decisions(tenant_id=other.pk, decision_ids=list(world.decisions.values()))
    )
    assert found == []
    assert ToolCall.objects.count() > 0
