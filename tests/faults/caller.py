"""A caller as bare as can be: one kept connection per thread, so that it costs little."""

from __future__ import annotations

import http.client
import itertools
import json
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from django_otp.oath import TOTP

CALLS = "/api/v1/tool-calls"
IDLE_SECONDS = 5.0  # the server closes a connection that says nothing for longer


class Unanswered(Exception):  # noqa: N818  named for what happened
    """The server was gone before it answered: nobody knows what it did."""


@dataclass(frozen=True, slots=True)
class Answer:
    """A status and the object that came with it."""

    status: int
    body: dict[str, Any]


@dataclass(slots=True)
class Caller:
    """An agent with its token, calling one gateway."""

    port: int
    token: str
    tenant_id: str
    timeout: float = 30.0
    _kept: threading.local = field(default_factory=threading.local)

    def open_run(self, **changes: Any) -> str:
        """A new run's id."""
        body = {"tenant_id": self.tenant_id, "intent": "support.refund", **changes}
        answer = self.post("/api/v1/runs", {"environment": "production", **body})
        assert answer.status == 201, answer
        return str(answer.body["run_id"])

    def call(self, run_id: str, capability_id: str, text: str, *, key: str | None = None) -> Answer:
        """Propose one call."""
        body = {"run_id": run_id, "capability_id": capability_id, "args": {"text": text}}
        return self.post(CALLS, body | ({"idempotency_key": key} if key else {}))

    def post(self, path: str, body: dict[str, Any]) -> Answer:
        """One request; a connection that broke is not used again."""
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        connection = self._connection()
        try:
            connection.request("POST", path, json.dumps(body), headers)
            answer = connection.getresponse()
            text = answer.read()
        except (OSError, http.client.HTTPException) as fault:
            self._forget()
            raise Unanswered(str(fault)) from fault
        return Answer(answer.status, json.JSONDecoder().decode(text.decode()))

    def get(self, path: str) -> Answer:
        """Read something, on a connection of its own."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
        try:
            connection.request("GET", path, headers={"Authorization": f"Bearer {self.token}"})
            answer = connection.getresponse()
            return Answer(answer.status, json.JSONDecoder().decode(answer.read().decode()))
        except (OSError, http.client.HTTPException) as fault:
            raise Unanswered(str(fault)) from fault
        finally:
            connection.close()

    def _connection(self) -> http.client.HTTPConnection:
        if time.monotonic() - getattr(self._kept, "used", 0.0) > IDLE_SECONDS:
            self._forget()
        kept: http.client.HTTPConnection | None = getattr(self._kept, "connection", None)
        if kept is None:
            kept = http.client.HTTPConnection("127.0.0.1", self.port, timeout=self.timeout)
            self._kept.connection = kept
        self._kept.used = time.monotonic()
        return kept

    def _forget(self) -> None:
        kept: http.client.HTTPConnection | None = getattr(self._kept, "connection", None)
        if kept is not None:
            kept.close()
        self._kept.connection = None


@dataclass(slots=True)
class Approvers:
    """People with authenticator apps; whoever has waited longest votes next."""

    port: int
    people: Sequence[Mapping[str, str]]
    _next: Iterator[Mapping[str, str]] = field(init=False)

    def __post_init__(self) -> None:
        self._next = itertools.cycle(self.people)

    def vote(self, approval_id: str, *, verdict: str = "approve") -> Answer:
        """One more person says it."""
        return self.vote_as(next(self._next), approval_id, verdict=verdict)

    def vote_as(self, person: Mapping[str, str], approval_id: str, *, verdict: str) -> Answer:
        """This person reads the request and votes on exactly what was read."""
        voter = Caller(self.port, person["token"], "")
        shown = voter.get(f"/api/v1/approvals/{approval_id}")
        assert shown.status == 200, shown
        body = {"digest": shown.body["subject"]["digest"], "reason": "Checked with the owner."}
        code = f"{TOTP(bytes.fromhex(person['secret'])).token():06d}"
        path = f"/api/v1/approvals/{approval_id}/{verdict}"
        return voter.post(path, body | ({"otp": code} if verdict == "approve" else {}))
