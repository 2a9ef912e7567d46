"""Checkpoints as C2SP tlog-checkpoint: a signed note that anyone can read and check (pure; E2).

<origin>                         which log: `<installation>/log/<tenant>`
<tree size>
<root hash, base64>

— <key name> <base64 of the key's id (4 bytes) and the Ed25519 signature (64 bytes)>
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from urllib.parse import quote

from audit.merkle import HASH_BYTES
from contextos.core.errors import coded_error
from contextos.core.signing import Signer, VerificationKey

_ED25519 = b"\x01"
_ID_BYTES, _SIGNATURE_BYTES = 4, 64
_MOST_CHARACTERS = 10_000
_SIZE = re.compile(r"0|[1-9][0-9]{0,18}")
_SIGNED_BY = "\u2014 "  # an em dash begins every signature line


@dataclass(frozen=True, slots=True)
class Signature:
    """One signature line."""

    name: str
    key_id: bytes
    signature: bytes


@dataclass(frozen=True, slots=True)
class Note:
    """A checkpoint taken apart; who signed it is still to be checked."""

    origin: str
    tree_size: int
    root_hash: bytes
    signed_text: bytes
    signatures: tuple[Signature, ...]
    text: str


def origin_of(installation: str, tenant_id: str) -> str:
    """The name of a tenant's log; names hold no spaces and no plus signs."""
    return f"{quote(installation, safe=':/.[]-_~')}/log/{quote(tenant_id, safe='')}"


def sign_checkpoint(*, origin: str, tree_size: int, root_hash: bytes, signer: Signer) -> str:
    """The text of a checkpoint, signed; the log's name is the key's name too."""
    body = f"{origin}\n{tree_size}\n{_base64(root_hash)}\n"
    signature = signer.sign(body.encode())
    marked = key_id(origin, signer.verification_key) + signature
    return f"{body}\n{_SIGNED_BY}{origin} {_base64(marked)}\n"


def key_id(name: str, key: VerificationKey) -> bytes:
    """Tells keys of one name apart; it proves nothing by itself."""
    content = name.encode() + b"\n" + _ED25519 + key.public_bytes
    return hashlib.sha256(content).digest()[:_ID_BYTES]


def verifier_key(name: str, key: VerificationKey) -> str:
    """The key as C2SP signed-note writes it: name, id, and the key with its kind."""
    return f"{name}+{key_id(name, key).hex()}+{_base64(_ED25519 + key.public_bytes)}"


def read_checkpoint(text: str) -> Note:
    """Take a checkpoint apart; what is not exactly one is `checkpoint.malformed`."""
    try:
        return _read(text)
    except (ValueError, binascii.Error):
        raise coded_error("checkpoint.malformed") from None


def signer_of(note: Note, keys: Iterable[VerificationKey]) -> VerificationKey | None:
    """The one of these keys that signed the checkpoint under the name of its log."""
    own = [given for given in note.signatures if given.name == note.origin]
    for key in keys:
        marks = [given.signature for given in own if given.key_id == key_id(note.origin, key)]
        if any(key.verify(note.signed_text, mark) for mark in marks):
            return key
    return None


def _read(text: str) -> Note:
    if len(text) > _MOST_CHARACTERS or not text.endswith("\n"):
        raise ValueError("no note")
    body, mark, signed = text.partition("\n\n")
    origin, size, root, *_ = body.split("\n")
    if not mark or not origin or not _SIZE.fullmatch(size):
        raise ValueError("no checkpoint")
    root_hash = base64.b64decode(root, validate=True)
    if len(root_hash) != HASH_BYTES or _base64(root_hash) != root:
        raise ValueError("no root")
    signatures = tuple(_signature(line) for line in signed[:-1].split("\n"))
    return Note(origin, int(size), root_hash, f"{body}\n".encode(), signatures, text)


def _signature(line: str) -> Signature:
    name, content = line.removeprefix(_SIGNED_BY).split(" ")
    marked = base64.b64decode(content, validate=True)
    whole = len(marked) == _ID_BYTES + _SIGNATURE_BYTES
    if not line.startswith(_SIGNED_BY) or not name or not whole:
        raise ValueError("no signature")
    return Signature(name, marked[:_ID_BYTES], marked[_ID_BYTES:])


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
