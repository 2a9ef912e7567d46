"""Forty planted secrets, traffic through web, worker and broker: none is found anywhere."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from django.conf import settings
from django.db import connection
from reportlab.pdfgen.canvas import Canvas

from contextos.identity.resealing import sealed_columns
from gateway.models import ToolCall
from tests.abuse.canaries import ENVIRONMENT, Canaries, plant, spellings
from tests.abuse.keyed import UNREACHABLE, USED, capability_of, publish_keyed
from tests.abuse.places import database_dump, files_below, overheard, redis_dump
from tests.bench.served import Served, served, served_environment
from tests.gateway.connectors.mcp.sdk_server import SdkServer
from tests.gateway.work_manifests import NOTE_IN, work, work_pack
from tests.gateway.world import GatewayWorld
from tests.ops.environment import ROOT
from tests.ops.test_telemetry import Collector
from tests.registry.walks import pack_walk

LEAST = 40
PATIENCE_SECONDS = 150.0  # starting takes its time on a busy machine
FORMATS = ("csv", "jsonl", "xlsx", "pdf", "bundle")
SUFFIXES = {".csv", ".jsonl", ".xlsx", ".pdf", ".zip"}
_WORKER = ["-m", "celery", "-A", "contextos.celery", "-q", "worker", "--concurrency", "2"]


def _until(holds: Callable[[], bool], what: str) -> None:
    until = time.monotonic() + PATIENCE_SECONDS
    while not holds():
        assert time.monotonic() < until, f"not in time: {what}"
        time.sleep(0.1)


@pytest.fixture
def world(transactional_db: None) -> GatewayWorld:
    """An agent may store notes with a password among the arguments, which goes to a worker."""
    if connection.vendor != "postgresql" or not os.environ.get("REDIS_URL"):
        pytest.skip("needs PostgreSQL and Redis (scripts/with_services.py)")
    made, manifest = GatewayWorld(), work()
    manifest["schemas"][NOTE_IN]["properties"]["password"] = {
        "type": "string",
        "writeOnly": True,
        "maxLength": 80,
    }
    made.house.published(manifest)
    pack_walk(made.house).published(work_pack())
    return made


@pytest.fixture
def upstream(world: GatewayWorld) -> Iterator[SdkServer]:
    """A far side that is asked with planted credentials, and remembers what it was shown."""
    server = SdkServer()
    server.start()
    publish_keyed(world, server.url)
    yield server
    server.stop()


@pytest.fixture
def collector() -> Iterator[Collector]:
    receiver = Collector()
    threading.Thread(target=receiver.serve_forever, daemon=True).start()
    yield receiver
    receiver.shutdown()


@contextmanager
def _worker(log: Path, more: dict[str, str]) -> Iterator[None]:
    told = ["--without-gossip", "--without-mingle", "--loglevel", "DEBUG", "-P", "prefork"]
    told += ["-B", "--schedule", str(log.with_suffix(".beat"))]  # sweeps find a lost message
    with _process([*_WORKER, *told], log, more):
        _until(lambda: " ready." in log.read_text(), "a worker")
        yield


@contextmanager
def _process(command: list[str], log: Path, more: dict[str, str]) -> Iterator[None]:
    with log.open("ab") as said:
        process = subprocess.Popen(
            [sys.executable, *command],
            cwd=ROOT,
            env=served_environment() | more,
            stdout=said,
            stderr=said,
        )
    try:
        yield
    finally:
        process.terminate()
        process.wait(timeout=40)


class _Traffic:
    """Calls that carry secrets, good and bad, and exports of what was recorded of them."""

    def __init__(self, product: Served, world: GatewayWorld, canaries: Canaries) -> None:
        self.world, self.canaries = world, canaries
        self.http = httpx.Client(
            base_url=f"http://127.0.0.1:{product.port}", trust_env=False, timeout=60
        )

    def as_(self, name: str, **more: str) -> dict[str, str]:
        token = self.world.agent_token if name == "agent" else self.world.house.token(name)
        return {"Authorization": f"Bearer {token}", **more}

    def calls(self) -> None:
        body = {"tenant_id": self.world.tenant_id, "intent": "support.refund"}
        delegated = self.as_("agent", **{"X-User-Delegation": self.world.house.token("service")})
        run = self.http.post(
            "/api/v1/runs", json={**body, "environment": "production"}, headers=delegated
        ).json()
        for number, change in enumerate(self._arguments()):
            asked = {
                "run_id": run["run_id"],
                "capability_id": "notes.add",
                "args": {"text": "A note.", **change},
                "idempotency_key": f"key-{number}",
            }
            answer = self.http.post("/api/v1/tool-calls", json=asked, headers=delegated)
            assert answer.status_code in (200, 202, 422), answer.text
            assert not self.canaries.hits("the answer", answer.content)
        self._wait_for_calls()

    def keyed_calls(self) -> None:
        """Reads that spend a planted credential, and one that can't have its token."""
        body = {"tenant_id": self.world.tenant_id, "intent": "support.refund"}
        asked = {**body, "environment": "development"}
        run = self.http.post("/api/v1/runs", json=asked, headers=self.as_("agent")).json()
        for kind in (*USED, UNREACHABLE):
            call = {"run_id": run["run_id"], "capability_id": capability_of(kind), "args": {}}
            answer = self.http.post("/api/v1/tool-calls", json=call, headers=self.as_("agent"))
            wanted = "failed" if kind == UNREACHABLE else "ok"
            assert answer.json()["status"] == wanted, answer.text
            assert not self.canaries.hits("the answer", answer.content)

    def _arguments(self) -> Iterator[dict[str, Any]]:
        """Two that are stored, three that are refused with the secret in the wrong place."""
        yield {"password": self.canaries.new("argument")}
        yield {"password": self.canaries.new("second argument")}
        long = self.canaries.new("argument that is too long")
        yield {"password": long + "x" * 80}
        yield {"password": {"value": self.canaries.new("argument of another type")}}

    def _wait_for_calls(self) -> None:
        done = ToolCall.objects.filter(state="ok")
        _until(lambda: done.count() >= 2, "both notes are written")

    def exports(self) -> None:
        admin = self.as_("admin")
        for kind in FORMATS:
            asked = self.http.post("/api/v1/exports", json={"format": kind}, headers=admin)
            address = f"/api/v1/exports/{asked.json()['export_id']}"
            _until(lambda at=address: self._is_done(at), f"an export as {kind}")  # type: ignore[misc]

    def _is_done(self, address: str) -> bool:
        found = self.http.get(address, headers=self.as_("admin")).json()
        assert found["state"] != "failed", found
        return bool(found["state"] == "done")

    def reads(self) -> None:
        for name in ("admin", "operator", "auditor"):
            for path in ("decision-records", "exports", "approvals", "adapters", "log/keys"):
                answer = self.http.get(f"/api/v1/{path}", headers=self.as_(name))
                assert not self.canaries.hits(path, answer.content)
        self.http.get("/metrics", headers={"Authorization": "Bearer wrong"})


@pytest.mark.live
@pytest.mark.proves("C7")
def test_forty_planted_secrets_are_found_nowhere(
    world: GatewayWorld, upstream: SdkServer, collector: Collector, tmp_path: Path
) -> None:
    canaries, redis_url = Canaries(), os.environ["REDIS_URL"]
    plant(canaries, world)
    more = {
        "REDIS_URL": redis_url,
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.url,
        "CONTEXTOS_LOG_LEVEL": "DEBUG",
        **{name: canaries.planted[name] for name in ENVIRONMENT},
    }
    with ExitStack() as stack:
        said = stack.enter_context(overheard(redis_url))
        stack.enter_context(_worker(tmp_path / "worker.log", more))
        stack.enter_context(_process(["manage.py", "seal"], tmp_path / "sealer.log", more))
        product = stack.enter_context(served(world, log=tmp_path / "web.log", **more))
        traffic = _Traffic(product, world, canaries)
        traffic.calls()
        traffic.keyed_calls()
        traffic.exports()
        traffic.reads()
        kept = list(redis_dump(redis_url))
    places = [
        *database_dump(),
        *kept,
        *files_below(tmp_path),
        *files_below(Path(settings.EXPORTS_DIR)),
        ("the broker's wire", b"\n".join(said)),
        *((path, b"".join(bodies)) for path, bodies in collector.bodies.items()),
    ]
    hits = [hit for place, content in places for hit in canaries.hits(place, content)]
    assert hits == []
    assert len(canaries.planted) >= LEAST
    for kind in USED:  # they were not only kept: they went where they belong
        assert canaries.planted[f"credential {kind}"] in str(upstream.seen)
    _assert_seeing(places, ToolCall.objects.filter(capability_id="notes.add", state="ok")[0])
    exported = [name for name, _ in places if name.startswith("file exp_")]
    assert {Path(name).suffix for name in exported} >= SUFFIXES
    assert any(name.endswith(".pdf/page 1") for name in exported)
    assert any(name.endswith(".zip/records.jsonl") for name in exported)


def _assert_seeing(places: list[tuple[str, bytes]], call: ToolCall) -> None:
    """The search is not blind: what is no secret is found in every kind of place."""
    name = call.pk.encode()
    seeing = {place for place, content in places if name in content}
    wanted = {"table gateway_toolcall", "the broker's wire", "/v1/traces", "file worker.log"}
    assert wanted <= seeing, seeing
    decided = {place for place, content in places if call.decision_id.encode() in content}
    assert any(place.endswith(".zip/records.jsonl") for place in decided), decided


# Made by a browser on its way to an authorization server, for ten minutes, and of no use without
# the code that comes back: tests/gateway/credentials/test_secrets.py walks that way.
ON_THE_WAY = {"gateway.ConsentRequest.sealed_verifier"}


@pytest.mark.django_db
def test_something_is_planted_in_every_column_that_is_kept_encrypted() -> None:
    """Whoever adds such a column plants something in it."""
    plant(Canaries(), GatewayWorld())
    empty = {
        column.label
        for column in sealed_columns()
        if not column.model._default_manager.exclude(**{f"{column.column}__isnull": True})
        .exclude(**{column.column: b""})
        .exists()
    }
    assert empty - {"audit.Payload.sealed"} == ON_THE_WAY  # the calls' arguments fill that one


def test_the_search_reads_the_pages_of_a_pdf(tmp_path: Path) -> None:
    canaries = Canaries()
    drawn = Canvas(str(tmp_path / "report.pdf"), pageCompression=1)
    drawn.drawString(40, 700, canaries.new("one"))
    drawn.save()
    assert b"canary-" not in (tmp_path / "report.pdf").read_bytes()
    places = list(files_below(tmp_path))
    assert [hit for place, content in places for hit in canaries.hits(place, content)]


@pytest.mark.parametrize("form", ["raw", "base64", "hex", "base64 shifted by 1"])
def test_the_search_finds_what_is_there(form: str) -> None:
    canaries = Canaries()
    secret = canaries.new("one")
    needle = dict(spellings(secret))[form]
    assert canaries.hits("here", b"before " + needle + b" after")
    assert not canaries.hits("here", b"nothing of it")
