"""REST of exports: the shapes of the contract, who may, what is refused."""

from __future__ import annotations

import base64
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.test import Client

from audit.export.runner import run_due_exports
from audit.models import AuditEvent, ExportJob
from contextos.core.clock import utcnow
from contextos.identity.models import Membership
from tests.audit.export_world import ExportWorld, make_export_world, texts_of
from tests.factories import make_agent, make_agent_token, make_member, make_user_token
from tests.recorded_worlds import ready
from tests.registry.api.calls import Caller, code_of

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _folder(settings: Any, tmp_path: Path) -> None:
    settings.EXPORTS_DIR = tmp_path / "exports"


@pytest.fixture
def world() -> ExportWorld:
    return ready(make_export_world, records=3)


@pytest.fixture
def auditor(world: ExportWorld) -> Caller:
    return Caller(make_user_token(world.auditor, world.tenant).token)


@pytest.mark.proves("E3")
def test_an_export_is_asked_for_looked_after_and_fetched(
    world: ExportWorld, auditor: Caller
) -> None:
    answer = auditor.post("exports", {"format": "jsonl", "filter": {"status": "APPROVED"}})
    assert answer.status_code == 202
    said = answer.json()
    assert said == {"export_id": said["export_id"], "state": "queued"}
    assert said["export_id"].startswith("exp_")
    where = f"exports/{said['export_id']}"
    assert answer["Location"] == f"/api/v1/{where}"
    first = auditor.get(where).json()
    assert {name: first[name] for name in ("export_id", "state", "progress", "rows")} == {
        **said,
        "progress": 0.0,
        "rows": 0,
    }
    early = auditor.get(f"{where}/download")
    assert code_of(early) == (409, "export.not_ready")
    run_due_exports()
    done = auditor.get(where).json()
    assert (done["state"], done["progress"], done["rows"]) == ("done", 1.0, 3)
    file = auditor.get(f"{where}/download")
    body = b"".join(file.streaming_content)
    assert body.decode().splitlines() == texts_of(world.tenant.pk)
    digest = base64.b64encode(bytes.fromhex(done["sha256"])).decode()
    assert file["Repr-Digest"] == f"sha-256=:{digest}:"
    assert file["Content-Type"] == "application/jsonl"
    assert "attachment" in file["Content-Disposition"]
    assert "no-store" in file["Cache-Control"]
    assert auditor.get("exports").json()["results"] == [done]


def test_a_file_is_sent_whatever_the_caller_accepts(world: ExportWorld, auditor: Caller) -> None:
    job, _ = world.export("csv")
    answer = Client().get(
        f"/api/v1/exports/{job.pk}/download",
        headers={
            "Authorization": f"Bearer {make_user_token(world.auditor, world.tenant).token}",
            "Accept": "text/csv",
        },
    )
    assert answer.status_code == 200


@pytest.mark.parametrize(
    ("body", "status", "code"),
    [
        ({}, 400, "request.invalid"),
        ({"format": "docx"}, 422, "export.format_unknown"),
        ({"format": 7}, 400, "request.invalid"),
        ({"format": "csv", "filter": []}, 400, "request.invalid"),
        ({"format": "csv", "filter": {"colour": "red"}}, 400, "records.filter_invalid"),
        ({"format": "csv", "filter": {"from": "then"}}, 400, "records.filter_invalid"),
        ({"format": "csv", "columns": "seq"}, 400, "request.invalid"),
        ({"format": "csv", "columns": ["colour"]}, 422, "export.column_unknown"),
        ({"format": "csv", "sample": 7}, 422, "export.sample_invalid"),
        ({"format": "csv", "sample": {"size": 0}}, 422, "export.sample_invalid"),
        ({"format": "csv", "sample": {"size": True}}, 422, "export.sample_invalid"),
        ({"format": "csv", "sample": {"size": 5, "seed": "a b"}}, 422, "export.sample_invalid"),
        ({"format": "csv", "sample": {"size": 5, "seed": {}}}, 422, "export.sample_invalid"),
        ({"format": "csv", "formt": "csv"}, 400, "request.invalid"),
    ],
)
def test_what_makes_no_sense_is_refused_and_queues_nothing(
    auditor: Caller, body: dict[str, Any], status: int, code: str
) -> None:
    answer = auditor.post("exports", body)
    assert code_of(answer) == (status, code)
    assert not ExportJob.objects.exists()


def test_who_may_not_read_records_may_not_export_them(world: ExportWorld) -> None:
    approver = make_member(world.tenant, "finance_approver")
    agent = make_agent_token(make_agent(world.tenant))
    narrowed = make_user_token(world.auditor, world.tenant, scopes=["payments.issue_refund"])
    refused = [
        (make_user_token(approver, world.tenant).token, "role.missing"),
        (agent.token, "auth.person_needed"),
        (narrowed.token, "export.people_only"),
    ]
    for token, code in refused:
        for answer in (Caller(token).get("exports"), Caller(token).post("exports", {})):
            assert code_of(answer) == (403, code)


def test_an_auditor_whose_term_is_over_gets_nothing(world: ExportWorld, auditor: Caller) -> None:
    job, _ = world.export("jsonl")
    Membership.objects.filter(user=world.auditor).update(
        valid_until=utcnow() - timedelta(seconds=1)
    )
    for path in ("exports", f"exports/{job.pk}", f"exports/{job.pk}/download"):
        assert auditor.get(path).status_code in (401, 403)


def test_another_tenant_and_another_auditor_find_no_such_export(world: ExportWorld) -> None:
    job, _ = world.export("jsonl")
    other = make_export_world()
    beside = make_member(world.tenant, "auditor")
    for token in (
        make_user_token(other.auditor, other.tenant).token,
        make_user_token(beside, world.tenant).token,
    ):
        caller = Caller(token)
        for path in (f"exports/{job.pk}", f"exports/{job.pk}/download"):
            assert caller.get(path).status_code == 404
        assert caller.post(f"exports/{job.pk}/cancel", {}).status_code == 404
        assert caller.get("exports").json()["results"] == []


def test_an_export_is_cancelled_once(world: ExportWorld, auditor: Caller) -> None:
    job = world.request("csv")
    assert auditor.post(f"exports/{job.pk}/cancel", {}).json()["state"] == "cancelled"
    again = auditor.post(f"exports/{job.pk}/cancel", {})
    assert code_of(again) == (409, "state.transition_refused")


# --- the command ----------------------------------------------------------------------------------
def test_the_command_writes_a_file_beside_its_hash_and_leaves_no_other_copy(
    world: ExportWorld, tmp_path: Path, settings: Any
) -> None:
    out = tmp_path / "records.jsonl"
    call_command("export_decisions", "--format", "jsonl", "--out", str(out))
    assert out.read_text().splitlines() == texts_of(world.tenant.pk)
    assert (tmp_path / "records.jsonl.sha256").read_text().endswith("  records.jsonl\n")
    assert list(Path(settings.EXPORTS_DIR).iterdir()) == []
    assert AuditEvent.objects.filter(action="audit.export.done").count() == 1


def test_the_command_says_what_it_can_not_do(world: ExportWorld, tmp_path: Path) -> None:
    out = str(tmp_path / "x.csv")
    with pytest.raises(CommandError, match="does not exist"):
        call_command("export_decisions", "--format", "csv", "--out", str(tmp_path / "no" / "x"))
    with pytest.raises(CommandError, match="no tenant"):
        call_command("export_decisions", "--format", "csv", "--out", out, "--tenant", "other")
    with pytest.raises(CommandError, match="filter"):
        call_command("export_decisions", "--format", "csv", "--out", out, "--from", "then")
    make_export_world()
    with pytest.raises(CommandError, match="--tenant"):
        call_command("export_decisions", "--format", "csv", "--out", out)
    assert not Path(out).exists()
