"""The approvals' part of the front page: what waits for this person's vote."""

from __future__ import annotations

from django.http import HttpRequest

from approvals.figures import figures_of
from approvals.gates import read_terms
from approvals.labels import name, time_left
from approvals.models import ApprovalRequest
from approvals.viewer import viewer_of
from contextos.adminkit.front_page import Panel, Row, register_panel
from contextos.adminkit.links import admin_url

SHOWN = 5


def to_decide(request: HttpRequest) -> Panel | None:
    """The riskiest requests that wait for this person."""
    viewer = viewer_of(request)
    if viewer is None or not viewer.gates:
        return None
    figures = figures_of(request)
    rows = [
        Row(
            text=name(f"{row.capability_id} {figures.amount(row.amount, row.unit)}"),
            detail=name(f"{row.agent_id} asks, at {row.gate_id}"),
            url=admin_url(ApprovalRequest, "change", row.pk),
            label=(left := time_left(row, read_terms(row.terms))).words,
            tone=left.tone,
        )
        for row in viewer.mine()[:SHOWN]
    ]
    return Panel(
        "Requests to decide", rows, total=viewer.mine_count, more_url=admin_url(ApprovalRequest)
    )


register_panel(key="approvals.to_decide", column="waiting", build=to_decide, order=10)
