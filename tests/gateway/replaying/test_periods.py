"""What a draft would have changed in a period, and the jobs that find it out (E4, C4)."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time, timedelta
from io import StringIO
from pathlib import Path
from typing import Any

import orjson
import pytest
from django.core.management import call_command

from audit.models import AuditEvent, DecisionRow, Payload
from contextos.core import strict_json
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError
from contextos.core.events import automation
from gateway.models import ReplayAgainst, ReplayJob, ReplayState, ToolCall
from gateway.replaying import jobs, periods
from gateway.replaying.batches import replay_period
from gateway.replaying.drafts import ManifestDraft, PolicyDraft
from gateway.replaying.jobs import ChosenDraft, cancel_job, start_job, work_on_jobs
from gateway.replaying.periods import Period
from gateway.replaying.trials import TrialTally
from gateway.tasks import replay_periods
from registry.models import AdapterVersion
from registry.selectors import manifest_of
from tests.audit.test_access import granted
from tests.gateway.replaying.story import StoryWorld
from tests.identity.signed_in import browser_of
from tests.registry.house import House
from tests.registry.manifests import orders
from tests.registry.walks import policy_walk

pytestmark = [pytest.mark.django_db, pytest.mark.proves("E4")]
ACTOR = automation("tests")
PAGE = "/admin/gateway/replays/"


def _week() -> Period:
    return Period(utcnow() - timedelta(days=7), utcnow() + timedelta(minutes=1))


def _stricter(world: StoryWorld) -> dict[str, Any]:
    """A draft that denies one order and wants two people for every refund."""
    document = world.refund_policy(version="2.0.0")
    document["rules"][0]["then"]["quorum"] = 2
    document["rules"].append(
        {
            "rule_id": "one_order_is_locked",
            "description": "Order 1 is before the court.",
            "applies_to": {"capability": "orders.lookup"},
            "if": {"===": [{"var": "request.args.order_id"}, "ord_0001"]},
            "then": {"allow": False},
        }
    )
    return document


def _tried(world: StoryWorld, draft: Any) -> TrialTally:
    tally = replay_period(tenant_id=world.tenant_id, period=_week(), actor=ACTOR, draft=draft)
    assert isinstance(tally, TrialTally)
    return tally


# --- what a draft would have changed -------------------------------------------------------------
@pytest.mark.proves("C4")
def test_a_draft_policy_is_shown_to_change_exactly_what_it_changes(world: StoryWorld) -> None:
    tally = _tried(world, PolicyDraft.of(_stricter(world)))
    assert dict(tally.changes) == {
        "allowed → refused (policy.denied_by_rule)": 5,
        "people needed 1 → 2": 6,
    }
    assert tally.total == DecisionRow.objects.filter(seq=1).count()
    assert tally.left_out == 1, "the call of an unknown run was measured against nothing"
    example = tally.examples["people needed 1 → 2"][0]
    assert example["before"]["verdict"] == example["after"]["verdict"]
    assert "ord_0001" not in str(tally.as_dict()), "decisions are shown, arguments are not"


def test_the_policy_in_force_changes_nothing(world: StoryWorld) -> None:
    tally = _tried(world, PolicyDraft.of(world.refund_policy(version="1.1.0")))
    assert (tally.changed, tally.left_out) == (0, 1)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        (
            lambda one: one.update(requires_approval_gate="GATE_FINANCE_APPROVAL"),
            "allowed → waits for GATE_FINANCE_APPROVAL",
        ),
        (
            lambda one: one.update(arg_constraints={"order_id": {"enum": ["ord_9999"]}}),
            "allowed → refused (args.constraint)",
        ),
        (
            lambda one: one.update(evidence_keys=["order_id", "carrier"]),
            "answer accepted → accepted without carrier",
        ),
        (
            lambda one: one.update(capability_id="orders.find"),
            "allowed → refused (capability.unknown)",
        ),
    ],
)
def test_a_draft_manifest_is_tried_on_arguments_policy_and_answers(
    world: StoryWorld, change: Callable[[dict[str, Any]], None], kind: str
) -> None:
    version = AdapterVersion.objects.get(adapter__adapter_id="adp_orders")
    document = manifest_of(version)
    change(document["capabilities"][0])
    tally = _tried(world, ManifestDraft.of(document, tenant_id=world.tenant_id))
    assert kind in tally.changes, dict(tally.changes)


def test_a_stricter_output_schema_shows_which_answers_it_would_have_refused(
    world: StoryWorld,
) -> None:
    document = manifest_of(AdapterVersion.objects.get(adapter__adapter_id="adp_orders"))
    ref = document["capabilities"][0]["output_schema_ref"]
    document["schemas"][ref]["properties"]["status"] = {"const": "lost"}
    tally = _tried(world, ManifestDraft.of(document, tenant_id=world.tenant_id))
    assert tally.changes["answer accepted → refused by the output schema"] == 6


def test_erased_decisions_are_counted_and_left_out(world: StoryWorld) -> None:
    Payload.objects.filter(decision_id=world.decisions["read"], kind="args").update(
        sealed=None, erased_at=utcnow()
    )
    assert _tried(world, PolicyDraft.of(_stricter(world))).left_out == 2


def test_a_decision_that_can_not_even_be_read_is_left_out_and_spoils_no_period(
    world: StoryWorld,
) -> None:
    rows = ToolCall.objects.filter(decision_id=world.decisions["read"])
    assert rows.update(envelope="{ no JSON") == 1
    job = _job(world, draft=_draft(world))
    work_on_jobs()
    job.refresh_from_db()
    assert (job.state, job.tally["left_out"]) == (ReplayState.DONE, 2)


def test_a_trial_writes_one_event_and_reaches_no_tool(world: StoryWorld, ledger: list[str]) -> None:
    booked, events = list(ledger), AuditEvent.objects.count()
    calls, rows = ToolCall.objects.count(), DecisionRow.objects.count()
    _tried(world, PolicyDraft.of(_stricter(world)))
    assert list(ledger) == booked
    assert AuditEvent.objects.count() == events + 1
    assert (ToolCall.objects.count(), DecisionRow.objects.count()) == (calls, rows)


def test_the_command_tries_a_file_or_a_version(world: StoryWorld, tmp_path: Path) -> None:
    file = tmp_path / "draft.json"
    file.write_bytes(orjson.dumps(_stricter(world)))
    for name in (str(file), policy_walk(world.house).draft(_stricter(world)).ref):
        out = StringIO()
        call_command(
            "replay", "--since", "2020-01-01", "--tenant", world.tenant_id,
            "--policy", name, "--json", stdout=out, stderr=StringIO(),
        )  # fmt: skip
        tally: Any = strict_json.loads_object(out.getvalue())
        assert tally["changes"]["people needed 1 → 2"] == 6


# --- jobs ----------------------------------------------------------------------------------------
def _job(world: StoryWorld, **how: Any) -> ReplayJob:
    return start_job(
        tenant_id=world.tenant_id, period=_week(), actor=world.house.actor("operator"), **how
    )


def _draft(world: StoryWorld) -> ChosenDraft:
    version = policy_walk(world.house).draft(_stricter(world))
    return ChosenDraft.policy(tenant_id=world.tenant_id, version_id=version.pk)


def test_a_job_is_worked_on_in_the_background_and_keeps_its_result(world: StoryWorld) -> None:
    job = _job(world, draft=_draft(world))
    assert job.state == ReplayState.QUEUED
    replay_periods()
    job.refresh_from_db()
    assert (job.state, job.share, job.lease_until) == (ReplayState.DONE, 1.0, None)
    assert job.tally["changed"] == 11
    actions = set(AuditEvent.objects.values_list("action", flat=True))
    assert {"replay_job.started", "decision.period_replayed"} <= actions


def test_a_job_goes_on_where_a_lost_worker_left_it(
    world: StoryWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(periods, "AT_ONCE", 4)
    monkeypatch.setattr(jobs, "decisions_in", _pages_of(4))
    whole = replay_period(tenant_id=world.tenant_id, period=_week(), actor=ACTOR)
    job = _job(world)
    seen = []
    while work_on_jobs(seconds=0):
        job.refresh_from_db()
        seen.append(job.done)
        if len(seen) == 2:  # as after `kill -9`: nobody gave the lease back
            ReplayJob.objects.update(state="running", lease_until=utcnow() - timedelta(seconds=1))
    assert len(seen) > 3
    assert seen == sorted(seen)
    job.refresh_from_db()
    assert job.state == ReplayState.DONE
    assert job.tally == whole.as_dict()


def _pages_of(size: int) -> Any:
    def pages(tenant_id: str, period: Period, *, after: str = "") -> Any:
        return periods.decisions_in(tenant_id, period, after=after, at_once=size)

    return pages


def test_two_workers_never_hold_the_same_job(world: StoryWorld) -> None:
    _job(world)
    held = jobs._lease()
    assert held is not None
    assert jobs._lease() is None
    ReplayJob.objects.update(lease_until=utcnow() - timedelta(seconds=1))
    assert jobs._lease() is not None, "a lease that ran out is free"
    ReplayJob.objects.update(worker="somebody else")
    assert jobs._kept(held, jobs._tally(held)) is False, "theirs stands"


def test_a_stopped_job_stays_stopped_with_what_it_counted(world: StoryWorld) -> None:
    job = _job(world)
    actor = world.house.actor("operator")
    cancel_job(tenant_id=world.tenant_id, job_id=job.pk, actor=actor)
    assert work_on_jobs() == 0
    job.refresh_from_db()
    assert job.state == ReplayState.CANCELLED
    with pytest.raises(ContextOSError, match=r"replay\.already_ended"):
        cancel_job(tenant_id=world.tenant_id, job_id=job.pk, actor=actor)


def test_a_job_whose_draft_is_gone_fails_and_says_why(world: StoryWorld) -> None:
    job = _job(world, draft=_draft(world))
    ReplayJob.objects.filter(pk=job.pk).update(draft_digest="sha256:" + "0" * 64)
    work_on_jobs()
    job.refresh_from_db()
    assert job.state == ReplayState.FAILED
    assert "stored document" in job.fault


def test_a_tenant_has_so_many_jobs_at_once(world: StoryWorld) -> None:
    for _ in range(jobs.MOST_OPEN):
        _job(world)
    with pytest.raises(ContextOSError, match=r"replay\.too_many_jobs"):
        _job(world)


def test_a_draft_of_another_tenant_is_unknown(world: StoryWorld) -> None:
    other = House()
    version = policy_walk(other).draft(_stricter(world))
    with pytest.raises(ContextOSError, match=r"replay\.unknown_draft"):
        ChosenDraft.policy(tenant_id=world.tenant_id, version_id=version.pk)


# --- pages ---------------------------------------------------------------------------------------
def _browser(world: StoryWorld, who: str) -> Any:
    return browser_of(world.house.user(who), world.house.tenant)


@pytest.mark.proves("C4")
def test_an_author_sees_what_a_draft_would_have_changed_last_week(world: StoryWorld) -> None:
    version = policy_walk(world.house).draft(_stricter(world))
    author = _browser(world, "author")
    asked = author.get(f"{PAGE}?policy={version.pk}").content.decode()
    assert f'value="policy:{version.pk}" selected' in asked
    assert "the record itself" not in asked, "an author reads no records"
    today = utcnow().date()
    assert f'value="{today.isoformat()}"' in asked, "the form a browser's date field takes"
    answer = author.post(
        PAGE,
        {
            "against": f"policy:{version.pk}",
            "first_day": (today - timedelta(days=6)).isoformat(),
            "last_day": today.isoformat(),
        },
    )
    assert answer.status_code == 302, answer.content
    waiting = author.get(answer.url)
    assert waiting["Refresh"] == "2"
    work_on_jobs()
    done = author.get(answer.url)
    text = done.content.decode()
    assert "Refresh" not in done
    total = DecisionRow.objects.filter(seq=1).count()
    assert f"11 of {total} decisions would have been different" in text
    assert "people needed 1 → 2" in text
    assert "rule one_order_is_locked" in text
    assert "ord_0001" not in text
    assert version.ref in author.get(PAGE).content.decode()


def test_only_readers_of_records_hold_a_period_against_them(world: StoryWorld) -> None:
    today = utcnow().date().isoformat()
    body = {"against": "record", "first_day": today, "last_day": today}
    assert _browser(world, "author").post(PAGE, body).status_code == 422
    answer = _browser(world, "auditor").post(PAGE, body)
    assert answer.status_code == 302
    work_on_jobs()
    assert "equal" in _browser(world, "auditor").get(answer.url).content.decode()
    assert _browser(world, "author").get(answer.url).status_code == 403
    assert "the record itself" not in _browser(world, "author").get(PAGE).content.decode()


def test_an_auditor_tries_drafts_on_their_own_period_only(world: StoryWorld) -> None:
    auditor, today = world.house.user("auditor"), utcnow().date()
    version = policy_walk(world.house).draft(_stricter(world))
    body = {
        "against": f"policy:{version.pk}",
        "first_day": today.isoformat(),
        "last_day": today.isoformat(),
    }
    asked = _browser(world, "author").post(PAGE, body)
    granted(auditor, world.house.tenant)  # to records of an earlier month
    assert _browser(world, "auditor").post(PAGE, body).status_code == 422
    assert _browser(world, "auditor").get(asked.url).status_code == 403
    morning = datetime.combine(today, time(), UTC)
    granted(auditor, world.house.tenant, data_from=morning, data_until=morning + timedelta(days=1))
    mine = _browser(world, "auditor").post(PAGE, body)
    assert mine.status_code == 302
    assert _browser(world, "auditor").get(mine.url).status_code == 200


def test_a_wrong_period_is_said_at_its_field(world: StoryWorld) -> None:
    body = {"against": "record", "first_day": "2026-02-02", "last_day": "2026-02-01"}
    answer = _browser(world, "auditor").post(PAGE, body)
    assert answer.status_code == 422
    assert "The last day lies before the first." in answer.content.decode()


def test_another_tenants_job_is_not_there(world: StoryWorld) -> None:
    job = _job(world)
    other = House()
    assert (
        browser_of(other.user("operator"), other.tenant).get(f"{PAGE}{job.pk}/").status_code == 404
    )


def test_policies_and_manifests_lead_to_the_page(world: StoryWorld) -> None:
    policy = policy_walk(world.house).draft(_stricter(world))
    manifest = world.house.draft(orders(version="3.0.0"))
    author = _browser(world, "author")
    for address, wanted in (
        (f"/admin/registry/policybundleversion/{policy.pk}/change/", f"?policy={policy.pk}"),
        (f"/admin/registry/adapterversion/{manifest.pk}/change/", f"?manifest={manifest.pk}"),
        (
            f"/admin/registry/policybundleversion/simulator/?version={policy.pk}",
            f"?policy={policy.pk}",
        ),
    ):
        assert f"{PAGE}{wanted}" in author.get(address).content.decode(), address


def test_who_asked_may_stop_it_and_others_may_not(world: StoryWorld) -> None:
    job = start_job(
        tenant_id=world.tenant_id,
        period=_week(),
        actor=world.house.actor("reviewer"),
        draft=_draft(world),
    )
    assert job.against == ReplayAgainst.POLICY
    assert _browser(world, "author").post(f"{PAGE}{job.pk}/").status_code == 403
    assert _browser(world, "reviewer").post(f"{PAGE}{job.pk}/").status_code == 302
    job.refresh_from_db()
    assert job.state == ReplayState.CANCELLED
