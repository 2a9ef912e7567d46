"""The client: open a run, see what it may call, check a plan, call, wait, answer, cancel."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, TypeVar
from urllib.parse import quote, urlsplit

from .answers import checked
from .errors import Unreachable
from .reading import Json, Misshapen
from .retry import Clock, Retry, send_repeatedly
from .run_types import RunContext, ToolManifest
from .types import CallRecord, PlanVerdict, ToolResult
from .vocabulary import InputAction
from .waiting import Waiter, prefer_wait
from .wire import Answer, Request, Wire, json_body

T = TypeVar("T")
_API = "/api/v1"


class Client:
    """Speaks to one gateway with one agent's token, perhaps in the name of one person.

    Threads may share it. Network faults are repeated where that can't do harm (see `Retry`);
    everything else is returned or raised as it came.
    """

    def __init__(
        self,
        base_url: str,
        agent_token: str,
        *,
        user_token: str | None = None,
        timeout: float = 30.0,
        mcp_url: str | None = None,
        retry: Retry | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`mcp_url` names the server whose `GET` waits; without it, waiting means polling."""
        self._wire = Wire(base_url, timeout=timeout)
        self._waiting_wire = Wire(_origin(mcp_url), timeout=timeout) if mcp_url else self._wire
        self._retry, self._clock = retry or Retry(), clock or Clock()
        self._headers = {
            "Accept": "application/json",
            "User-Agent": "contextos-client",
            "Authorization": f"Bearer {_token(agent_token, 'agent_token')}",
        }
        if user_token is not None:
            self._headers["X-User-Delegation"] = _token(user_token, "user_token")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        fault: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; the client may be used again."""
        self._wire.close()
        self._waiting_wire.close()

    # --- runs and plans --------------------------------------------------------------------------
    def open_run(
        self,
        tenant_id: str,
        intent: str,
        *,
        environment: str | None = None,
        safety_mode: str | None = None,
        context_pack_refs: Sequence[str] | None = None,
        run_budget: Json | None = None,
        session_id: str | None = None,
        context: Json | None = None,
        traceparent: str | None = None,
    ) -> RunContext:
        """Open a run; what is left out, the tenant and the token decide.

        Never repeated by itself: a second run would be opened.
        """
        optional = {
            "environment": environment,
            "safety_mode": safety_mode,
            "context_pack_refs": context_pack_refs,
            "run_budget": run_budget,
            "session_id": session_id,
            "context": context,
        }
        body = {"tenant_id": tenant_id, "intent": intent, **_given(optional)}
        request = self._post("/runs", body, traceparent=traceparent)
        answer = self._send(request)
        return _read(answer, lambda raw: RunContext.read(raw, traceparent=answer.traceparent))

    def tool_manifest(
        self, run: RunContext | str, *, traceparent: str | None = None
    ) -> ToolManifest:
        """Exactly what the run may call now."""
        path = f"/runs/{_segment(_run_id(run))}/tool-manifest"
        answer = self._send(self._get(path, traceparent=traceparent))
        return _read(answer, lambda raw: ToolManifest.read(raw, traceparent=answer.traceparent))

    def verify_plan(
        self, run: RunContext | str, plan: Json, *, traceparent: str | None = None
    ) -> PlanVerdict:
        """What the critic says of a plan; nothing is called."""
        body = {"run_id": _run_id(run), "plan": plan}
        request = self._post("/plans/verify", body, traceparent=traceparent, repeatable=True)
        answer = self._send(request)
        return _read(answer, lambda raw: PlanVerdict.read(raw, traceparent=answer.traceparent))

    # --- calls -----------------------------------------------------------------------------------
    def call(
        self,
        run: RunContext | str,
        capability_id: str,
        args: Json,
        *,
        idempotency_key: str | None = None,
        wait: float = 0,
        approval_mode_requested: str | None = None,
        evidence_refs: Sequence[str] = (),
        session_id: str | None = None,
        plan_id: str | None = None,
        step_id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        traceparent: str | None = None,
    ) -> ToolResult:
        """Propose one call. Paused, deferred, failed and unknown outcomes are results.

        A lost answer is asked for again with the same key. A call without a key is repeated too:
        the gateway lets nothing that changes anything pass without one.
        """
        optional = {
            "idempotency_key": idempotency_key,
            "approval_mode_requested": approval_mode_requested,
            "evidence_refs": list(evidence_refs) or None,
            "session_id": session_id,
            "plan_id": plan_id,
            "step_id": step_id,
            "metadata": metadata,
        }
        asked = {"run_id": _run_id(run), "capability_id": capability_id, "args": args}
        body = {**asked, **_given(optional)}
        request = self._post(
            "/tool-calls", body, traceparent=traceparent, repeatable=True, wait=prefer_wait(wait)
        )
        return _result(self._send(request))

    def get_call(
        self, call: ToolResult | str, *, wait: float = 0, traceparent: str | None = None
    ) -> CallRecord:
        """Both envelopes of a call of yours."""
        path, seconds = f"/tool-calls/{_segment(_call_id(call))}", prefer_wait(wait)
        request = self._get(path, traceparent=traceparent, wait=seconds)
        return _record(self._send(request, self._waiting_wire))

    def wait_for(self, call: ToolResult | str, *, seconds: float) -> ToolResult:
        """Wait until the call ends or asks for input; at most so long.

        The last result is returned even if it is still waiting then: look at `is_waiting`.
        """
        path = f"/tool-calls/{_segment(_call_id(call))}"

        def look(wait: int) -> CallRecord:
            request = self._get(path, wait=wait)
            return _record(self._once(request, self._waiting_wire))

        until = self._clock.now() + seconds
        return Waiter(look=look, clock=self._clock, pacing=self._retry, until=until).wait()

    def cancel(
        self, call: ToolResult | str, reason: str, *, traceparent: str | None = None
    ) -> ToolResult:
        """Ask for a call to be cancelled; WrongState when it has ended."""
        path = f"/tool-calls/{_segment(_call_id(call))}/cancel"
        return _result(self._send(self._post(path, {"reason": reason}, traceparent=traceparent)))

    def give_input(
        self,
        call: ToolResult | str,
        content: Json | None = None,
        *,
        action: InputAction | str = InputAction.ACCEPT,
        traceparent: str | None = None,
    ) -> ToolResult:
        """Answer what the call asks in `input_request`, decline, or cancel."""
        path = f"/tool-calls/{_segment(_call_id(call))}/input"
        body: dict[str, Any] = {"action": str(InputAction(action))}
        if content is not None:
            body["content"] = content
        return _result(self._send(self._post(path, body, traceparent=traceparent)))

    # --- sending ---------------------------------------------------------------------------------
    def _send(self, request: Request, wire: Wire | None = None) -> Answer:
        if not request.repeatable:
            return self._once(request, wire)
        return send_repeatedly(
            lambda: self._once(request, wire), retry=self._retry, clock=self._clock
        )

    def _once(self, request: Request, wire: Wire | None = None) -> Answer:
        return checked((wire or self._wire).send(request))

    def _get(self, path: str, *, traceparent: str | None = None, wait: int = 0) -> Request:
        headers = self._with(traceparent, wait)
        return Request("GET", _API + path, None, headers, repeatable=True, patience=wait)

    def _post(
        self,
        path: str,
        body: Json,
        *,
        traceparent: str | None = None,
        repeatable: bool = False,
        wait: int = 0,
    ) -> Request:
        headers = {**self._with(traceparent, wait), "Content-Type": "application/json"}
        content = json_body(body)
        return Request("POST", _API + path, content, headers, repeatable=repeatable, patience=wait)

    def _with(self, traceparent: str | None, wait: int) -> dict[str, str]:
        headers = dict(self._headers)
        if traceparent is not None:
            headers["traceparent"] = traceparent
        if wait:
            headers["Prefer"] = f"wait={wait}"
        return headers


def _read(answer: Answer, read: Callable[[Json], T]) -> T:
    try:
        return read(answer.body)
    except Misshapen as fault:
        raise Unreachable(f"The answer is none of this contract: {fault}.") from fault


def _result(answer: Answer) -> ToolResult:
    return _read(
        answer,
        lambda raw: ToolResult.read(
            raw, traceparent=answer.traceparent, retry_after=answer.retry_after
        ),
    )


def _record(answer: Answer) -> CallRecord:
    return _read(
        answer,
        lambda raw: CallRecord.read(
            raw, traceparent=answer.traceparent, retry_after=answer.retry_after
        ),
    )


def _given(members: Json) -> Json:
    return {name: value for name, value in members.items() if value is not None}


def _run_id(run: RunContext | str) -> str:
    return run if isinstance(run, str) else run.run_id


def _call_id(call: ToolResult | str) -> str:
    found = call if isinstance(call, str) else call.tool_call_id
    if not found:
        raise ValueError("this result names no call: it was refused before it was accepted")
    return found


def _segment(text: str) -> str:
    return quote(text, safe="")


def _origin(url: str) -> str:
    target = urlsplit(url)
    return f"{target.scheme}://{target.netloc}"


def _token(text: str, name: str) -> str:
    """The token without the line end a file leaves; its text never reaches a message."""
    token = text.strip()
    if not token or not token.isascii() or not token.isprintable() or " " in token:
        raise ValueError(f"{name} is empty or holds characters no token has")
    return token
