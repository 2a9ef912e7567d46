"""Splits names into the words people read in them, and quotes untrusted values in messages."""

import re
import unicodedata

from registry.manifest import Capability
from registry.schema_explain import show

__all__ = ["label", "show", "split_words"]

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")


def split_words(name: str) -> tuple[str, ...]:
    """`payments.issueRefund_v2` as ("payments", "issue", "refund", "v")."""
    folded = unicodedata.normalize("NFKC", name)
    return tuple(word.lower() for word in _WORD.findall(folded))


def label(capability: Capability) -> str:
    """What a message calls a capability."""
    name = capability.capability_id
    return show(name) if name else f"The capability at position {capability.index + 1}"
