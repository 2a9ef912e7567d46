"""A caller as bare as can be: one kept connection per thread, so that it costs little."""

from __future__ import annotations

import http.client
import json
import threading
import time
from dataclasses import dataclass, field
from typing import Any

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
