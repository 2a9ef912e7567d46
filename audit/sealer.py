"""The sealer: rounds of sealing until it is told to stop, and then the tail (E2).

The log's private key is needed here and nowhere else.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import structlog
from django.conf import settings
from django.db import DatabaseError, close_old_connections

from audit.checkpoint_note import Note, signer_of
from audit.outside import files
from audit.outside.sending import FILES, tenants_behind, write_files
from audit.sealing import Sealed, Witnessed, seal_batch, tenants_to_seal
from contextos.core.errors import ContextOSError
from contextos.core.signing import KeyPurpose, Signer
from contextos.identity.keyring import key_store, signer_for

log = structlog.get_logger(__name__)
PAUSE_SECONDS = 0.25
PAUSE_AFTER_FAULT = 2.0
CATCH_UP_SECONDS = 30.0
TAIL_SECONDS = 10.0
_FAULTS = (ContextOSError, DatabaseError, OSError)


def log_signer() -> Signer:
    """The key that signs checkpoints now; a rotation is followed at once."""
    return signer_for(KeyPurpose.LOG)


class Sealer:
    """One sealer of however many; what it has seen signed it will not see unsaid."""

    def __init__(self, signer: Callable[[], Signer] = log_signer) -> None:
        self._signer = signer
        self._witnessed = Witnessed()
        self._asked: set[str] = set()
        self._told: dict[str, str] = {}
        self._caught_up_at = float("-inf")

    def run(self, stopping: threading.Event) -> None:
        """Seal until asked to stop; what the others wrote until then is sealed before we go."""
        while not stopping.is_set():
            stopping.wait(self._timed_round())
        try:
            self.seal_tail()
        except _FAULTS as fault:
            self._tell("*", fault)

    def seal_tail(self) -> bool:
        """Seal all that waits now; False when some of it could not be."""
        until = time.monotonic() + TAIL_SECONDS
        while time.monotonic() < until:
            if not self.round():
                return not tenants_to_seal(self._signer())
        return False

    def round(self) -> int:
        """Every tenant that waits, once; how many leaves were sealed."""
        signer = self._signer()
        done = [self._seal(tenant_id, signer) for tenant_id in tenants_to_seal(signer)]
        self._catch_up()
        return sum(sealed.leaves for sealed in done if sealed)

    def _timed_round(self) -> float:
        """One round whatever happens; how long to wait for the next."""
        began = time.monotonic()
        try:
            self.round()
        except _FAULTS as fault:
            self._tell("*", fault)
            close_old_connections()
            return PAUSE_AFTER_FAULT
        self._told.pop("*", None)
        return max(0.01, PAUSE_SECONDS - (time.monotonic() - began))

    def _seal(self, tenant_id: str, signer: Signer) -> Sealed | None:
        """One batch of one tenant; a log that can't be sealed keeps no other from it."""
        try:
            self._ask_outside(tenant_id)
            sealed = seal_batch(tenant_id, signer=signer, witnessed=self._witnessed)
        except ContextOSError as fault:
            self._tell(tenant_id, fault)
            return None
        if sealed:
            self._told.pop(tenant_id, None)
            write_files(tenant_id)
        return sealed

    def _ask_outside(self, tenant_id: str) -> None:
        """What the files say was signed, once: the database may have been put back since."""
        if tenant_id in self._asked:
            return
        note = files.last_note(Path(settings.CHECKPOINTS_DIR), tenant_id)
        if note is not None and _is_ours(note):
            self._witnessed.roots[tenant_id] = note.tree_size, note.root_hash
        self._asked.add(tenant_id)

    def _catch_up(self) -> None:
        """What a crash kept from the files, and what a full disk did."""
        if time.monotonic() - self._caught_up_at < CATCH_UP_SECONDS:
            return
        for tenant_id in tenants_behind(FILES):
            write_files(tenant_id)
        self._caught_up_at = time.monotonic()

    def _tell(self, about: str, fault: Exception) -> None:
        """Once per fault, not once per round."""
        said = fault.code if isinstance(fault, ContextOSError) else type(fault).__name__
        if self._told.get(about) != said:
            self._told[about] = said
            log.error("not sealed", tenant_id=about, code=said, reason=str(fault))


def _is_ours(note: Note) -> bool:
    """Signed by a key that counts: anybody could put a line into a folder."""
    return signer_of(note, key_store().verification_keys(KeyPurpose.LOG)) is not None


class SealerThread:
    """A sealer beside the other work of an embedded installation."""

    def __init__(self) -> None:
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="sealer", daemon=True)

    def start(self) -> None:
        """Begin."""
        self._thread.start()

    def stop(self, *, timeout: float = TAIL_SECONDS + 2) -> bool:
        """Ask for the end, after the tail; False when it did not come in time."""
        self._stopping.set()
        self._thread.join(timeout)
        return not self._thread.is_alive()

    def _run(self) -> None:
        Sealer().run(self._stopping)
        close_old_connections()
