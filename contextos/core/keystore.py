"""Signing keys as files: created, rotated and published; safe between processes and crashes.

<directory>/<purpose>/active            the kid that signs now: replacing it is the rotation
<directory>/<purpose>/<kid>.json        the public key and its dates, kept for ever
<directory>/<purpose>/<kid>.key.pem     the private key, only while it is active (a purpose may
                                        have another folder for it)
"""

import fcntl
import os
import stat
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from contextos.core import strict_json
from contextos.core.clock import format_time, parse_time, utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.signing import Ed25519Signer, KeyPurpose, VerificationKey

_PRIVATE_FILE = 0o600
_PUBLIC_FILE = 0o644
_FOLDER = 0o700
_OTHERS_MAY_ANYTHING = 0o077
_OTHERS_MAY_WRITE = 0o022


@dataclass(frozen=True, slots=True)
class KeyRecord:
    """One key's public half and its life so far."""

    purpose: KeyPurpose
    key: VerificationKey
    created_at: datetime
    active: bool
    retired_at: datetime | None = None
    not_after: datetime | None = None
    revoked_at: datetime | None = None

    def verifies_at(self, moment: datetime) -> bool:
        """Whether signatures by this key still count."""
        if self.revoked_at is not None:
            return False
        return self.active or self.not_after is None or moment <= self.not_after


class FileKeyStore:
    """The keys of one installation. Processes that only verify need no private files."""

    def __init__(
        self,
        directory: Path,
        *,
        clock: Callable[[], datetime] = utcnow,
        private: Mapping[KeyPurpose, Path] | None = None,
    ) -> None:
        """`private` names other folders for the private halves of some purposes, so that only the
        process that signs with them needs to see those."""
        self._directory = directory
        self._private = dict(private or {})
        self._clock = clock
        self._loaded: dict[KeyPurpose, Ed25519Signer] = {}
        self._named: dict[KeyPurpose, tuple[tuple[int, ...], str]] = {}

    def ensure(self, purpose: KeyPurpose) -> Ed25519Signer:
        """The active signer, created first if this purpose never had one."""
        if self._active_kid(purpose) is None:
            with self._locked(purpose):
                if self._active_kid(purpose) is None:
                    self._activate(purpose, self._create(purpose))
        return self.signer(purpose)

    def signer(self, purpose: KeyPurpose) -> Ed25519Signer:
        """The active signer; it follows a rotation made by another process at once."""
        kid = self._active_kid(purpose)
        loaded = self._loaded.get(purpose)
        if kid and loaded and loaded.verification_key.kid == kid:
            return loaded
        self._loaded[purpose] = self._load_active(purpose)
        return self._loaded[purpose]

    def rotate(self, purpose: KeyPurpose, *, not_after: datetime | None = None) -> Ed25519Signer:
        """Sign with a new key from now on.

        The old public key goes on verifying until `not_after` (None: for ever); its private
        half is deleted. Every step can be interrupted: the next rotation finishes the cleaning.
        """
        with self._locked(purpose):
            retired = self._active_kid(purpose)
            created = self._create(purpose)
            if retired is not None:
                self._note_retirement(purpose, retired, not_after)
            self._activate(purpose, created)
            self._drop_inactive_private_keys(purpose)
        return self.signer(purpose)

    def revoke(self, purpose: KeyPurpose, kid: str) -> None:
        """Let no signature by a retired key count any more; the key that signs is rotated first."""
        with self._locked(purpose):
            path = self._record_path(purpose, kid)
            if kid not in {record.key.kid for record in self.keys(purpose)}:
                raise coded_error("signing.key_unknown", data={"purpose": purpose.value})
            if kid == self._active_kid(purpose):
                raise coded_error("signing.key_active", data={"purpose": purpose.value})
            record = _read_json(path)
            record.setdefault("revoked_at", format_time(self._clock()))
            self._write_record(purpose, kid, record)

    def keys(self, purpose: KeyPurpose) -> tuple[KeyRecord, ...]:
        """Every key this purpose ever had, oldest first."""
        active = self._active_kid(purpose)
        files = self._folder(purpose).glob("*.json")
        records = [self._read_record(purpose, path, active) for path in files]
        return tuple(sorted(records, key=lambda record: (record.created_at, record.key.kid)))

    def verification_keys(self, purpose: KeyPurpose) -> tuple[VerificationKey, ...]:
        """The keys whose signatures count today."""
        now = self._clock()
        return tuple(record.key for record in self.keys(purpose) if record.verifies_at(now))

    def verify(self, purpose: KeyPurpose, data: bytes, signature: bytes) -> str:
        """The kid of the trusted key that made the signature, or a coded error."""
        for key in self.verification_keys(purpose):
            if key.verify(data, signature):
                return key.kid
        raise coded_error("signature.invalid")

    def jwks(self, *purposes: KeyPurpose) -> dict[str, list[dict[str, str]]]:
        """The public keys as a JWK set, ready to be served."""
        return {
            "keys": [key.jwk() for purpose in purposes for key in self.verification_keys(purpose)]
        }

    def _folder(self, purpose: KeyPurpose) -> Path:
        return self._directory / purpose.value

    def _private_folder(self, purpose: KeyPurpose) -> Path:
        return self._private.get(purpose, self._folder(purpose))

    def _private_path(self, purpose: KeyPurpose, kid: str) -> Path:
        return self._private_folder(purpose) / f"{kid}.key.pem"

    def _record_path(self, purpose: KeyPurpose, kid: str) -> Path:
        return self._folder(purpose) / f"{kid}.json"

    def _active_kid(self, purpose: KeyPurpose) -> str | None:
        """The name in the file, read again when it is another file: a rotation replaces it."""
        path = f"{self._directory}/{purpose.value}/active"
        try:
            found = os.stat(path)  # noqa: PTH116  asked for every signature
            same = (found.st_ino, found.st_mtime_ns, found.st_ctime_ns, found.st_size)
            known = self._named.get(purpose)
            if known is None or known[0] != same:
                known = self._named[purpose] = same, Path(path).read_text(encoding="ascii").strip()
        except FileNotFoundError:
            return None
        return known[1]

    def _load_active(self, purpose: KeyPurpose) -> Ed25519Signer:
        # A rotation between reading the name and reading the file takes the file away: once more.
        for _ in range(2):
            kid = self._active_kid(purpose)
            if kid is None:
                break
            try:
                return self._load(purpose, kid)
            except FileNotFoundError:
                continue
        raise coded_error("signing.key_missing", data={"purpose": purpose.value})

    def _load(self, purpose: KeyPurpose, kid: str) -> Ed25519Signer:
        path = self._private_path(purpose, kid)
        _refuse_if_exposed(self._private_folder(purpose), _OTHERS_MAY_WRITE)
        _refuse_if_exposed(path, _OTHERS_MAY_ANYTHING)
        signer = Ed25519Signer.from_pem(path.read_bytes())
        if signer.verification_key.kid != kid:
            raise _invalid(path)
        return signer

    def _create(self, purpose: KeyPurpose) -> str:
        signer = Ed25519Signer.generate()
        kid = signer.verification_key.kid
        record = {"created_at": format_time(self._clock()), "jwk": signer.verification_key.jwk()}
        _write(self._private_path(purpose, kid), signer.to_pem(), _PRIVATE_FILE)
        self._write_record(purpose, kid, record)
        return kid

    def _activate(self, purpose: KeyPurpose, kid: str) -> None:
        _write(self._folder(purpose) / "active", f"{kid}\n".encode(), _PUBLIC_FILE)

    def _note_retirement(self, purpose: KeyPurpose, kid: str, not_after: datetime | None) -> None:
        record = _read_json(self._record_path(purpose, kid))
        record["retired_at"] = format_time(self._clock())
        if not_after is not None:
            record["not_after"] = format_time(not_after)
        self._write_record(purpose, kid, record)

    def _drop_inactive_private_keys(self, purpose: KeyPurpose) -> None:
        active = self._active_kid(purpose)
        for path in self._private_folder(purpose).glob("*.key.pem"):
            if active is not None and path != self._private_path(purpose, active):
                path.unlink()

    def _write_record(self, purpose: KeyPurpose, kid: str, record: dict[str, Any]) -> None:
        content = strict_json.dumps(record | {"purpose": purpose.value}).encode()
        _write(self._record_path(purpose, kid), content, _PUBLIC_FILE)

    def _read_record(self, purpose: KeyPurpose, path: Path, active: str | None) -> KeyRecord:
        record = _read_json(path)
        key = VerificationKey.from_jwk(record.get("jwk"))
        # A key file moved to another purpose must not start to verify there.
        if path.name != f"{key.kid}.json" or record.get("purpose") != purpose.value:
            raise _invalid(path)
        is_active = key.kid == active
        return KeyRecord(
            purpose=purpose,
            key=key,
            created_at=parse_time(str(record.get("created_at"))),
            active=is_active,
            retired_at=None if is_active else _optional_time(record.get("retired_at")),
            not_after=None if is_active else _optional_time(record.get("not_after")),
            revoked_at=None if is_active else _optional_time(record.get("revoked_at")),
        )

    @contextmanager
    def _locked(self, purpose: KeyPurpose) -> Iterator[None]:
        folder = self._folder(purpose)
        for each in (folder, self._private_folder(purpose)):
            each.mkdir(mode=_FOLDER, parents=True, exist_ok=True)
        _refuse_if_exposed(folder, _OTHERS_MAY_WRITE)
        descriptor = os.open(folder / ".lock", os.O_CREAT | os.O_RDWR, _PRIVATE_FILE)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX)
            yield
        finally:
            os.close(descriptor)


def _refuse_if_exposed(path: Path, forbidden: int) -> None:
    mode = stat.S_IMODE(path.stat().st_mode)
    if mode & forbidden:
        raise coded_error(
            "signing.key_exposed",
            message=f"{path.name} has mode {mode:04o}: other users could use or replace the key.",
        )


def _write(path: Path, content: bytes, mode: int) -> None:
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    temporary.unlink(missing_ok=True)
    descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
    with os.fdopen(descriptor, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _read_json(path: Path) -> dict[str, Any]:
    try:
        return dict(strict_json.loads_object(path.read_bytes()))
    except ContextOSError:
        raise _invalid(path) from None


def _optional_time(value: object) -> datetime | None:
    return None if value is None else parse_time(str(value))


def _invalid(path: Path) -> ContextOSError:
    return coded_error("signing.key_invalid", data={"file": path.name})
