"""The recorded answer for a key: given again only to the caller whose key it is (C9)."""

from __future__ import annotations

from contextos.core.errors import coded_error
from gateway.answers import Answer, stored
from gateway.context import CallContext
from gateway.figures.replays import note_replay
from gateway.idempotency import KeyScope, same_fingerprint
from gateway.models import IdempotencyKey, ToolCall
from gateway.standing import result_of
from gateway.states import CALLS, CallState


def scope_of(context: CallContext) -> KeyScope:
    """Whose key it is: this tenant's, agent's and person's, for this capability."""
    caller = context.caller
    asked_for = context.routed_from or context.capability.capability_id
    return KeyScope(caller.tenant_id, caller.agent.id, caller.user_id, asked_for)


def replay(context: CallContext) -> Answer | None:
    """The recorded answer for this key, or a refusal; None when the key is new."""
    if context.key is None:
        return None
    row = IdempotencyKey.objects.filter(pk=scope_of(context).hash_of(context.key)).first()
    if row is None:
        return None
    call = ToolCall.objects.filter(pk=row.tool_call_id).first()
    if row.expires_at <= context.now and (call is None or CALLS.is_terminal(call.state)):
        # Forgotten, but never while nobody knows yet how its call ends.
        IdempotencyKey.objects.filter(pk=row.pk, expires_at=row.expires_at).delete()
        return None
    if not row.salt:
        # Erased with the arguments: whether these are the same can't be told any more, and a key
        # that was used must not be used again.
        raise coded_error("payload.erased")
    if not same_fingerprint(row.fingerprint, bytes(row.salt), context.args):
        raise coded_error("idempotency.conflict")
    if call is None or call.state == CallState.EXECUTING:
        raise coded_error("idempotency.in_flight")
    body = result_of(call)
    if call.result:
        note_replay(call, body)
    return stored(body, replayed=bool(call.result))
