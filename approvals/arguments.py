"""The arguments of a request as a person may see them: secrets never, values by eligibility."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from approvals.eligibility import VOTING_ROLE, Person
from approvals.models import ApprovalRequest
from approvals.selectors import gates_of, person_at
from audit.payloads import open_row, payload_rows
from contextos.core.errors import ContextOSError
from contextos.core.json_pointer import split
from contextos.core.redaction import MARK
from contextos.identity.models import User

_GONE = ("payload.erased", "payload.missing")


class ArgumentReader:
    """Opens the arguments of many requests for one person, in a handful of statements."""

    def __init__(self, viewer: User, tenant_id: str) -> None:
        self._viewer, self._tenant_id = viewer, tenant_id
        self._gates = gates_of(viewer, tenant_id)
        self._people: dict[str, Person] = {}

    def read(self, requests: Iterable[ApprovalRequest]) -> dict[str, Any]:
        """approval_id -> arguments; None where they were erased."""
        listed = list(requests)
        names = {request.pk: str(request.view.get("decision_id")) for request in listed}
        rows = payload_rows(tenant_id=self._tenant_id, decision_ids=names.values(), kinds=("args",))
        found: dict[str, Any] = {}
        for request in listed:
            row = rows.get((names[request.pk], "args"))
            value = _opened(row) if row is not None else None
            found[request.pk] = self._shown(request, value)
        return found

    def may_see(self, request: ApprovalRequest) -> bool:
        """Whether the person keeps the gate and had no part in what is asked."""
        gate_id = request.gate_id
        if gate_id not in self._gates:
            return False
        if gate_id not in self._people:
            self._people[gate_id] = person_at(
                self._viewer, tenant_id=self._tenant_id, gate_id=gate_id
            )
        person = self._people[gate_id]
        excluded = frozenset(request.excluded)
        return (
            VOTING_ROLE in person.roles
            and person.user_id not in excluded
            and person.stands_in_for.isdisjoint(excluded)
        )

    def _shown(self, request: ApprovalRequest, value: Any) -> Any:
        if not isinstance(value, Mapping):
            return None
        if not self.may_see(request):
            return dict.fromkeys(value, MARK)
        return without_secrets(value, request.view.get("secrets") or ())


def without_secrets(value: Any, pointers: Iterable[str]) -> Any:
    """A copy in which what the schema calls secret is masked, and nothing else."""
    patterns = tuple(split(pointer) for pointer in pointers)
    return _masked(value, patterns, ()) if patterns else value


def _masked(value: Any, patterns: tuple[tuple[str, ...], ...], path: tuple[str, ...]) -> Any:
    if any(_matches(pattern, path) for pattern in patterns):
        return MARK
    if isinstance(value, Mapping):
        return {name: _masked(inner, patterns, (*path, name)) for name, inner in value.items()}
    if isinstance(value, list):
        return [_masked(inner, patterns, (*path, str(at))) for at, inner in enumerate(value)]
    return value


def _matches(pattern: tuple[str, ...], path: tuple[str, ...]) -> bool:
    return len(pattern) == len(path) and all(
        wanted in ("*", token) for wanted, token in zip(pattern, path, strict=True)
    )


def _opened(row: Any) -> Any:
    try:
        return open_row(row)
    except ContextOSError as fault:
        if fault.code not in _GONE:
            raise
        return None
