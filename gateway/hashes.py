"""What records say of calls and results: from these hashes no erased value can be guessed (E6)."""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from django.conf import settings

from audit.payloads import SealedPayload, salted_mark
from contextos.core.canonical import Frame, canonicalise, digest, digest_bytes


def keyed_hash(key: bytes, content: Any) -> str:
    """Equal for equal content; without the key nobody finds out by guessing what it was."""
    return "sha256:" + hmac.new(key, canonicalise(content), hashlib.sha256).hexdigest()


def house_key(purpose: str) -> bytes:
    """For what only this installation can compare, and for one purpose."""
    return hashlib.sha256(f"{purpose}:{settings.SECRET_KEY}".encode()).digest()


# Members that carry what the agent wrote beside its arguments, and the tool beside its output.
_AGENTS_WORDS = ("metadata", "idempotency_key")
_TOOLS_WORDS = ("error", "critic", "mutations", "citations")


def call_hash(
    envelope: Mapping[str, Any], *, commitment: str, salt: bytes, frame: Frame | None = None
) -> str:
    """What a record says of its call. Arguments stand in it by their commitment, and so do the
    agent's other words, under the same salt: erased together, none can be guessed afterwards.
    `frame` is the envelope written already, which is enough where there are no such words."""
    words = {name: envelope[name] for name in _AGENTS_WORDS if envelope.get(name) is not None}
    marks = {name: salted_mark(salt, name, value) for name, value in words.items()}
    if frame is not None and not marks:
        return digest_bytes(frame.holding(canonicalise(commitment)))
    return digest({**envelope, **marks, "args": commitment})


@dataclass(frozen=True, slots=True)
class Kept:
    """What a result left in the payload store: the commitment to its output, and a salt that is
    erased with it, or with the transcript where there was no output."""

    commitment: str | None = None
    salt: bytes = field(default=b"", repr=False)

    @classmethod
    def by(cls, output: SealedPayload | None, transcript: SealedPayload | None) -> Kept:
        """From the two values that an ending may write."""
        salted = output or transcript
        return cls(output.commitment if output else None, salted.salt if salted else b"")


def result_hash(envelope: Mapping[str, Any], kept: Kept, *, frame: Frame | None = None) -> str:
    """What a record says of its result. The output stands in it by its commitment; what else the
    tool said, by marks under the same salt: erased together, none can be guessed afterwards."""
    words = _words_of(envelope) if kept.salt else {}
    marks = {name: salted_mark(kept.salt, name, value) for name, value in words.items()}
    if frame is not None and not marks:
        return digest_bytes(frame.holding(canonicalise(kept.commitment)))
    return digest({**envelope, **marks, "output": kept.commitment})


def _words_of(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """A verdict without findings says nothing in words."""
    said = {name: envelope[name] for name in _TOOLS_WORDS if envelope.get(name)}
    if not (said.get("critic") or {}).get("findings"):
        said.pop("critic", None)
    return said
