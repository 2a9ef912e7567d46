"""The page of a replay: the button, what came out, what was found before (E4)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils.safestring import SafeString

from audit.access import Window, window_of
from audit.models import AuditEvent, DecisionRow
from audit.selectors import EventFilter, events_of
from contextos.adminkit.display import Tone, badge
from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.text import reveal_invisible, single_line
from contextos.identity.actors import actor_of
from gateway.admin.access import record_window, tenant_of
from gateway.admin.frame import frame
from gateway.admin.labels import status_badge
from gateway.admin.links import call_url
from gateway.admin.values import pretty
from gateway.models import ToolCall
from gateway.replaying.findings import ReplayStatus
from gateway.replaying.services import SUBJECT_KIND, export_packet, replay, takes_values

EARLIER = 10
_TONES: dict[str, Tone] = {
    ReplayStatus.EQUAL: "success",
    ReplayStatus.MISMATCH: "warning",
    ReplayStatus.INVALID: "danger",
}
_LABELS = {
    ReplayStatus.EQUAL: "equal",
    ReplayStatus.MISMATCH: "different",
    ReplayStatus.INVALID: "not replayable",
}
_HEADLINES = {
    ReplayStatus.EQUAL: "The decision comes out the same again",
    ReplayStatus.MISMATCH: "The decision comes out differently",
    ReplayStatus.INVALID: "The decision can't be taken again",
}
_MEANINGS = {
    ReplayStatus.EQUAL: "Every row of the record was written again from the recorded inputs, "
    "documents and transcript, and is the same to the last character.",
    ReplayStatus.MISMATCH: "The record is intact, yet taking the decision again leads elsewhere. "
    "Each difference is named below.",
    ReplayStatus.INVALID: "Something that the decision rests on was erased, is missing, or was "
    "changed after it was written.",
}
_TYPES: dict[str, tuple[str, Tone]] = {
    "evidence": ("evidence", "warning"),
    "policy": ("policy", "warning"),
    "transcript": ("transcript", "warning"),
    "manifest": ("manifest", "warning"),
    "score": ("score", "warning"),
    "tamper": ("tampering", "danger"),
    "erased": ("erased", "neutral"),
}
STEPS = (
    ("record", "Record", "Are texts, hashes and columns of the rows as they were written?"),
    ("values", "Values", "Are arguments, inputs and transcript those the record commits to?"),
    ("documents", "Documents", "Do manifest, pack and policy have the recorded digests?"),
    ("resolve", "Resolve", "Does the pack permit the capability to this run?"),
    ("validate", "Validate", "Do the arguments fit schema and constraints?"),
    ("policy", "Policy", "Does the recorded policy say the same about the same inputs?"),
    ("gate", "Approval", "Did people vote on exactly this?"),
    ("result", "Result", "Does the transcript give the recorded result and score?"),
    ("evidence", "Evidence", "Does the result carry the evidence that was kept?"),
    ("rows", "Rows", "Is every row the same when it is written again?"),
)


def replay_view(request: HttpRequest, decision_id: str) -> HttpResponse:
    """What a replay is and what earlier ones found; posting replays now."""
    tenant_id = tenant_of(request)
    window = _window(request, tenant_id)
    what = {"tenant_id": tenant_id, "decision_id": decision_id}
    packet: dict[str, Any] | None = None
    try:
        if request.method == "POST":
            packet = replay(**what, actor=actor_of(request), window=window)
        heads = _heads(**what)
        window.require(heads[0].created_at)
    except ContextOSError as refusal:
        raise _refused(refusal) from None
    context = {
        **frame(request, "Replay", above=_above(tenant_id, decision_id)),
        "decision_id": decision_id,
        "record": _about(heads),
        "result": ShownResult.of(packet) if packet else None,
        "packet": packet,
        "text": pretty(packet) if packet else "",
        "takes_values": takes_values(window, decision_id),
        "earlier": earlier_replays(tenant_id, decision_id, but=1 if packet else 0),
    }
    return TemplateResponse(request, "gateway/replay.html", context)


def packet_view(request: HttpRequest, decision_id: str) -> HttpResponse:
    """The packet file, to be replayed elsewhere."""
    tenant_id = tenant_of(request)
    window = _window(request, tenant_id)
    try:
        packet = export_packet(
            tenant_id=tenant_id,
            decision_id=decision_id,
            actor=actor_of(request),
            with_values=takes_values(window, decision_id),
            window=window,
        )
    except ContextOSError as refusal:
        raise _refused(refusal) from None
    answer = HttpResponse(
        strict_json.dumps(packet).encode(), content_type="application/json; charset=utf-8"
    )
    name = f"{packet['replay_packet_id']}.json"
    answer["Content-Disposition"] = f'attachment; filename="{name}"'
    return answer


def replay_url(decision_id: str) -> str:
    """The page of a decision's replays."""
    return reverse("admin:gateway_replay", args=[decision_id])


def may_replay(request: HttpRequest, tenant_id: str) -> bool:
    """Whether the person reads records here at all, so that the button is worth showing."""
    return record_window(request, tenant_id) is not None


def _window(request: HttpRequest, tenant_id: str) -> Window:
    try:
        return window_of(request.user, tenant_id)  # type: ignore[arg-type]
    except ContextOSError as refusal:
        raise PermissionDenied(refusal.message) from None


def _refused(refusal: ContextOSError) -> Exception:
    """What the person may not read is forbidden; what there is not, is not found."""
    if refusal.code == "replay.unknown_decision":
        return Http404()
    return PermissionDenied(refusal.message)


def _above(tenant_id: str, decision_id: str) -> tuple[str, str]:
    rows = ToolCall.objects.filter(tenant_id=tenant_id, decision_id=decision_id)
    found = rows.values_list("pk", flat=True).first()
    if found:
        return call_url(found), "Call"
    return reverse("admin:gateway_refusal", args=[decision_id]), "Refusal"


def _heads(tenant_id: str, decision_id: str) -> list[DecisionRow]:
    """From the columns: a text that was tampered with must not hide the page that says so."""
    rows = DecisionRow.objects.filter(tenant_id=tenant_id, decision_id=decision_id)
    found = list(rows.order_by("seq"))
    if not found:
        raise Http404
    return found


def _about(heads: list[DecisionRow]) -> dict[str, Any]:
    first, last = heads[0], heads[-1]
    return {
        "capability": single_line(first.capability_id, limit=120),
        "at": first.created_at,
        "status": status_badge(last.status),
        "rows": len(heads),
    }


# --- what came out -------------------------------------------------------------------------------
@dataclass(frozen=True, slots=True)
class ShownResult:
    """A result in words and badges."""

    headline: str
    meaning: str
    label: SafeString
    steps: list[dict[str, Any]]
    diffs: list[dict[str, Any]]
    taken: list[str]

    @classmethod
    def of(cls, packet: Mapping[str, Any]) -> ShownResult:
        """From the packet's `latest_result`."""
        result = packet["latest_result"]
        status = ReplayStatus(result["status"])
        return cls(
            headline=_HEADLINES[status],
            meaning=_MEANINGS[status],
            label=result_badge(status),
            steps=_steps(result),
            diffs=[_diff(diff) for diff in result["diffs"]],
            taken=[reveal_invisible(sentence) for sentence in result["taken_from_record"]],
        )


def result_badge(status: str) -> SafeString:
    """How a replay came out."""
    known = ReplayStatus(status)
    return badge(_LABELS[known], _TONES[known])


def _steps(result: Mapping[str, Any]) -> list[dict[str, Any]]:
    taken = set(result["checked"])
    return [
        {
            "number": number,
            "title": title,
            "question": question,
            "state": "passed" if name in taken else "unasked",
        }
        for number, (name, title, question) in enumerate(STEPS, start=1)
    ]


def _diff(diff: Mapping[str, Any]) -> dict[str, Any]:
    name, tone = _TYPES[diff["type"]]
    return {
        "type": badge(name, tone),
        "path": reveal_invisible(str(diff["path"])),
        "expected": pretty(diff["expected"]),
        "found": pretty(diff["found"]),
        "message": diff["message"],
    }


# --- what was found before -----------------------------------------------------------------------
def earlier_replays(tenant_id: str, decision_id: str, *, but: int = 0) -> list[dict[str, Any]]:
    """The last replays of a decision, newest first, from the log."""
    wanted = EventFilter(
        action="decision.replayed", subject_kind=SUBJECT_KIND, subject_id=decision_id
    )
    return [_event(event) for event in events_of(tenant_id, wanted)[but : but + EARLIER]]


def _event(event: AuditEvent) -> dict[str, Any]:
    said: Any = strict_json.loads_object(event.text)
    kinds = said["data"].get("diffs") or {}
    return {
        "at": event.created_at,
        "who": reveal_invisible(str(said["actor"]["display"])),
        "label": result_badge(str(said["data"]["status"])),
        "kinds": ", ".join(_TYPES[name][0] for name in sorted(kinds) if name in _TYPES),
    }
