"""Key files: created once, rotated without a gap, never readable by others."""

import os
import stat
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from contextos.core import strict_json
from contextos.core.errors import ContextOSError
from contextos.core.keystore import FileKeyStore
from contextos.core.signing import KeyPurpose

LOG, TOKENS = KeyPurpose.LOG, KeyPurpose.TOKENS
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Clock:
    """A clock the test moves."""

    def __init__(self) -> None:
        self.now = NOON

    def __call__(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(tmp_path: Path, clock: Clock) -> FileKeyStore:
    return FileKeyStore(tmp_path / "keys", clock=clock)


def private_files(tmp_path: Path) -> list[Path]:
    return sorted((tmp_path / "keys").rglob("*.key.pem"))


def code_of(error: pytest.ExceptionInfo[ContextOSError]) -> str:
    return error.value.code


def test_a_key_is_created_once_and_then_kept(store: FileKeyStore, tmp_path: Path) -> None:
    first = store.ensure(LOG)
    again = FileKeyStore(tmp_path / "keys").ensure(LOG)
    assert first.verification_key == again.verification_key
    assert len(private_files(tmp_path)) == 1


def test_each_purpose_has_its_own_key(store: FileKeyStore) -> None:
    log, tokens = store.ensure(LOG), store.ensure(TOKENS)
    signature = log.sign(b"x")
    assert store.verify(LOG, b"x", signature) == log.verification_key.kid
    with pytest.raises(ContextOSError) as caught:
        store.verify(TOKENS, b"x", signature)
    assert code_of(caught) == "signature.invalid"
    assert log.verification_key.kid != tokens.verification_key.kid


def test_without_a_key_nothing_is_signed(store: FileKeyStore) -> None:
    with pytest.raises(ContextOSError) as caught:
        store.signer(LOG)
    assert code_of(caught) == "signing.key_missing"
    assert store.keys(LOG) == ()
    assert store.jwks(LOG) == {"keys": []}


def test_files_are_readable_by_their_owner_only(store: FileKeyStore, tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        store.ensure(LOG)
    finally:
        os.umask(before)
    (private,) = private_files(tmp_path)
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert stat.S_IMODE(private.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o666])
def test_a_private_key_that_others_can_read_is_refused(
    store: FileKeyStore, tmp_path: Path, mode: int
) -> None:
    store.ensure(LOG)
    private_files(tmp_path)[0].chmod(mode)
    with pytest.raises(ContextOSError) as caught:
        FileKeyStore(tmp_path / "keys").signer(LOG)
    assert code_of(caught) == "signing.key_exposed"


def test_a_folder_that_others_can_write_to_is_refused(store: FileKeyStore, tmp_path: Path) -> None:
    store.ensure(LOG)
    (tmp_path / "keys" / "log").chmod(0o777)
    with pytest.raises(ContextOSError) as caught:
        FileKeyStore(tmp_path / "keys").signer(LOG)
    assert code_of(caught) == "signing.key_exposed"


def test_after_a_rotation_old_signatures_still_verify(store: FileKeyStore, tmp_path: Path) -> None:
    old = store.ensure(LOG)
    signature = old.sign(b"checkpoint")
    new = store.rotate(LOG)
    assert new.verification_key != old.verification_key
    assert store.signer(LOG).verification_key == new.verification_key
    assert store.verify(LOG, b"checkpoint", signature) == old.verification_key.kid
    assert [path.name for path in private_files(tmp_path)] == [
        f"{new.verification_key.kid}.key.pem"
    ]


def test_a_retired_key_has_its_dates_on_record(store: FileKeyStore) -> None:
    store.ensure(LOG)
    store.rotate(LOG, not_after=NOON + timedelta(days=1))
    retired, active = store.keys(LOG)
    assert (retired.active, active.active) == (False, True)
    assert retired.retired_at is not None
    assert retired.not_after == NOON + timedelta(days=1)
    assert active.retired_at is None


def test_a_retired_key_stops_to_count_after_its_last_day(store: FileKeyStore, clock: Clock) -> None:
    signature = store.ensure(TOKENS).sign(b"x")
    store.rotate(TOKENS, not_after=NOON + timedelta(hours=1))
    assert store.verify(TOKENS, b"x", signature)
    assert len(store.jwks(TOKENS)["keys"]) == 2
    clock.now = NOON + timedelta(hours=2)
    with pytest.raises(ContextOSError):
        store.verify(TOKENS, b"x", signature)
    assert len(store.jwks(TOKENS)["keys"]) == 1


def test_a_rotation_by_another_process_is_followed_at_once(
    store: FileKeyStore, tmp_path: Path
) -> None:
    store.ensure(LOG)
    rotated = FileKeyStore(tmp_path / "keys").rotate(LOG)
    assert store.signer(LOG).verification_key == rotated.verification_key


def test_a_rotation_interrupted_before_the_switch_leaves_the_old_key_in_charge(
    store: FileKeyStore, tmp_path: Path
) -> None:
    old = store.ensure(LOG)
    pointer = (tmp_path / "keys" / "log" / "active").read_bytes()
    store.rotate(LOG)
    (tmp_path / "keys" / "log" / "active").write_bytes(pointer)
    active = [record.key for record in store.keys(LOG) if record.active]
    assert active == [old.verification_key]


def test_the_next_rotation_finishes_the_cleaning_of_an_interrupted_one(
    store: FileKeyStore, tmp_path: Path
) -> None:
    store.ensure(LOG)
    leftover = tmp_path / "keys" / "log" / "leftover.key.pem"
    leftover.write_bytes(b"an orphan")
    store.rotate(LOG)
    assert not leftover.exists()


def test_a_process_without_private_files_can_verify_but_not_sign(
    store: FileKeyStore, tmp_path: Path
) -> None:
    signature = store.ensure(LOG).sign(b"x")
    private_files(tmp_path)[0].unlink()
    reader = FileKeyStore(tmp_path / "keys")
    assert reader.verify(LOG, b"x", signature)
    with pytest.raises(ContextOSError) as caught:
        reader.ensure(LOG)
    assert code_of(caught) == "signing.key_missing"


def test_a_key_moved_to_another_purpose_is_refused(store: FileKeyStore, tmp_path: Path) -> None:
    kid = store.ensure(LOG).verification_key.kid
    store.ensure(TOKENS)
    (tmp_path / "keys" / "log" / f"{kid}.json").rename(tmp_path / "keys" / "tokens" / f"{kid}.json")
    with pytest.raises(ContextOSError) as caught:
        store.verification_keys(TOKENS)
    assert code_of(caught) == "signing.key_invalid"


def test_a_private_key_swapped_for_another_is_refused(store: FileKeyStore, tmp_path: Path) -> None:
    store.ensure(LOG)
    store.ensure(TOKENS)
    log, tokens = private_files(tmp_path)
    log.write_bytes(tokens.read_bytes())
    with pytest.raises(ContextOSError) as caught:
        FileKeyStore(tmp_path / "keys").signer(LOG)
    assert code_of(caught) == "signing.key_invalid"


def test_a_broken_record_is_a_coded_error(store: FileKeyStore, tmp_path: Path) -> None:
    kid = store.ensure(LOG).verification_key.kid
    (tmp_path / "keys" / "log" / f"{kid}.json").write_text("{", encoding="utf-8")
    with pytest.raises(ContextOSError) as caught:
        store.keys(LOG)
    assert code_of(caught) == "signing.key_invalid"


def test_many_starters_at_once_agree_on_one_key(tmp_path: Path) -> None:
    kids: list[str] = []

    def start() -> None:
        kids.append(FileKeyStore(tmp_path / "keys").ensure(LOG).verification_key.kid)

    threads = [threading.Thread(target=start) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(kids) == 8
    assert len(set(kids)) == 1


def test_the_published_key_set_holds_nothing_private(store: FileKeyStore) -> None:
    store.ensure(LOG)
    store.ensure(TOKENS)
    published = store.jwks(LOG, TOKENS)
    assert len(published["keys"]) == 2
    assert all("d" not in key for key in published["keys"])
    assert strict_json.loads(strict_json.dumps(published)) == published


def test_a_revoked_key_verifies_nothing_any_more(store: FileKeyStore) -> None:
    stolen = store.ensure(LOG)
    signature = stolen.sign(b"x")
    with pytest.raises(ContextOSError) as caught:
        store.revoke(LOG, stolen.verification_key.kid)
    assert code_of(caught) == "signing.key_active"
    store.rotate(LOG)
    assert store.verify(LOG, b"x", signature) == stolen.verification_key.kid
    store.revoke(LOG, stolen.verification_key.kid)
    store.revoke(LOG, stolen.verification_key.kid)  # a second time changes nothing
    with pytest.raises(ContextOSError) as refused:
        store.verify(LOG, b"x", signature)
    assert code_of(refused) == "signature.invalid"
    assert [record.revoked_at is not None for record in store.keys(LOG)] == [True, False]
    with pytest.raises(ContextOSError) as unknown:
        store.revoke(LOG, "no-such-kid")
    assert code_of(unknown) == "signing.key_unknown"


def test_a_private_half_may_lie_where_one_process_alone_sees_it(tmp_path: Path) -> None:
    alone = tmp_path / "alone"
    sealer = FileKeyStore(tmp_path / "keys", private={LOG: alone})
    signature = sealer.ensure(LOG).sign(b"x")
    assert [path.parent for path in tmp_path.rglob("*.key.pem")] == [alone]
    others = FileKeyStore(tmp_path / "keys")
    assert others.verify(LOG, b"x", signature)
    with pytest.raises(ContextOSError) as caught:
        others.signer(LOG)
    assert code_of(caught) == "signing.key_missing"
    sealer.rotate(LOG)
    assert len(list(alone.glob("*.key.pem"))) == 1
