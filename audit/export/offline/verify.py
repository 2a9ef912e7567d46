#!/usr/bin/env python3
"""Checks this bundle of decision records offline: `python3 verify.py` in the unpacked folder.

Needs Python 3.8 or later, nothing installed and no network; `ed25519.py` beside it is the one
further file. Ends with 0 if everything that is claimed was proved, with 1 if anything was not.
"""

from __future__ import annotations

import sys

if __name__ == "__main__":  # the product imports this file too, and wants its bytecode kept
    sys.dont_write_bytecode = True  # a file more in the folder would be a file too many

import argparse
import base64
import hashlib
import json
import os
import re
import struct
import tempfile
import zipfile
import zlib
from importlib.machinery import SourceFileLoader
from types import ModuleType
from typing import IO, Any

Object = Any  # a JSON object

SUMS, SIGNATURE, KEYS = "SHA256SUMS", "signature.dsse.json", "keys.json"
CHECKPOINT, PROOFS, CONSISTENCY = "checkpoint.txt", "proofs.jsonl", "consistency.json"
RECORDS, APPROVALS, OTHERS, ARTEFACTS = (
    "records.jsonl",
    "approvals.jsonl",
    "others.jsonl",
    "artefacts/",
)
PAYLOAD_TYPE = "application/vnd.contextos.export-bundle+json"
DECISION = "contextos.decision_record."
MOMENT = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z")
MOST_PROBLEMS = 20


class Refused(Exception):
    """The bundle is not what it claims to be; the text says how."""


class Report:
    """What was proved, what was not, what is wrong."""

    def __init__(self) -> None:
        self.proved: list[str] = []
        self.open: list[str] = []
        self.wrong: list[str] = []

    def fail(self, said: str) -> None:
        if len(self.wrong) < MOST_PROBLEMS:
            self.wrong.append(said)
        elif len(self.wrong) == MOST_PROBLEMS:
            self.wrong.append("... and more of the same.")


# What a damaged zip file was seen to raise: wherever the damage is, it is told in words.
_UNREADABLE = (
    OSError,
    EOFError,
    ValueError,
    Refused,
    RuntimeError,
    struct.error,
    zlib.error,
    zipfile.BadZipFile,
)


# What content of another shape than ours was seen to raise, very deep JSON among it.
_MALFORMED = (
    OSError,
    ValueError,
    KeyError,
    TypeError,
    IndexError,
    AttributeError,
    RecursionError,
)


def main(arguments: list[str] | None = None) -> int:
    """Read the command line, check, say what was found."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("bundle", nargs="?", help="folder or .zip (default: where verify.py lies)")
    parser.add_argument(
        "--key-fingerprint",
        action="append",
        default=[],
        metavar="KID",
        help="a `kid` you got from us by another way, such as /.well-known/jwks.json; repeatable",
    )
    options = parser.parse_args(arguments)
    where = options.bundle or os.path.dirname(os.path.abspath(__file__))
    report = verify(where, options.key_fingerprint)
    tell(report)
    return 1 if report.wrong else 0


def verify(where: str, fingerprints: list[str] | tuple[str, ...] = ()) -> Report:
    """Check a folder or a zip file."""
    if os.path.isdir(where):
        return _verify_folder(where, list(fingerprints))
    report = Report()
    try:
        with tempfile.TemporaryDirectory() as folder:
            _unpack(where, folder)
            return _verify_folder(folder, list(fingerprints))
    except _UNREADABLE as fault:
        report.fail("The bundle can't be opened: %s" % fault)
    return report


def _verify_folder(folder: str, fingerprints: list[str]) -> Report:
    report = Report()
    try:
        _Bundle(folder, report).check(fingerprints)
    except Refused as fault:
        report.fail(str(fault))
    except _MALFORMED as fault:
        report.fail("The bundle is malformed (%s: %s)." % (type(fault).__name__, fault))
    return report


def tell(report: Report) -> None:
    """Plain words on the screen."""
    for line in report.proved:
        print("proved    ", line)
    for line in report.open:
        print("not proved", line)
    for line in report.wrong:
        print("WRONG     ", line)
    if report.wrong:
        print("\nVERDICT: do not rely on this bundle. It was changed, or it was not made by us.")
    else:
        print("\nVERDICT: the bundle is whole and agrees with itself in everything listed above.")


class _Bundle:
    """One unpacked bundle and what was read of it so far."""

    def __init__(self, folder: str, report: Report) -> None:
        self.folder, self.report = folder, report
        self.hashes: dict[str, str] = {}
        self.wanted: set[str] = set()  # artefacts that records name
        self.votes: dict[str, str] = {}  # approval -> the digest its votes are for
        self.seed: str | None = None
        self.largest_lot, self.population = b"", 0
        self.revoked: set[bytes] = set()
        self.period: tuple[str, str] | None = None  # of which every record is claimed to be here
        self.edges: dict[int, str] = {}  # when the leaves at both ends of the span were written
        self.places: list[int] = []  # the first and the last leaf that is a record

    def check(self, fingerprints: list[str]) -> None:
        self.check_members()
        self.ed25519 = _signature_check()
        keys = self.read_keys()
        claim = self.check_signature(keys["exports"])
        size, root = self.check_checkpoint(keys["log"], claim)
        self.check_leaves(claim, size, root)
        self.check_consistency(keys["log"], size, root)
        self.check_artefacts(claim)
        self.check_fingerprints(fingerprints, claim)

    # --- files ------------------------------------------------------------------------------------
    def check_members(self) -> None:
        listed = _read_sums(self.path(SUMS))
        present = set(_files_below(self.folder)) - {SUMS}
        for name in sorted(present - set(listed)):
            self.report.fail("%s is in the folder but not in SHA256SUMS." % _shown(name))
        for name in sorted(set(listed) - present):
            self.report.fail("%s is in SHA256SUMS but not in the folder." % _shown(name))
        for name in sorted(present & set(listed)):
            self.hashes[name] = _sha256(self.path(name))
            if self.hashes[name] != listed[name]:
                self.report.fail("%s was changed: its SHA-256 is another." % _shown(name))
        if self.report.wrong:
            raise Refused("The files are not those of the bundle; nothing further was checked.")
        self.say("every one of %d files has the SHA-256 that SHA256SUMS states" % len(present))

    def read_keys(self) -> dict[str, list[bytes]]:
        held, uses = _json(self.path(KEYS)), ("log", "exports")
        listed = [key for use in uses for key in held[use]]
        self.revoked = {_unpadded(key["x"]) for key in listed if key.get("state") == "revoked"}
        return {use: [_unpadded(key["x"]) for key in held[use]] for use in uses}

    # --- signatures -------------------------------------------------------------------------------
    def check_signature(self, keys: list[bytes]) -> Object:
        envelope = _json(self.path(SIGNATURE))
        payload = base64.b64decode(envelope["payload"], validate=True)
        kind = envelope["payloadType"]
        message = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
        marks = [base64.b64decode(each["sig"], validate=True) for each in envelope["signatures"]]
        signer = self.signed_by(keys, message, marks)
        if kind != PAYLOAD_TYPE or signer is None:
            raise Refused("signature.dsse.json is not signed by an export key of keys.json.")
        self.signer = _kid(signer)
        claim = _loaded(payload)
        stated = {each["name"]: each["sha256"] for each in claim["members"]}
        if stated != {n: h for n, h in self.hashes.items() if n != SIGNATURE}:
            raise Refused("The signed list of files is not the list of files in the folder.")
        self.say("the list of all files is signed by export key %s" % self.signer)
        return claim

    def check_checkpoint(self, keys: list[bytes], claim: Object) -> tuple[int, bytes]:
        with open(self.path(CHECKPOINT), encoding="utf-8", newline="") as file:
            text = file.read()
        origin, size, root, signer = self.read_checkpoint(text, keys)
        self.log_key = _kid(signer)
        if claim["checkpoint"] != {"origin": origin, "tree_size": size, "root_hash": root.hex()}:
            raise Refused("checkpoint.txt is not the checkpoint that was signed with the bundle.")
        self.say("the log %s had %d leaves; log key %s signed that" % (origin, size, self.log_key))
        return size, root

    def read_checkpoint(self, text: str, keys: list[bytes]) -> tuple[str, int, bytes, bytes]:
        """Which log, its size and root, and the key that signed: another one for each checkpoint
        if keys were rotated in between."""
        body, _, signed = text.partition("\n\n")
        origin, size, root = body.split("\n")[:3]
        message = (body + "\n").encode()
        for line in signed.splitlines():
            name, _, content = line[2:].partition(" ")
            mark = base64.b64decode(content, validate=True)
            own = [k for k in keys if mark[:4] == _note_id(origin, k)]
            signer = self.signed_by(own, message, [mark[4:]]) if name == origin else None
            if signer is not None and line.startswith("\u2014 "):
                return origin, int(size), base64.b64decode(root, validate=True), signer
        raise Refused("The checkpoint is not signed by a log key of keys.json.")

    def signed_by(self, keys: list[bytes], message: bytes, marks: list[bytes]) -> bytes | None:
        standing_first = sorted(keys, key=lambda each: each in self.revoked)
        found = (k for k in standing_first for mark in marks if self.ed25519(k, message, mark))
        signer = next(found, None)
        if signer in self.revoked:
            raise Refused(
                "Key %s signed here, and it is revoked: somebody else may hold it." % _kid(signer)
            )
        return signer

    # --- records ----------------------------------------------------------------------------------
    def check_leaves(self, claim: Object, size: int, root: bytes) -> None:
        """Walk through the lines and their proofs side by side; one line is held at a time."""
        seen = Places()
        self.seed = claim["sample"]["seed"] if claim["sample"] else None
        self.read_period(claim)
        counts = {RECORDS: 0, APPROVALS: 0, OTHERS: 0, "": 0}
        with open(self.path(PROOFS), "rb") as proofs:
            for name in (RECORDS, APPROVALS, OTHERS):
                counts[name] = self.check_file(name, proofs, seen, size, root)
            counts[""] = self.check_bare(proofs, seen, size, root)
        if self.report.wrong:
            return
        if claim["counts"] != {name or "by_hash_only": n for name, n in counts.items()}:
            raise Refused("There are more or fewer lines than the signed statement counts.")
        said = "each of %d records is in the log, unchanged, under that checkpoint"
        self.say(said % counts[RECORDS])
        if counts[APPROVALS]:
            said = "%d events about their approvals are in the log; votes name what was voted on"
            self.say(said % counts[APPROVALS])
        self.check_sample(claim)
        self.check_completeness(claim, seen, size)

    def check_file(self, name: str, proofs: IO[bytes], seen: Places, size: int, root: bytes) -> int:
        count = 0
        with open(self.path(name), "rb") as lines:
            for count, line in enumerate(lines, start=1):
                text, proof = line.rstrip(b"\n"), _loaded(proofs.readline())
                if (proof["file"], proof["line"]) != (name, count):
                    raise Refused("%s, line %d: its proof is missing." % (name, count))
                moment = self.check_line(name, count, text)
                leaf = hashlib.sha256(b"\x00" + text).digest()
                if name == RECORDS and self.seed is not None:
                    self.largest_lot = max(self.largest_lot, self.lot(leaf))
                    self.population += 1
                self.check_place(name, count, leaf, proof, size, root)
                seen.add(proof["log_index"], name)
                self.note_place(name, proof["log_index"], moment)
        return count

    def check_bare(self, proofs: IO[bytes], seen: Places, size: int, root: bytes) -> int:
        """Leaves whose text is not in the bundle: purged, or outside what the reader may see."""
        count = 0
        for count, line in enumerate(proofs, start=1):
            proof = _loaded(line)
            leaf = bytes.fromhex(proof["leaf_hash"])
            self.check_place("leaf", count, leaf, proof, size, root)
            if self.seed is not None and proof["in_population"]:
                self.population += 1
                if self.lot(leaf) <= self.largest_lot:
                    self.report.fail("Leaf %d should be in the sample." % proof["log_index"])
            seen.add(proof["log_index"], "")
        return count

    def check_place(
        self, name: str, count: int, leaf: bytes, proof: Object, size: int, root: bytes
    ) -> None:
        hashes = [base64.b64decode(each, validate=True) for each in proof["hashes"]]
        if root_from(leaf, proof["log_index"], size, hashes) != root:
            self.report.fail("%s, line %d: not in the log under this checkpoint." % (name, count))

    def check_line(self, name: str, count: int, text: bytes) -> str:
        """Whether the line is what it says; when it was written."""
        record = _loaded(text)
        if not _hash_holds(record["record_hash"], text):
            self.report.fail("%s, line %d: its record_hash is another." % (name, count))
        if name == RECORDS:
            self.note_record(record, count)
        elif name == APPROVALS and record["action"] == "approval.voted":
            digest = self.votes.get(record["subject"]["id"])
            if digest is not None and record["data"]["digest"] != digest:
                self.report.fail("%s, line %d: a vote on something else." % (name, count))
        elif name == OTHERS and self.is_left_out(record):
            said = "%s, line %d: a decision record of the period is left out of %s."
            self.report.fail(said % (name, count, RECORDS))
        return str(record["created_at"])

    def is_left_out(self, record: Object) -> bool:
        if self.period is None or not record["record_version"].startswith(DECISION):
            return False
        return bool(self.period[0] <= record["created_at"] < self.period[1])

    def note_place(self, name: str, index: int, moment: str) -> None:
        if name == RECORDS:
            self.places = [min([index, *self.places]), max([index, *self.places])]
        elif name == OTHERS and index in self.edges:
            self.edges[index] = moment

    def note_record(self, record: Object, count: int) -> None:
        lineage = record["lineage"]
        named = [lineage["manifest_hash"], lineage["pack_hash"]]
        named += [bundle["hash"] for bundle in lineage["policy_bundles"]]
        self.wanted.update(each for each in named if each)
        for approval in record["approvals"]:
            digest = approval.get("digest")
            if digest and approval.get("approval_id"):
                self.votes[approval["approval_id"]] = digest
            given = {vote["digest"] for vote in approval.get("votes") or () if vote.get("digest")}
            if given - {digest}:
                said = "%s, line %d: a vote on something else than what ran."
                self.report.fail(said % (RECORDS, count))

    def lot(self, leaf: bytes) -> bytes:
        return hashlib.sha256((self.seed or "").encode() + b"\n" + leaf).digest()

    def check_sample(self, claim: Object) -> None:
        sample = claim["sample"]
        if sample is None:
            return
        drawn = "%d of %d records, seed %s" % (
            claim["counts"][RECORDS],
            sample["population"],
            _shown(sample["seed"]),
        )
        if claim["complete"] is None:
            self.report.open.append("that the sample was drawn at random: %s" % drawn)
        elif self.population != sample["population"]:
            self.report.fail("The sample was drawn from another number of records.")
        else:
            self.say("the sample is the one its seed draws: %s" % drawn)
            self.report.open.append(
                "that it was drawn from every record of the period: which of the leaves that are "
                "here by their hash alone are records is the word of who made the bundle"
            )

    # --- nothing left out -------------------------------------------------------------------------
    def read_period(self, claim: Object) -> None:
        """The period is of what was recorded before the export was asked for, whatever `to` says.
        Moments are spelled in one way only, so that their texts sort as they do."""
        span, wanted = claim["complete"], claim["filter"]
        if span is None:
            return
        given = [wanted[name] for name in ("from", "to") if name in wanted] + [span["until"]]
        if not all(MOMENT.fullmatch(each) for each in given):
            raise Refused("The period of the bundle can't be read.")
        if set(wanted) - {"from", "to"}:
            raise Refused("The bundle is a choice of records, but claims a whole period.")
        self.period = (wanted.get("from", ""), min(given[-2:] if "to" in wanted else given[-1:]))
        self.edges = {span["first"]: "", span["end"] - 1: ""}

    def check_completeness(self, claim: Object, seen: Places, size: int) -> None:
        span = claim["complete"]
        if span is None:
            self.report.open.append(
                "that no other record matches: the bundle is a choice (%s), and a log can only "
                "show that a whole period is complete" % claim["choice"]
            )
            return
        gap = seen.first_gap(span["first"], span["end"])
        if gap is not None:
            self.report.fail("Leaf %d of the log is left out: the period is not complete." % gap)
            return
        if not all(span["first"] <= each < span["end"] for each in self.places):
            self.report.fail("A record stands outside the leaves that are claimed to be complete.")
            return
        unseen = self.unproved_edges(span, size)
        said = "leaves %d to %d of the log are all here, without a gap"
        said = said % (span["first"], span["end"] - 1)
        if not unseen and not claim["counts"]["by_hash_only"]:
            said = "nothing is left out %s: %s" % (self.period_in_words(), said)
        self.say(said)
        self.report.open += unseen
        self.say_what_no_span_shows(claim, span)

    def unproved_edges(self, span: Object, size: int) -> list[str]:
        """The span is the exporter's word, unless what stands at its ends lies outside the period
        or the log itself ends there."""
        since, until = self.period or ("", "")
        before, behind = self.edges[span["first"]], self.edges[span["end"] - 1]
        said = "that no record of the period stands %s leaf %d: %s, or can't be read here"
        unseen = []
        if span["first"] != 0 and not (before and before < since):
            unseen.append(said % ("before", span["first"], "it is not older than the period"))
        if span["end"] != size and not (behind and behind >= until):
            unseen.append(said % ("behind", span["end"] - 1, "it is not newer than the period"))
        return unseen

    def period_in_words(self) -> str:
        since, until = self.period or ("", "")
        return "from %s up to %s" % (since or "the first leaf", until)

    def say_what_no_span_shows(self, claim: Object, span: Object) -> None:
        self.report.open.append(
            "that no record of the period came into the log late, outside leaves %d to %d"
            % (span["first"], span["end"] - 1)
        )
        until = (self.period or ("", ""))[1]
        if claim["filter"].get("to") != until:
            said = (
                "that records from %s on are all here: the export was made while they were written"
            )
            self.report.open.append(said % until)
        if claim["counts"]["by_hash_only"]:
            self.report.open.append(
                "what %d of these leaves say: they are here by their hash alone (purged, or "
                "outside what the reader may see)" % claim["counts"]["by_hash_only"]
            )

    def check_consistency(self, keys: list[bytes], size: int, root: bytes) -> None:
        held = _json(self.path(CONSISTENCY))
        if held is None:
            self.report.open.append("how the log grew: no checkpoint from before these records")
            return
        _, first, before, _ = self.read_checkpoint(held["checkpoint"], keys)
        hashes = [base64.b64decode(each, validate=True) for each in held["hashes"]]
        if not consistent(first, before, size, root, hashes):
            self.report.fail("The log was rewritten since it had %d leaves." % first)
            return
        self.say("the log only grew since it had %d leaves, before these records" % first)

    def check_artefacts(self, claim: Object) -> None:
        kept = {name[len(ARTEFACTS) :] for name in self.hashes if name.startswith(ARTEFACTS)}
        for name in sorted(kept):
            if self.hashes[ARTEFACTS + name] != name:
                self.report.fail("%s%s is another document." % (ARTEFACTS, _shown(name)))
        missing = {each.split(":")[-1] for each in self.wanted} - kept
        for digest in sorted(missing - set(claim["artefacts_missing"])):
            self.report.fail("A record names the document sha256:%s, which is not here." % digest)
        known = len(self.wanted) - len(missing)
        self.say("%d manifests, packs and policies are those that the records name" % known)
        if missing:
            self.report.open.append("what %d documents said: not stored any more" % len(missing))

    def check_fingerprints(self, given: list[str], claim: Object) -> None:
        used = {self.signer, self.log_key}
        for each in given:
            if each not in used:
                self.report.fail("Key %s signed nothing here." % _shown(each))
        if used <= set(given):
            self.say("both keys are the ones whose fingerprints you gave")
        else:
            self.report.open.append(
                "who made this: keys inside a bundle prove only that it agrees with itself. "
                "Compare %s with what we published (/.well-known/jwks.json), or pass them with "
                "--key-fingerprint" % " and ".join(sorted(used - set(given)))
            )
        self.report.open.append(
            "that what was recorded is what happened outside the log, or values that records hold "
            "only as commitments"
        )

    # --- small ------------------------------------------------------------------------------------
    def path(self, name: str) -> str:
        return os.path.join(self.folder, *name.split("/"))

    def say(self, said: str) -> None:
        if not self.report.wrong:
            self.report.proved.append(said)


class Places:
    """Which leaves were seen, one bit each."""

    def __init__(self) -> None:
        self.bits: dict[int, bytearray] = {}

    def add(self, index: int, name: str) -> None:
        page, at = divmod(index, 65536)
        bits = self.bits.setdefault(page, bytearray(8192))
        if bits[at >> 3] >> (at & 7) & 1 and name == RECORDS:
            raise Refused("Leaf %d of the log stands here twice." % index)
        bits[at >> 3] |= 1 << (at & 7)

    def has(self, index: int) -> bool:
        page, at = divmod(index, 65536)
        return page in self.bits and bool(self.bits[page][at >> 3] >> (at & 7) & 1)

    def first_gap(self, first: int, end: int) -> int | None:
        for index in range(first, end):
            if not self.has(index):
                return index
        return None


# --- the tree of RFC 6962 -------------------------------------------------------------------------
def _node(left: bytes, right: bytes) -> bytes:
    return hashlib.sha256(b"\x01" + left + right).digest()


def root_from(leaf: bytes, index: int, size: int, hashes: list[bytes]) -> bytes | None:
    """The root that an inclusion proof leads to (RFC 9162, 2.1.3.2); None for a wrong length."""
    if not 0 <= index < size:
        return None
    here, last, found = index, size - 1, leaf
    for each in hashes:
        if last == 0 or len(each) != 32:
            return None
        if here & 1 or here == last:
            found = _node(each, found)
            while not here & 1 and here:
                here, last = here >> 1, last >> 1
        else:
            found = _node(found, each)
        here, last = here >> 1, last >> 1
    return found if last == 0 else None


def consistent(first: int, before: bytes, size: int, root: bytes, hashes: list[bytes]) -> bool:
    """Whether a log of `size` leaves goes on from one of `first` (RFC 9162, 2.1.4.2)."""
    if first == size:
        return before == root and not hashes
    if not 0 < first < size or not hashes:
        return False
    path = ([before] if first & (first - 1) == 0 else []) + hashes
    here, last = first - 1, size - 1
    while here & 1:
        here, last = here >> 1, last >> 1
    old = new = path[0]
    for each in path[1:]:
        if last == 0:
            return False
        if here & 1 or here == last:
            old, new = _node(each, old), _node(each, new)
            while not here & 1 and here:
                here, last = here >> 1, last >> 1
        else:
            new = _node(new, each)
        here, last = here >> 1, last >> 1
    return last == 0 and old == before and new == root


# --- reading --------------------------------------------------------------------------------------
def _signature_check() -> Any:
    """From the file beside this one, never from the bundle that is looked at."""
    if __package__:
        from audit.export.offline import ed25519

        return ed25519.verify
    # By its place: `python3 -I`, as careful people start it, finds no module beside a script.
    place = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ed25519.py")
    beside: Any = ModuleType("ed25519")
    SourceFileLoader("ed25519", place).exec_module(beside)
    return beside.verify


def _loaded(text: bytes | str) -> Any:
    return json.loads(text, object_pairs_hook=_once)


def _once(pairs: Any) -> Any:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise Refused("A JSON object says something twice.")
    return found


def _json(path: str) -> Any:
    with open(path, "rb") as file:
        return _loaded(file.read())


def _hash_holds(stated: str, text: bytes) -> bool:
    """The hash covers the text without the member that holds it."""
    member = b',"record_hash":"%s"' % stated.encode()
    at = text.find(member)
    while at >= 0:
        rest = text[:at] + text[at + len(member) :]
        if stated == "sha256:" + hashlib.sha256(rest).hexdigest():
            return True
        at = text.find(member, at + 1)
    return False


def _read_sums(path: str) -> dict[str, str]:
    found: dict[str, str] = {}
    with open(path, encoding="utf-8", newline="") as file:
        for line in file.read().split("\n")[:-1]:
            digest, mark, name = line.partition("  ")
            parts = name.split("/")
            if not mark or len(digest) != 64 or {"", ".", ".."} & set(parts) or "\\" in name:
                raise Refused("SHA256SUMS can't be read.")
            if name in found:
                raise Refused("SHA256SUMS names a file twice.")
            found[name] = digest
    return found


def _files_below(folder: str) -> list[str]:
    found = []
    for place, folders, names in os.walk(folder):
        for name in folders + names:
            path = os.path.join(place, name)
            if os.path.islink(path):
                raise Refused("%s is a link; a bundle has none." % _shown(name))
        found += [os.path.relpath(os.path.join(place, name), folder) for name in names]
    return [name.replace(os.sep, "/") for name in found]


def _unpack(path: str, folder: str) -> None:
    with zipfile.ZipFile(path) as packed:
        names = packed.namelist()
        if len(set(names)) != len(names):
            raise Refused("the zip file has a name twice.")
        for name in names:
            if {"", ".", ".."} & set(name.split("/")) or "\\" in name or ":" in name:
                raise Refused("the zip file has a name that leads elsewhere.")
        packed.extractall(folder)


def _sha256(path: str) -> str:
    hashed = hashlib.sha256()
    with open(path, "rb") as file:
        for chunk in iter(lambda: file.read(1 << 20), b""):
            hashed.update(chunk)
    return hashed.hexdigest()


def _unpadded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def _kid(key: bytes) -> str:
    """The fingerprint of RFC 7638: it follows from the key and can't be chosen."""
    x = base64.urlsafe_b64encode(key).decode().rstrip("=")
    members = '{"crv":"Ed25519","kty":"OKP","x":"%s"}' % x
    digest = hashlib.sha256(members.encode()).digest()
    return base64.urlsafe_b64encode(digest).decode().rstrip("=")


def _note_id(name: str, key: bytes) -> bytes:
    return hashlib.sha256(name.encode() + b"\n\x01" + key).digest()[:4]


def _shown(text: str) -> str:
    return ascii(text)[1:-1][:100]


if __name__ == "__main__":
    sys.exit(main())
