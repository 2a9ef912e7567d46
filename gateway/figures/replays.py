"""Answers given again for a key: noted when given, compared with the record before they count."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.db.models import Exists, OuterRef, Subquery

from audit.decision_record import TERMINAL, DecisionStatus
from audit.decisions import MAX_RECORD_BYTES
from audit.models import DecisionBody, DecisionRow, Payload
from audit.payloads import unsealed
from audit.services import record_event
from contextos.core import strict_json
from contextos.core.canonical import digest
from contextos.core.clock import utcnow
from contextos.core.events import automation
from gateway.figures.counting import Counted, Place
from gateway.hashes import Kept, result_hash
from gateway.models import ReplayAnswer, ToolCall

_SAID_BY_TOOLS = ("output", "transcript")
_SAID = [*(status.value for status in TERMINAL), DecisionStatus.UNKNOWN.value]


@dataclass(frozen=True, slots=True)
class Compared:
    """A replay and whether it was what the record says."""

    answer: ReplayAnswer
    is_equal: bool

    def counted(self) -> Iterator[Counted]:
        """What it adds to the counts."""
        place = Place.of(self.answer.adapter_id, self.answer.capability_id)
        yield Counted(place, self.answer.created_at, "replays", 1)
        if self.is_equal:
            yield Counted(place, self.answer.created_at, "replays_equal", 1)


def note_replay(call: ToolCall, body: Mapping[str, Any]) -> None:
    """Keep what was just answered in place of a second call."""
    ReplayAnswer.objects.create(
        tenant_id=call.tenant_id,
        tool_call_id=call.pk,
        decision_id=call.decision_id,
        adapter_id=call.adapter_id,
        capability_id=call.capability_id,
        answered_hash=_hash_of(body),
        created_at=utcnow(),
    )


def waiting_replays(tenant_id: str, *, most: int) -> list[ReplayAnswer]:
    """Noted and not counted yet."""
    return list(ReplayAnswer.objects.filter(tenant_id=tenant_id).order_by("id")[:most])


def compared(answers: Sequence[ReplayAnswer]) -> list[Compared]:
    """Each answer against the record of its decision, which nobody can change.

    The output itself was checked against its commitment when it was opened for the answer.
    """
    if not answers:
        return []
    expected = _expected({answer.decision_id for answer in answers})
    erased = _erased([answer.tool_call_id for answer in answers])
    return [
        Compared(
            answer,
            answer.tool_call_id in erased
            or answer.answered_hash in expected.get(answer.decision_id, ()),
        )
        for answer in answers
    ]


def _erased(tool_call_ids: Sequence[str]) -> set[str]:
    """Calls whose values are gone: what was answered before has nothing to differ from."""
    gone = Payload.objects.filter(
        decision_id=OuterRef("decision_id"), kind__in=_SAID_BY_TOOLS, erased_at__isnull=False
    )
    calls = ToolCall.objects.filter(Exists(gone), pk__in=tool_call_ids)
    return set(calls.order_by().values_list("pk", flat=True))


def tell_of_differences(found: Sequence[Compared]) -> None:
    """A replay that differs from its record is for people to look into."""
    for item in found:
        if not item.is_equal:
            record_event(
                tenant_id=item.answer.tenant_id,
                action="call.replay_differed",
                actor=automation("figures"),
                subject_kind="tool_call",
                subject_id=item.answer.tool_call_id,
                data={"decision_id": item.answer.decision_id},
            )


def _expected(decision_ids: set[str]) -> dict[str, set[str]]:
    """The hashes, as `note_replay` writes them, of what each decision's rows vouch for."""
    vouched: dict[str, set[str]] = {}
    for decision_id, text in _texts(decision_ids):
        record = strict_json.loads_object(text, max_bytes=MAX_RECORD_BYTES)
        # Where nothing was kept of the result, the record's hash is over the very same object.
        vouched.setdefault(decision_id, set()).add(str(record["tool_result_hash"]))
    for call, kept in _with_what_was_kept(decision_ids):
        envelope = strict_json.loads_object(call.result)
        if result_hash(envelope, kept) in vouched.get(call.decision_id, ()):
            vouched[call.decision_id].add(_hash_of(envelope))
    return vouched


def _texts(decision_ids: set[str]) -> list[tuple[str, str]]:
    body = DecisionBody.objects.filter(
        record_id=OuterRef("record_id"), created_at=OuterRef("created_at")
    )
    rows = DecisionRow.objects.filter(decision_id__in=decision_ids, status__in=_SAID)
    texts = rows.order_by().annotate(text=Subquery(body.values("text")[:1]))
    return list(texts.values_list("decision_id", "text"))


def _with_what_was_kept(decision_ids: set[str]) -> Iterator[tuple[ToolCall, Kept]]:
    """Each call with all that its record's hash may have been taken with, of any version."""
    calls = ToolCall.objects.filter(decision_id__in=decision_ids).exclude(result="").order_by()
    rows = Payload.objects.filter(
        decision_id__in=decision_ids, kind__in=_SAID_BY_TOOLS, sealed__isnull=False
    )
    values: dict[str, list[Payload]] = {}
    for row in rows.order_by("payload_id"):
        values.setdefault(row.decision_id, []).append(row)
    for call in calls:
        known = values.get(call.decision_id, [])
        output = next((row for row in known if row.pk == call.output_payload), None)
        commitment = output.commitment if output else None
        yield call, Kept(commitment)
        for row in [output] if output else known:
            yield call, Kept(commitment, unsealed(row).salt)


def _hash_of(body: Mapping[str, Any]) -> str:
    return digest({**body, "output": None, "replayed": False})
