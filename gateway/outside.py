"""Calls that leave the process: what they carry, and one more try after a refusal (C7, C8)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from contextos.core.changing import changed
from contextos.core.errors import ContextOSError
from gateway.attempts import Attempt
from gateway.connectors.base import Connector, Credential, Invocation, Reply
from gateway.credentials.broker import credential_again, credential_for
from gateway.credentials.error_codes import REFUSED
from gateway.credentials.terms import Ask, ask_of
from gateway.metadata import metadata_token

Result = TypeVar("Result")
Answered = tuple[Attempt, Reply | ContextOSError]


def ask_outside(attempt: Attempt, connector: Connector, call: Invocation) -> Answered:
    """Fetch the credential, call, and once more with another one if the first was refused.

    The attempt comes back with what was shown in its record: names and scopes, no secret.
    """
    ask = ask_of(attempt)
    shown: Credential | None = None
    try:
        shown = credential_for(ask) if ask else None
        return _recorded(attempt, shown), connector.invoke(_dressed(attempt, call, shown))
    except ContextOSError as fault:
        if fault.code != REFUSED or ask is None or shown is None:
            return _recorded(attempt, shown), fault
        refusal = fault
    try:
        again = credential_again(ask, shown)
        if again is None:
            return _recorded(attempt, shown), refusal
        shown = again
        return _recorded(attempt, shown), connector.invoke(_dressed(attempt, call, shown))
    except ContextOSError as fault:
        return _recorded(attempt, shown), fault


def asking(attempt: Attempt, send: Callable[[Invocation], Result]) -> Result:
    """A poll, a cancel or an answer: it carries what the call itself carries, and is sent once
    more with another credential where the first was refused."""
    call = attempt.invocation()
    if attempt.capability.manifest.get("protocol") == "function":
        return send(call)
    return let_in(ask_of(attempt), lambda shown: send(_dressed(attempt, call, shown)))


def let_in(ask: Ask | None, send: Callable[[Credential | None], Result]) -> Result:
    """Send with what the ask wants shown, and once more with another one if that was refused."""
    shown = credential_for(ask) if ask else None
    try:
        return send(shown)
    except ContextOSError as fault:
        again = None
        if fault.code == REFUSED and ask is not None and shown is not None:
            again = credential_again(ask, shown)
        if again is None:
            raise
    return send(again)


def _dressed(attempt: Attempt, call: Invocation, shown: Credential | None) -> Invocation:
    scopes = shown.scopes_granted if shown else ()
    return changed(call, credential=shown, metadata_token=metadata_token(attempt, scopes))


def _recorded(attempt: Attempt, shown: Credential | None) -> Attempt:
    if shown is None:
        return attempt
    return changed(attempt, facts=changed(attempt.facts, credentials=shown.as_record()))
