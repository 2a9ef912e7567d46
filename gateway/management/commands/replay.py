"""`manage.py replay`: decisions taken again from their records, without touching a tool (E4)."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from audit.artefacts import read_artefact
from audit.models import DecisionRow
from contextos.core import strict_json
from contextos.core.clock import utcnow
from contextos.core.errors import ContextOSError, coded_error
from contextos.core.events import automation
from contextos.core.text import single_line
from contextos.identity.models import Tenant
from gateway.replaying.batches import AnyTally, ReplayTally, replay_period
from gateway.replaying.drafts import ManifestDraft, PolicyDraft
from gateway.replaying.packet_files import replay_packet
from gateway.replaying.periods import Period, read_moment
from gateway.replaying.services import export_packet, replay
from gateway.replaying.surroundings import Draft
from gateway.replaying.trials import TrialTally
from registry.models import AdapterVersion, PolicyBundleVersion
from registry.recorded_documents import MOST_BYTES

ACTOR = automation("manage.py replay")
EXIT_DIFFERENT, EXIT_NOTHING = 1, 2
_EVERY_SECONDS = 1.0


class Command(BaseCommand):
    """Exit code 0: all equal; 1: something differs or can't be replayed; 2: nothing to replay."""

    help = (
        "Take one recorded decision, or all of a period, again from the record alone: recorded "
        "inputs, manifest, pack, policy and transcript. No tool is called and no socket opened. "
        "Exits 0 when everything comes out equal, 1 when something differs or can't be replayed, "
        "2 when there is nothing to replay."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        """One decision, or a period."""
        parser.add_argument("decision", metavar="DECISION", nargs="?", help="decision id")
        parser.add_argument("--tenant", metavar="T", help="tenant id (default: the only one)")
        parser.add_argument("--since", metavar="WHEN", help="day or RFC 3339 moment, included")
        parser.add_argument("--until", metavar="WHEN", help="the end, not included (default: now)")
        parser.add_argument(
            "--policy",
            metavar="DRAFT",
            help="what would a policy bundle have changed: bundle@version, or a JSON file",
        )
        parser.add_argument(
            "--manifest",
            metavar="DRAFT",
            help="what would a manifest have changed: adapter@version, or a JSON file",
        )
        parser.add_argument(
            "--export", metavar="FILE", help="write the decision's packet file, values included"
        )
        parser.add_argument(
            "--without-values", action="store_true", help="export commitments instead of values"
        )
        parser.add_argument("--packet", metavar="FILE", help="replay a packet file, offline")
        parser.add_argument("--json", action="store_true", help="print JSON and nothing else")
        parser.add_argument(
            "--data-dir", metavar="DIR", help="data directory of an embedded installation"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        """Replay, print, and say with the exit code how it came out."""
        try:
            equal = self._way(options)(options)
        except ContextOSError as refusal:
            message = f"{refusal} {refusal.remediation}"
            raise CommandError(message, returncode=EXIT_NOTHING) from None
        if not equal:
            sys.exit(EXIT_DIFFERENT)

    def _way(self, options: dict[str, Any]) -> Callable[[dict[str, Any]], bool]:
        if options["packet"]:
            return self._packet
        return self._period if options["since"] else self._one

    # --- one decision -----------------------------------------------------------------------------
    def _one(self, options: dict[str, Any]) -> bool:
        name = options["decision"]
        if not name:
            raise CommandError("Name a DECISION, or a period with --since.", returncode=2)
        tenant_id = options["tenant"] or _tenant_of(name)
        if options["export"]:
            return self._export(tenant_id, name, options)
        return self._shown(replay(tenant_id=tenant_id, decision_id=name, actor=ACTOR), options)

    def _shown(self, packet: dict[str, Any], options: dict[str, Any]) -> bool:
        if options["json"]:
            self.stdout.write(_spelled(packet))
        else:
            self._print(packet)
        return bool(packet["latest_result"]["status"] == "replay_equal")

    def _export(self, tenant_id: str, name: str, options: dict[str, Any]) -> bool:
        packet = export_packet(
            tenant_id=tenant_id,
            decision_id=name,
            actor=ACTOR,
            with_values=not options["without_values"],
        )
        Path(options["export"]).write_text(_spelled(packet), encoding="utf-8")
        self.stdout.write(f"{packet['replay_packet_id']} written to {options['export']}")
        return True

    def _packet(self, options: dict[str, Any]) -> bool:
        try:
            content = Path(options["packet"]).read_bytes()
        except OSError as error:
            message = f"{options['packet']} can't be read: {error.strerror}."
            raise CommandError(message, returncode=EXIT_NOTHING) from error
        return self._shown(replay_packet(content), options)

    def _print(self, packet: dict[str, Any]) -> None:
        result, expected = packet["latest_result"], packet["expected"]
        self.stdout.write(result["status"])
        self.stdout.write(
            f"{packet['source_ref']}: recorded as {expected['status']}, "
            f"{expected['decision_record_hash']}"
        )
        self.stdout.write(f"taken again: {', '.join(result['checked']) or 'nothing'}")
        for sentence in result["taken_from_record"]:
            self.stdout.write(f"from the record: {single_line(sentence)}")
        for diff in result["diffs"]:
            self._print_diff(diff)

    def _print_diff(self, diff: dict[str, Any]) -> None:
        self.stdout.write(f"{diff['type']:10} {diff['path']}  {single_line(diff['message'])}")
        for side in ("expected", "found"):
            self.stdout.write(f"{side:>12}: {single_line(_spelled(diff[side], None), limit=300)}")

    # --- a period ---------------------------------------------------------------------------------
    def _period(self, options: dict[str, Any]) -> bool:
        if options["decision"]:
            raise CommandError("Name a decision or a period, not both.", returncode=2)
        until = read_moment(options["until"]) if options["until"] else utcnow()
        period = Period(read_moment(options["since"]), until)
        tenant_id = options["tenant"] or _only_tenant()
        shown, started = _Progress(self), time.monotonic()
        tally = replay_period(
            tenant_id=tenant_id,
            period=period,
            actor=ACTOR,
            draft=named_draft(tenant_id, options["policy"], options["manifest"]),
            progress=shown,
        )
        if not tally.total:
            message = f"{tenant_id} has no decisions from {period.words}."
            raise coded_error("replay.unknown_decision", message=message)
        if options["json"]:
            self.stdout.write(_spelled(tally.as_dict()))
        else:
            self._print_head(tally.total, period, time.monotonic() - started)
            self._print_tally(tally)
        return tally.all_equal if isinstance(tally, ReplayTally) else True

    def _print_head(self, total: int, period: Period, seconds: float) -> None:
        rate = total / seconds if seconds else 0
        self.stdout.write(
            f"{total} decisions from {period.words} in {seconds:.1f} s ({rate:.0f}/s)"
        )

    def _print_tally(self, tally: AnyTally) -> None:
        if isinstance(tally, TrialTally):
            self._print_trials(tally)
            return
        for status, number in tally.as_dict()["by_status"].items():
            self.stdout.write(f"{number:8} {status}")
        for kind, number in sorted(tally.by_type.items()):
            self.stdout.write(f"{number:8} with differences of type {kind}")
        for sentence, number in tally.taken.most_common():
            self.stdout.write(f"{number:8} from the record: {single_line(sentence)}")
        for example in tally.examples[:10]:
            first = example["diffs"][0]
            self.stdout.write(f"  {example['decision_id']} {example['status']}: {first['path']}")
            self.stdout.write(f"    {single_line(first['message'])}")

    def _print_trials(self, tally: TrialTally) -> None:
        self.stdout.write(f"{tally.changed:8} would have been different")
        self.stdout.write(f"{tally.total - tally.changed - tally.left_out:8} the same")
        self.stdout.write(f"{tally.left_out:8} can't be taken again")
        for kind, number in tally.changes.most_common():
            self.stdout.write(f"{number:8} {single_line(kind)}")
            for example in tally.examples[kind][:3]:
                name = single_line(str(example["capability_id"]))
                self.stdout.write(f"           {example['decision_id']} {name}")


class _Progress:
    """Says how far it is, once a second, where a person looks."""

    def __init__(self, command: Command) -> None:
        self.command, self.next_at = command, time.monotonic() + _EVERY_SECONDS

    def __call__(self, done: int, share: float) -> None:
        if time.monotonic() < self.next_at:
            return
        self.next_at = time.monotonic() + _EVERY_SECONDS
        self.command.stderr.write(f"{done} decisions, {share:.0%} of the period")


def named_draft(tenant_id: str, policy: str | None, manifest: str | None) -> Draft | None:
    """What was named on the command line: a version that is kept here, or a file."""
    if policy and manifest:
        raise CommandError("Name a policy or a manifest, not both.", returncode=EXIT_NOTHING)
    if policy:
        return PolicyDraft.of(_document(tenant_id, policy, PolicyBundleVersion))
    if manifest:
        document = _document(tenant_id, manifest, AdapterVersion)
        return ManifestDraft.of(document, tenant_id=tenant_id)
    return None


def _document(tenant_id: str, name: str, kind: type[Any]) -> dict[str, Any]:
    path = Path(name)
    if path.is_file():
        return strict_json.loads_object(path.read_bytes(), max_bytes=MOST_BYTES)
    owner, _, version = name.rpartition("@")
    column = "adapter__adapter_id" if kind is AdapterVersion else "bundle_id"
    rows = kind.objects.filter(tenant_id=tenant_id, version=version, **{column: owner})
    digest = rows.order_by("-version_id").values_list("digest", flat=True).first()
    if digest is None:
        message = f"{single_line(name)} is neither a file nor a version of this tenant."
        raise coded_error("replay.unknown_draft", message=message)
    content = read_artefact(tenant_id=tenant_id, digest=digest)
    return strict_json.loads_object(content, max_bytes=MOST_BYTES)


def _spelled(value: Any, indent: int | None = 2) -> str:
    return json.dumps(value, indent=indent, ensure_ascii=False)


def _tenant_of(decision_id: str) -> str:
    rows = DecisionRow.objects.filter(decision_id=decision_id)
    found = rows.values_list("tenant_id", flat=True).first()
    if found is None:
        raise coded_error(
            "replay.unknown_decision", message=f"No record is called {single_line(decision_id)}."
        )
    return str(found)


def _only_tenant() -> str:
    found = list(Tenant.objects.values_list("pk", flat=True)[:2])
    if len(found) != 1:
        raise coded_error("request.not_found", message="Name the tenant with --tenant.")
    return str(found[0])
