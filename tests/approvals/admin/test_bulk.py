"""Several at once: only alike, few, never destructive, with their total, each counted by itself."""

from __future__ import annotations

from typing import Any

import pytest

from approvals.models import ApprovalRequest, Vote
from tests.approvals.admin.desk import QUEUE, Desk, page
from tests.approvals.admin.rows import TERMS

BULK = f"{QUEUE}bulk/"


def _many(desk: Desk, count: int = 3, **changes: Any) -> list[ApprovalRequest]:
    return [desk.request(**{"effective_mode": "network", **changes}) for _ in range(count)]


def _sent(rows: list[ApprovalRequest], verdict: str = "approve", **more: Any) -> dict[str, Any]:
    return {
        "id": [row.pk for row in rows],
        "digest": [f"{row.pk} {row.digest}" for row in rows],
        "verdict": verdict,
        "reason": "All of Tuesday's.",
        **more,
    }


@pytest.mark.proves("D5")
def test_alike_requests_are_decided_together_with_their_total(desk: Desk) -> None:
    rows = _many(desk)
    asked = desk.fin1.get(BULK, {"id": [row.pk for row in rows], "verdict": "approve"})
    assert asked.status_code == 200
    assert "12,600 INR" in asked.text
    assert not Vote.objects.exists()
    done = desk.fin1.post(BULK, _sent(rows))
    assert "3 of 3 votes counted" in done.text
    assert '<span class="cos-badge cos-badge--warning ml-auto">' not in done.text  # none waits
    assert set(Vote.objects.values_list("verdict", "reason")) == {("approve", "All of Tuesday's.")}
    assert {row.state for row in ApprovalRequest.objects.all()} == {"approved"}


def test_sums_of_different_units_are_not_added_up(desk: Desk) -> None:
    rows = [*_many(desk, 1), *_many(desk, 1, unit="USD", amount="10")]
    text = desk.fin1.get(BULK, {"id": [row.pk for row in rows]}).text
    assert "4,200 INR + 10 USD" in text


@pytest.mark.proves("D5")
@pytest.mark.parametrize(
    ("others", "words"),
    [
        ({"capability_id": "mail.send"}, "same gate and the same capability"),
        ({"effective_mode": "destructive"}, "one by one"),
        ({"terms": {**TERMS, "second_factor": "always"}}, "fresh code with every vote"),
        ({"state": "rejected"}, "decided meanwhile"),
        ({"gate_id": "GATE_OF_OTHERS"}, "not yours to decide"),
    ],
)
def test_what_does_not_go_together_is_refused(
    desk: Desk, others: dict[str, Any], words: str
) -> None:
    rows = [*_many(desk, 2), *_many(desk, 1, **others)]
    for answer in (
        desk.fin1.get(BULK, {"id": [row.pk for row in rows]}),
        desk.fin1.post(BULK, _sent(rows)),
    ):
        assert answer.status_code == 422
        assert words in answer.text
    assert not Vote.objects.exists()


@pytest.mark.parametrize(("count", "words"), [(1, "at least two"), (21, "At most 20")])
def test_one_and_too_many_are_refused(desk: Desk, count: int, words: str) -> None:
    rows = _many(desk, count)
    answer = desk.fin1.post(BULK, _sent(rows))
    assert answer.status_code == 422
    assert words in answer.text
    assert not Vote.objects.exists()


def test_one_reason_is_needed_for_all(desk: Desk) -> None:
    rows = _many(desk)
    answer = desk.fin1.post(BULK, _sent(rows, reason="  "))
    assert answer.status_code == 422
    assert 'id="id_reason_error"' in answer.text
    assert not Vote.objects.exists()


def test_each_outcome_is_told_also_where_one_is_refused(desk: Desk) -> None:
    rows = _many(desk)
    sent = _sent(rows)
    sent["digest"][0] = f"{rows[0].pk} sha256:{'0' * 64}"
    done = desk.fin1.post(BULK, sent)
    assert "2 of 3 votes counted" in done.text
    assert "Not counted: The request is not the one that was shown." in done.text
    assert Vote.objects.count() == 2


def test_the_queue_offers_boxes_for_lesser_calls_only(desk: Desk) -> None:
    (small,) = _many(desk, 1)
    grave = desk.request()
    text = desk.fin1.get(QUEUE).text
    assert f'value="{small.pk}"' in text
    assert f'value="{grave.pk}"' not in text
    assert page(grave) in text
