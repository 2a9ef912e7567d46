"""Where an agent is told that its call has ended, and the secret that signs it."""

from __future__ import annotations

from typing import Any

from django.conf import settings

from contextos.core.errors import coded_error
from contextos.identity.field_encryption import decrypt_field, encrypt_field
from contextos.identity.models import Agent
from contextos.net.signed_posts import check_address, fingerprint, key_of
from contextos.net.targets import parse_target


def set_callback(agent: Agent, *, url: str | None, secret: str) -> dict[str, Any]:
    """Change a locked agent's callback; what a record says of it, nothing where nothing changed."""
    before = agent.callback_url
    if url is not None:
        agent.callback_url = url
    if secret:
        agent.sealed_callback_secret = seal_secret(agent, secret)
    if agent.callback_url == before and not secret:
        return {}
    require_sound_callback(agent)
    agent.save(update_fields=["callback_url", "sealed_callback_secret"])
    return {"callback": callback_facts(agent)}


def require_sound_callback(agent: Agent) -> None:
    """An address that can be called, and never one without a secret."""
    if not agent.callback_url:
        return
    check_address(agent.callback_url, environment=settings.CONTEXTOS_ENV)
    if agent.sealed_callback_secret is None:
        raise coded_error("agent.callback_unsigned")


def seal_secret(agent: Agent, secret: str) -> bytes:
    """The secret as it is kept; a weak one is refused."""
    key_of(secret)
    return encrypt_field(secret.encode(), context=callback_context(agent))


def callback_secret(agent: Agent) -> str | None:
    """The secret itself, for signing alone."""
    if agent.sealed_callback_secret is None:
        return None
    sealed = bytes(agent.sealed_callback_secret)
    return decrypt_field(sealed, context=callback_context(agent)).decode()


def shown_secret(agent: Agent) -> str:
    """What may be shown of it: a fingerprint that the receiver can work out too."""
    secret = callback_secret(agent)
    return f"sha256 {fingerprint(secret)}" if secret else "none"


def callback_facts(agent: Agent) -> dict[str, Any]:
    """For the log: the host alone, since a path may hold a key."""
    url = agent.callback_url
    return {"host": parse_target(url).host if url else None, "secret": shown_secret(agent)}


def callback_context(agent: Agent) -> str:
    """Where the ciphertext of its secret belongs."""
    return f"identity.agent.callback_secret:{agent.tenant_id}:{agent.agent_id}"
