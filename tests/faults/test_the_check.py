"""The check after each fault says what is wrong, and shares no code with what it checks.

One destructive call, its votes, records, keys and signed log are written here by hand; then each is
spoiled in turn.
"""

from __future__ import annotations

import base64
import hashlib
import json
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

from tests.faults.invariants import check_invariants
from tests.faults.ledger_file import ENTRY, open_ledger
from tests.faults.ledger_manifests import WIPE
from tests.faults.log_invariants import tree_head
from tests.faults.store import Ledger, Store
from tests.ops.environment import ROOT

TENANT, CALL, DECISION, KEY, KID = "tenant_a", "tool_a", "dec_a", "key-a", "kid-a"
DIGEST, ARGS = "sha256:seen", "sha256:args"
_TABLES = """
CREATE TABLE gateway_toolcall (tool_call_id, decision_id, run_id, state, is_write, records,
  reserved_cents, tenant_id, agent_id, user_id, capability_id);
CREATE TABLE gateway_run (run_id, used_calls, reserved_cents, spent_cents);
CREATE TABLE gateway_idempotencykey (scope_hash, tool_call_id);
CREATE TABLE audit_decisionrow (record_id, decision_id, seq, status, leaf_hash);
CREATE TABLE audit_decisionbody (record_id, text);
CREATE TABLE audit_auditevent (event_id, leaf_hash);
CREATE TABLE audit_unsealedleaf (tenant_id, leaf_id, leaf_hash);
CREATE TABLE audit_logleaf (tenant_id, log_index, leaf_id, leaf_hash);
CREATE TABLE audit_checkpoint (tenant_id, tree_size, root_hash, kid, text);
CREATE TABLE identity_user (id, user_id);
CREATE TABLE approvals_approvalrequest (approval_id, subject_id, digest, state, excluded);
CREATE TABLE approvals_vote (request_id, digest, approver_id, verdict, withdrawn_at);
"""


class Scene:
    """A folder with the database, the ledger, the key and the checkpoints outside."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._signer = folder, Ed25519PrivateKey.generate()
        self.leaves: list[bytes] = []
        with closing(sqlite3.connect(folder / "db")) as database:
            database.executescript(_TABLES)
        self._call()
        self._record(1, "PROPOSED", [])
        self._record(2, "APPROVED", [self._asked()])
        self._record(3, "EXECUTED", [self._asked()], cost_cents=3)
        self._publish_key()
        self.seal()
        with closing(open_ledger(folder / "ledger")) as book:
            book.execute(ENTRY, (WIPE, KEY, CALL, 1, True, 2e9, True, 2))

    def sql(self, statement: str, *values: Any) -> None:
        with closing(sqlite3.connect(self.folder / "db")) as database:
            database.execute(statement, values)
            database.commit()

    def ledger(self, statement: str) -> None:
        with closing(open_ledger(self.folder / "ledger")) as book:
            book.execute(statement)

    def check(self, **told: Any) -> None:
        store = Store(f"sqlite:///{self.folder / 'db'}", self.folder)
        given = {"answered": {KEY: CALL}, "told": {CALL: "ok"}} | told
        check_invariants(store, Ledger(self.folder / "ledger"), **given)

    def seal(self, *, size: int | None = None) -> str:
        """Sign the first leaves, here and outside."""
        size = len(self.leaves) if size is None else size
        root = tree_head(self.leaves[:size])
        body = f"localhost/log/{TENANT}\n{size}\n{base64.b64encode(root).decode()}\n"
        signature = base64.b64encode(b"kkid" + self._signer.sign(body.encode())).decode()
        text = f"{body}\n\u2014 localhost/log/{TENANT} {signature}\n"
        self.sql(
            "INSERT INTO audit_checkpoint VALUES (?, ?, ?, ?, ?)", TENANT, size, root, KID, text
        )
        self.write_outside(text)
        return text

    def write_outside(self, text: str) -> None:
        place = self.folder / "checkpoints" / TENANT
        place.mkdir(parents=True, exist_ok=True)
        with (place / "2026-11.jsonl").open("a") as file:
            file.write('{"checkpoint": "torn\n' + json.dumps({"checkpoint": text}) + "\n")

    def _call(self) -> None:
        row = (CALL, DECISION, "run_a", "ok", True, 3, 5, TENANT, "agent_a", "", WIPE)
        self.sql(f"INSERT INTO gateway_toolcall VALUES ({', '.join('?' * 11)})", *row)
        self.sql("INSERT INTO gateway_run VALUES ('run_a', 1, 0, 3)")
        scope = json.dumps([TENANT, "agent_a", "", WIPE, KEY], separators=(",", ":")).encode()
        filed = "sha256:" + hashlib.sha256(scope).hexdigest()
        self.sql("INSERT INTO gateway_idempotencykey VALUES (?, ?)", filed, CALL)
        asked = ("apr_a", CALL, DIGEST, "consumed", '["user_owner"]')
        self.sql("INSERT INTO approvals_approvalrequest VALUES (?, ?, ?, ?, ?)", *asked)
        for number, name in enumerate(("user_fin1", "user_fin2", "user_owner")):
            self.sql("INSERT INTO identity_user VALUES (?, ?)", number, name)
        for number in (0, 1):
            vote = ("apr_a", DIGEST, number, "approve", None)
            self.sql("INSERT INTO approvals_vote VALUES (?, ?, ?, ?, ?)", *vote)

    @staticmethod
    def _asked() -> dict[str, Any]:
        return {"digest": DIGEST, "votes": [{"digest": DIGEST}, {"digest": DIGEST}]}

    def _record(self, seq: int, status: str, approvals: list[Any], **more: Any) -> None:
        document = {
            "decision_id": DECISION,
            "seq": seq,
            "status": status,
            "tenant_id": TENANT,
            "run_id": "run_a",
            "capability": {"id": WIPE},
            "approvals": approvals,
            "args_commitment": ARGS,
            "created_at": "2026-11-18T12:00:00.000Z",
            **more,
        }
        self.write(seq, status, document)

    def write(self, seq: int, status: str, document: dict[str, Any]) -> None:
        """A record with its text, sealed at once."""
        text, name = json.dumps(document), f"rec_{seq}"
        leaf = hashlib.sha256(b"\0" + text.encode()).digest()
        row = (name, DECISION, seq, status, leaf)
        self.sql("INSERT INTO audit_decisionrow VALUES (?, ?, ?, ?, ?)", *row)
        self.sql("INSERT INTO audit_decisionbody VALUES (?, ?)", name, text)
        index = len(self.leaves)
        self.sql("INSERT INTO audit_logleaf VALUES (?, ?, ?, ?)", TENANT, index, name, leaf)
        self.leaves.append(leaf)

    def rewrite(self, seq: int, **changes: Any) -> None:
        """Another text for this record, by somebody who can seal the whole log again."""
        with closing(sqlite3.connect(self.folder / "db")) as database:
            found = database.execute(
                "SELECT text FROM audit_decisionbody ORDER BY record_id"
            ).fetchall()
        text = json.dumps({**json.JSONDecoder().decode(found[seq - 1][0]), **changes})
        leaf = hashlib.sha256(b"\0" + text.encode()).digest()
        self.sql("UPDATE audit_decisionbody SET text = ? WHERE record_id = ?", text, f"rec_{seq}")
        self.sql("UPDATE audit_decisionrow SET leaf_hash = ? WHERE seq = ?", leaf, seq)
        self.sql("UPDATE audit_logleaf SET leaf_hash = ? WHERE log_index = ?", leaf, seq - 1)
        self.leaves[seq - 1] = leaf
        self.sql("DELETE FROM audit_checkpoint")
        (self.folder / "checkpoints" / TENANT / "2026-11.jsonl").unlink()
        self.seal()

    def _publish_key(self) -> None:
        public = self._signer.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        place = self.folder / "keys" / "log"
        place.mkdir(parents=True)
        spelt = base64.urlsafe_b64encode(public).rstrip(b"=").decode()
        (place / f"{KID}.json").write_text(json.dumps({"jwk": {"x": spelt}}))


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    made = Scene(tmp_path)
    made.check()
    return made


def _cut_off(scene: Scene) -> None:
    """The last record and its leaf are gone from every table, and the log is signed anew."""
    for table in ("audit_decisionrow", "audit_decisionbody"):
        scene.sql(f"DELETE FROM {table} WHERE record_id = 'rec_3'")
    scene.sql("DELETE FROM audit_logleaf WHERE log_index = 2")
    scene.sql("DELETE FROM audit_checkpoint")
    scene.sql("UPDATE gateway_toolcall SET records = 2")
    scene.seal(size=2)


def _never_read(scene: Scene) -> None:
    scene.sql("UPDATE gateway_toolcall SET is_write = 0")
    scene.ledger("DELETE FROM effects")


def _signed_by_nobody(scene: Scene) -> None:
    scene._signer = Ed25519PrivateKey.generate()
    scene.seal()


def _by(*statements: str) -> Callable[[Scene], None]:
    def spoil(scene: Scene) -> None:
        for statement in statements:
            scene.sql(statement)

    return spoil


def _booked(statement: str) -> Callable[[Scene], None]:
    return lambda scene: scene.ledger(statement)


_EMPTY_HANDED = _by("UPDATE gateway_toolcall SET state = 'failed'")
WRONG: dict[str, tuple[Callable[[Scene], None], str]] = {
    "a read's answer without a read": (_never_read, "the ledger says otherwise"),
    "another end on record": (_EMPTY_HANDED, "is failed, its last row says EXECUTED"),
    "an end that is not the last row": (
        _by("UPDATE audit_decisionrow SET seq = 3 - (seq = 3) WHERE seq > 1"),
        "its last row says APPROVED",
    ),
    "a status that its text denies": (
        lambda scene: scene.rewrite(2, status="PROPOSED"),
        "dec_a#2 says",
    ),
    "another capability on record": (
        lambda scene: scene.rewrite(3, capability={"id": "vault.look"}),
        "dec_a#3 says",
    ),
    "not recorded when it happened": (
        _booked("UPDATE effects SET recorded = 0"),
        "happened without an earlier record",
    ),
    "a vote that came too late": (_booked("UPDATE effects SET votes = 1"), "happened with 1 votes"),
    "one vote": (_by("DELETE FROM approvals_vote WHERE approver_id = 1"), "happened with 1 votes"),
    "one person twice": (_by("UPDATE approvals_vote SET approver_id = 0"), "happened with 1 votes"),
    "a vote on something else": (
        _by("UPDATE approvals_vote SET digest = 'sha256:other' WHERE approver_id = 1"),
        "happened with 1 votes",
    ),
    "a vote by whoever asked": (
        _by("UPDATE approvals_vote SET approver_id = 2 WHERE approver_id = 1"),
        "happened with 1 votes",
    ),
    "another digest on record": (
        lambda scene: scene.rewrite(2, approvals=[{"digest": "sha256:other", "votes": []}]),
        "something else than people voted on",
    ),
    "other arguments than were asked for": (
        lambda scene: scene.rewrite(3, args_commitment="sha256:more"),
        "something else than people voted on",
    ),
    "a key of another call": (
        _by("UPDATE gateway_idempotencykey SET scope_hash = 'sha256:other'"),
        "key key-a does not name tool_a",
    ),
    "made under another key": (
        _booked("UPDATE effects SET key = 'key-b'"),
        "key key-b does not name tool_a",
    ),
    "a log that was cut off": (_cut_off, "was signed at 3 outside, the log says otherwise"),
    "a checkpoint by a stranger": (_signed_by_nobody, "is not signed by kid-a"),
    "a checkpoint of another size": (
        _by("UPDATE audit_checkpoint SET text = replace(text, x'0a330a', x'0a320a')"),
        "says",
    ),
    "an event that nobody sealed": (
        _by("INSERT INTO audit_auditevent VALUES ('evt_a', x'00')"),
        "evt_a is 0 times in the log",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_spoiled_is_said(scene: Scene, name: str) -> None:
    spoil, sentence = WRONG[name]
    spoil(scene)
    with pytest.raises(AssertionError, match=sentence):
        scene.check()


@pytest.mark.parametrize("told", [{CALL: "failed"}, {"tool_lost": "ok"}])
def test_an_end_that_callers_were_told_and_that_is_not_so_is_said(
    scene: Scene, told: dict[str, str]
) -> None:
    with pytest.raises(AssertionError, match="was said to be"):
        scene.check(told=told)


def test_an_answer_that_belongs_to_another_key_is_said(scene: Scene) -> None:
    with pytest.raises(AssertionError, match="key key-other does not name tool_a"):
        scene.check(answered={"key-other": CALL})


def test_the_check_loads_none_of_the_products_code() -> None:
    products = [path.name for path in _packages()]
    assert {"audit", "gateway", "contextos"} <= set(products)
    asked = "import sys, tests.faults.invariants; print(*sys.modules)"
    loaded = subprocess.run(
        [sys.executable, "-c", asked], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout.split()
    assert {name.partition(".")[0] for name in loaded} & {*products, "django"} == set()


def _packages() -> Iterator[Path]:
    """Everything at the top but the tests."""
    for path in ROOT.iterdir():
        if (path / "__init__.py").exists() and path.name != "tests":
            yield path
