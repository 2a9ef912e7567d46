"""The page of one decision: a story from its record, a proof made on the page (E1, E2, E3)."""

from __future__ import annotations

from base64 import b64decode
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.db import connection
from django.urls import reverse
from django.utils import timezone

from audit import merkle
from audit.accesses import Terms, grant_access
from audit.clearance import Clearance
from audit.models import AuditEvent, DecisionRow, Payload
from gateway.models import ToolCall
from gateway.resume import approval_decided
from gateway.worker import work_on
from tests.approvals.world import GATE, GateWorld
from tests.audit.logs import seal_all
from tests.audit.record_rows import chain, refund, refusal
from tests.factories import SYSTEM, make_user
from tests.gateway.admin.visits import looked_up, page, visitor
from tests.identity.signed_in import browser_of
from tests.putting_back import triggers_asleep
from tests.recorded_worlds import ready

pytestmark = pytest.mark.django_db
HOSTILE = "<script>alert(1)</script>\u202efdp.exe"


@pytest.fixture
def gated(function_runner: None) -> GateWorld:
    return ready(GateWorld)


def _approved(world: GateWorld) -> ToolCall:
    request, call = world.proposed()
    world.vote(request, "fin1", reason="Checked with the customer.")
    approval_decided(request.pk)
    work_on(call.pk)
    return ToolCall.objects.get(pk=call.pk)


def _shown(world: Any, name: str, decision_id: str) -> str:
    answer = visitor(world, name).get(page("record", decision_id))
    assert answer.status_code == 200
    return str(answer.text)


@pytest.mark.proves("E1")
def test_a_refund_is_told_from_who_asked_to_what_happened(gated: GateWorld) -> None:
    call = _approved(gated)
    seal_all()
    shown = _shown(gated, "auditor", call.decision_id)
    for words in (
        "asked for payments.issue_refund",
        "The run's intent was",
        "Only with the leave of GATE_FINANCE_APPROVAL",
        "refund_needs_finance",
        "Every refund waits for finance.",
        "confirmed with a code from their authenticator app",
        "Checked with the customer.",
        "after it was asked",
        "4,200 INR",
        "Every row is in the log, as written.",
        "proved by the log",
        "Timeline",
        "contextos.decision_record.v1",
        "Replay this decision",
    ):
        assert words in shown
    assert page("toolcall_change", call.pk) in shown
    assert page("record_proof", call.decision_id) in shown
    assert GATE in shown


@pytest.mark.proves("E1")
def test_the_trace_leads_to_everything_that_was_decided_under_it(gated: GateWorld) -> None:
    run = gated.open_run()
    calls = [gated.proposed(run=run, key=f"ik_aaaaaaaaaaaaaaa{n}")[1] for n in (1, 2)]
    reader = visitor(gated, "operator")
    shown = str(reader.get(page("record", calls[0].decision_id)).text)
    address = reverse("admin:audit_decisionrow_changelist") + f"?trace={run['trace_id']}"
    assert f'href="{address}"' in shown
    listed = reader.get(f"{address}&show=rows").text
    assert all(call.decision_id in listed for call in calls)


def test_a_read_needs_nobody_and_says_so(gated: GateWorld) -> None:
    call = looked_up(gated)
    shown = _shown(gated, "operator", call.decision_id)
    assert "Nobody had to" in shown
    assert "It was carried out." in shown
    assert "waits to be sealed" in shown
    assert "ord_0001" in shown


def test_a_refusal_tells_why_and_leads_to_what_would_help(gated: GateWorld) -> None:
    decision_id = refusal(gated.tenant_id)
    shown = _shown(gated, "auditor", decision_id)
    assert "It was refused; nothing was called." in shown
    assert "args.schema" in shown
    assert page("refusal", decision_id) in shown
    assert "Policy was not asked" in shown


@pytest.mark.proves("E2")
def test_the_downloaded_proof_can_be_checked_elsewhere(gated: GateWorld) -> None:
    call = _approved(gated)
    seal_all()
    answer = visitor(gated, "auditor").get(page("record_proof", call.decision_id))
    assert "attachment" in answer["Content-Disposition"]
    proof = orjson.loads(answer.content)
    root = proof["checkpoint"].split("\n")[2]
    assert len(proof["results"]) == len(proof["records"]) == 3
    for row, text in zip(proof["results"], proof["records"], strict=True):
        leaf = merkle.leaf_hash(text.encode())
        assert leaf.hex() == row["leaf_hash"]
        assert merkle.verify_inclusion(
            leaf=leaf,
            index=row["log_index"],
            size=proof["tree_size"],
            proof=[_unpacked(one) for one in row["hashes"]],
            root=_unpacked(root),
        )


def _unpacked(text: str) -> bytes:
    return b64decode(text)


@pytest.mark.proves("E2")
@pytest.mark.parametrize(
    ("table", "change", "said"),
    [
        ("audit_decisionrow", "status = 'EXPIRED'", "The column status does not say"),
        ("audit_decisionbody", "text = replace(text, 'EXECUTED', 'EXECUTES')", "own hash is not"),
        ("audit_decisionmention", "value = 'user_mallory'", "can be found by is not"),
    ],
)
def test_a_changed_row_is_called_tampered(
    gated: GateWorld, table: str, change: str, said: str
) -> None:
    decision_id = refund(gated.tenant_id)
    seal_all()
    last = DecisionRow.objects.get(decision_id=decision_id, seq=3).pk
    change += " WHERE record_id = %s"
    if table == "audit_decisionmention":
        change += " AND kind = 'approver'"
    with triggers_asleep(connection), connection.cursor() as cursor:
        cursor.execute(f"UPDATE {table} SET {change}", [last])
        assert cursor.rowcount == 1
    shown = _shown(gated, "auditor", decision_id)
    assert "tampered with" in shown
    assert said in shown


@pytest.mark.proves("E2")
@pytest.mark.parametrize("gone", ["seq = 3", "1 = 1"])
def test_a_record_whose_text_somebody_took_away_is_not_called_proved(
    gated: GateWorld, gone: str
) -> None:
    decision_id = refund(gated.tenant_id)
    seal_all()
    theirs = "SELECT record_id FROM audit_decisionrow WHERE decision_id = %s AND "
    with triggers_asleep(connection), connection.cursor() as cursor:
        cursor.execute(
            f"DELETE FROM audit_decisionbody WHERE record_id IN ({theirs}{gone})", [decision_id]
        )
    shown = _shown(gated, "auditor", decision_id)
    assert "The text of the row is gone, and no purge took it." in shown
    assert "Treat it as tampered with" in shown
    assert "purged" not in shown


def test_hostile_text_in_every_field_is_shown_as_text(gated: GateWorld) -> None:
    decision_id = refusal(
        gated.tenant_id,
        principal_chain=chain(gated.tenant_id, agent=HOSTILE, user=HOSTILE),
        intent=HOSTILE,
        session_id=HOSTILE,
        evidence_refs=[HOSTILE],
        controls_active=[HOSTILE],
        redactions=[HOSTILE],
        policy_decision={
            "allowed": False,
            "reason": f"{HOSTILE}: {HOSTILE}",
            "matched_rule_ids": [HOSTILE],
            "bundle_versions": [HOSTILE],
            "requires_approval_gate": HOSTILE,
        },
        approvals=[
            {
                "approval_id": HOSTILE,
                "gate": HOSTILE,
                "gate_version": HOSTILE,
                "state": HOSTILE,
                "votes": [
                    {"approver": HOSTILE, "verdict": "reject", "reason": HOSTILE, "at": HOSTILE}
                ],
            }
        ],
        egress={"host": HOSTILE, "ip": HOSTILE},
        credentials={"scopes_granted": [HOSTILE]},
        scorecard={"verdict": HOSTILE, "findings": [{"message": HOSTILE}]},
        code=HOSTILE,
    )
    shown = _shown(gated, "auditor", decision_id)
    assert "<script>alert(1)" not in shown
    assert "\u202e" not in shown
    assert shown.count("⟨U+202E⟩") > 10


@pytest.mark.parametrize("name", ["author", "reviewer", "approver"])
def test_others_read_no_story(gated: GateWorld, name: str) -> None:
    decision_id = refund(gated.tenant_id)
    assert visitor(gated, name).get(page("record", decision_id)).status_code == 403


def test_a_foreign_or_unknown_decision_has_no_page(gated: GateWorld) -> None:
    browser = visitor(gated, "auditor")
    for decision_id in (refund("globex"), "dec_nonsense"):
        assert browser.get(page("record", decision_id)).status_code == 404
        assert browser.get(page("record_proof", decision_id)).status_code == 404


def _limited(world: GateWorld, **terms: Any) -> Any:
    auditor, now = make_user("aude"), timezone.now()
    usual: dict[str, Any] = {"starts_at": now - timedelta(hours=1), "ends_at": now + timedelta(1)}
    grant_access(
        user=auditor,
        tenant_id=world.tenant_id,
        terms=Terms(**usual | terms),
        actor=SYSTEM,
        reason="Audit",
    )
    return browser_of(auditor, world.house.tenant)


@pytest.mark.proves("E3")
def test_values_above_clearance_are_masked_on_every_page(gated: GateWorld) -> None:
    call = _approved(gated)
    masked = _limited(gated, clearance=Clearance.PUBLIC)
    for url in (page("record", call.decision_id), page("toolcall_change", call.pk)):
        shown = masked.get(url).text
        assert "txn_4200" not in shown
        assert "4,200 INR" not in shown
    story = masked.get(page("record", call.decision_id)).text
    assert "masked: your access is cleared up to public" in story
    assert "above your clearance" in story
    assert "txn_4200" in _shown(gated, "auditor", call.decision_id)


@pytest.mark.proves("E3")
def test_outside_the_period_there_is_a_sentence_and_no_record(gated: GateWorld) -> None:
    call = _approved(gated)
    browser = _limited(gated, data_until=timezone.now() - timedelta(days=1))
    for url in (page("record", call.decision_id), page("record_proof", call.decision_id)):
        answer = browser.get(url)
        assert answer.status_code == 403
        assert "outside the period that your access covers" in answer.text
    for url in (page("toolcall_changelist"), page("run_changelist"), page("refusals")):
        assert call.pk not in browser.get(url).text
    assert browser.get(page("toolcall_change", call.pk)).status_code in {302, 404}


def test_an_erased_value_says_so_and_the_proof_stands(gated: GateWorld) -> None:
    call = _approved(gated)
    seal_all()
    Payload.objects.filter(decision_id=call.decision_id).update(
        sealed=None, erased_at=timezone.now()
    )
    shown = _shown(gated, "auditor", call.decision_id)
    assert "The value was erased" in shown
    assert "proved by the log" in shown


@pytest.mark.proves("E3")
def test_a_look_and_a_download_by_an_auditor_are_recorded(gated: GateWorld) -> None:
    decision_id = refund(gated.tenant_id)
    browser = visitor(gated, "auditor")
    browser.get(page("record", decision_id))
    browser.get(page("record", decision_id))
    _shown(gated, "operator", decision_id)
    looks = AuditEvent.objects.filter(action="audit.record.viewed", subject_id=decision_id)
    assert 1 <= looks.count() <= 2  # a minute may end between two looks
