"""What the last calls brought before the policy, put together again from payloads and manifests."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from audit.decisions import MAX_RECORD_BYTES
from audit.models import DecisionRow, Payload
from audit.payloads import open_row, payload_rows
from audit.record_texts import texts_of
from contextos.core import strict_json
from contextos.core.clock import format_time
from contextos.core.errors import ContextOSError
from gateway.models import ToolCall
from registry.models import AdapterVersion
from registry.opened_cache import trusted_kids
from registry.recorded_inputs import RecordedInput
from registry.resolution import ResolvedCapability, open_capabilities

AT_ONCE = 200  # arguments may be large: never all of them in memory
MOST_PAGES = 25


def recorded_policy_inputs(tenant_id: str, count: int) -> Iterator[RecordedInput]:
    """The inputs of the last decisions that policy took part in, newest first."""
    given = 0
    for heads in _pages(tenant_id):
        for recorded in _Page.of(tenant_id, heads).rebuilt():
            if given == count:
                return
            given += 1
            yield recorded
        if given == count:
            return


def _pages(tenant_id: str) -> Iterator[list[DecisionRow]]:
    """The first rows of decisions, a page at a time; refusals before policy leave gaps."""
    rows = DecisionRow.objects.filter(tenant_id=tenant_id, seq=1).order_by("-record_id")
    after: dict[str, str] = {}
    for _ in range(MOST_PAGES):
        page = list(rows.filter(**after)[:AT_ONCE])
        if page:
            yield page
        if len(page) < AT_ONCE:
            return
        after = {"record_id__lt": page[-1].record_id}


@dataclass(frozen=True, slots=True)
class _Page:
    """Some decisions with all that belongs to them, read in four statements."""

    heads: list[DecisionRow]
    payloads: Mapping[tuple[str, str], Payload]
    calls: Mapping[str, str]  # decision id -> tool call id
    capabilities: Mapping[str, ResolvedCapability]  # by decision id

    @classmethod
    def of(cls, tenant_id: str, heads: list[DecisionRow]) -> _Page:
        ids = [head.decision_id for head in heads]
        payloads = payload_rows(tenant_id=tenant_id, decision_ids=ids, kinds=("args", "inputs"))
        decided = [head for head in heads if (head.decision_id, "inputs") in payloads]
        calls = ToolCall.objects.filter(tenant_id=tenant_id, decision_id__in=ids)
        return cls(
            heads=decided,
            payloads=payloads,
            calls=dict(calls.values_list("decision_id", "tool_call_id")),
            capabilities=_capabilities(tenant_id, decided),
        )

    def rebuilt(self) -> Iterator[RecordedInput]:
        for head in self.heads:
            yield RecordedInput(
                decision_id=head.decision_id,
                recorded_at=format_time(head.created_at),
                document=self._document(head.decision_id),
                capability_id=head.capability_id,
                agent_id=head.agent_id,
                tool_call_id=self.calls.get(head.decision_id, ""),
            )

    def _document(self, decision_id: str) -> dict[str, Any] | None:
        """None where something was erased, tampered with, or is not trusted any more."""
        capability = self.capabilities.get(decision_id)
        args = self.payloads.get((decision_id, "args"))
        if capability is None or args is None:
            return None
        try:
            inputs = dict(open_row(self.payloads[decision_id, "inputs"]))
            request = {**inputs["request"], "args": open_row(args)}
        except ContextOSError:
            return None
        return {**inputs, "request": request, "capability": dict(capability.readable)}


def _capabilities(tenant_id: str, heads: Sequence[DecisionRow]) -> dict[str, ResolvedCapability]:
    """By decision, as declared in the manifest that its record names."""
    hashes = {name: _manifest_hash(text) for name, text in texts_of(heads).items()}
    opened = _opened(tenant_id, set(hashes.values()))
    found = {
        head.decision_id: opened.get(hashes.get(head.pk, ""), {}).get(head.capability_id)
        for head in heads
    }
    return {name: capability for name, capability in found.items() if capability is not None}


def _manifest_hash(text: str) -> str:
    record: Mapping[str, Any] = strict_json.loads_object(text, max_bytes=MAX_RECORD_BYTES)
    return str(record["lineage"]["manifest_hash"])


def _opened(tenant_id: str, hashes: set[str]) -> dict[str, Mapping[str, ResolvedCapability]]:
    """What each signed manifest declares; one whose signature no longer holds declares nothing."""
    kids = trusted_kids()
    versions = AdapterVersion.objects.filter(tenant_id=tenant_id, digest__in=hashes)
    found: dict[str, Mapping[str, ResolvedCapability]] = {}
    for version in versions.select_related("adapter"):
        try:
            found[version.digest] = open_capabilities(version, kids).by_id
        except ContextOSError:
            continue
    return found
