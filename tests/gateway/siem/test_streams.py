"""Streams to a SIEM: in order, at least once, the same id each time, nothing lost (E7)."""

from __future__ import annotations

import json
import re
import threading
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.utils import timezone

from audit.decision_record import CapabilityFacts, DecisionStatus
from audit.decisions import record_decision
from audit.models import AuditEvent, LogLeaf
from contextos.core.errors import ContextOSError
from contextos.identity.models import Tenant
from gateway.models import SiemStream
from gateway.siem import delivery
from gateway.siem.delivery import send_streams
from gateway.siem.lag import lags_of
from gateway.siem.services import (
    change_stream,
    create_stream,
    pause_stream,
    resume_stream,
    send_again,
    send_test,
)
from tests.approvals.receivers import SECRET, Received, Receiver, receiver
from tests.audit.logs import facts, seal_all, write_events
from tests.factories import SYSTEM, make_tenant
from tests.gateway.siem.collectors import Collector, collecting, datagrams
from tests.gateway.siem.rows import make_stream
from tests.net.certificates import Authority

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def tenant(transactional_db: None) -> Tenant:
    return make_tenant("tenant_streamed")


def _log(tenant: Tenant, number: int, **more: Any) -> None:
    for _ in range(number):
        record_decision(facts(tenant.pk, **{"created_at": timezone.now(), **more}))
    seal_all()


def _round() -> int:
    """Whatever was put off is due again, as after its pause."""
    SiemStream.objects.update(due_at=timezone.now() - timedelta(seconds=1))
    return send_streams()


def _places(tenant: Tenant) -> list[tuple[int, str]]:
    rows = LogLeaf.objects.filter(tenant_id=tenant.pk).order_by("log_index")
    return list(rows.values_list("log_index", "leaf_id"))


def _posted(taken: Receiver) -> list[dict[str, Any]]:
    return [
        json.JSONDecoder().decode(line)
        for request in taken.requests
        for line in request.body.decode().splitlines()
    ]


def _ids(lines: list[bytes]) -> list[tuple[int, str]]:
    found = [re.search(rb'\[contextos@32473 id="([^"]+)" index="(\d+)"', line) for line in lines]
    return [(int(match[2]), match[1].decode()) for match in found if match]


def _syslog(tenant: Tenant, port: int, kind: str = "tcp", **more: Any) -> SiemStream:
    return make_stream(tenant, transport=f"syslog_{kind}", address=f"127.0.0.1:{port}", **more)


# --- webhook -------------------------------------------------------------------------------------
@pytest.mark.proves("E7")
def test_every_row_of_the_log_arrives_in_its_order(tenant: Tenant) -> None:
    write_events(2, tenant.pk)
    _log(tenant, 5)
    with receiver() as taken:
        make_stream(tenant, address=taken.url, secret=SECRET, authorization="Splunk abc")
        assert _round() == len(_places(tenant))  # its own adding is not sealed yet
        seal_all()
        _round()
        found = _posted(taken)
        assert [(item["log_index"], item["id"]) for item in found] == _places(tenant)
        assert {item["kind"] for item in found} == {"decision", "event"}
        assert all(request.is_signed_with(SECRET) for request in taken.requests)
        assert {request.headers["authorization"] for request in taken.requests} == {"Splunk abc"}
        assert taken.requests[0].headers["content-type"] == "application/x-ndjson"
        assert _round() == 0


@pytest.mark.proves("E7")
def test_a_receiver_that_refuses_gets_the_same_ids_again(tenant: Tenant) -> None:
    _log(tenant, 3)
    with receiver() as taken:
        stream = make_stream(tenant, address=taken.url)
        taken.answers += [500, 503]
        assert _round() == 0
        stream.refresh_from_db()
        assert (stream.failures, stream.next_index) == (1, 0)
        assert "delivery.refused" in stream.last_error
        assert stream.due_at > timezone.now()
        assert send_streams() == 0  # not before its pause
        assert _round() == 0
        _round()
        stream.refresh_from_db()
        assert (stream.failures, stream.last_error) == (0, "")
        bodies = [request.body for request in taken.requests]
        assert bodies[0] == bodies[1] == bodies[2]


def test_a_stream_begins_with_the_next_record_unless_told_otherwise(tenant: Tenant) -> None:
    _log(tenant, 4)
    with receiver() as taken:
        make_stream(tenant, address=taken.url, from_beginning=False, contents="decisions")
        _log(tenant, 2)
        assert _round() == 2
        assert len(_posted(taken)) == 2


@pytest.mark.parametrize(
    ("contents", "kinds"), [("decisions", {"decision"}), ("events", {"event"})]
)
def test_only_what_was_asked_for_is_sent_and_the_cursor_still_moves(
    tenant: Tenant, contents: str, kinds: set[str]
) -> None:
    write_events(2, tenant.pk)
    _log(tenant, 2)
    with receiver() as taken:
        stream = make_stream(tenant, address=taken.url, contents=contents)
        size = len(_places(tenant))
        _round()
        stream.refresh_from_db()
        assert {item["kind"] for item in _posted(taken)} == kinds
        assert stream.next_index == size


@pytest.mark.proves("E7")
def test_a_record_holds_names_codes_and_hashes_but_no_value(tenant: Tenant) -> None:
    from audit.services import record_event

    record_event(
        tenant_id=tenant.pk,
        action="approval.voted",
        actor=SYSTEM,
        subject_kind="approval",
        subject_id="apr_1",
        reason="The customer's number is 4111 1111 1111 1111.",
        data={"gate": "GATE_FINANCE", "verdict": "approve", "arguments": {"amount": 4200}},
    )
    _log(tenant, 1, error={"kind": "policy", "code": "policy.denied", "message": "Secret words."})
    with receiver() as taken:
        make_stream(tenant, address=taken.url)
        _round()
        sent = b"".join(request.body for request in taken.requests)
        assert b"4111" not in sent
        assert b"4200" not in sent
        assert b"Secret words" not in sent
        vote = next(item for item in _posted(taken) if item["name"] == "approval.voted")
        assert (vote["gate"], vote["verdict"]) == ("GATE_FINANCE", "approve")
        record = next(item for item in _posted(taken) if item["kind"] == "decision")
        assert record["error_code"] == "policy.denied"
        assert record["record_hash"].startswith("sha256:")


# --- syslog --------------------------------------------------------------------------------------
@pytest.mark.proves("E7")
def test_a_syslog_receiver_that_dies_and_comes_back_misses_nothing(tenant: Tenant) -> None:
    _log(tenant, 40)
    with collecting(dies_after=11) as collector:
        stream = _syslog(tenant, collector.port)
        _round()
        stream.refresh_from_db()
        assert stream.next_index == 0
        assert stream.failures == 1
        port, first = collector.port, list(collector.lines)
    _round()  # nobody listens
    stream.refresh_from_db()
    assert (stream.failures, stream.next_index) == (2, 0)
    with collecting(port=port) as again:
        _round()
        assert _ids(again.lines) == _places(tenant)[: len(again.lines)]
        assert len(again.lines) >= 40
        assert set(_ids(first)) <= set(_ids(again.lines))  # repeats carry the ids they had


def test_lines_are_rfc_5424_with_the_audit_facility(tenant: Tenant) -> None:
    _log(tenant, 1, status=DecisionStatus.UNKNOWN)
    with collecting() as collector:
        _syslog(tenant, collector.port, contents="decisions")
        _round()
        line = collector.lines[0].decode()
    match = re.fullmatch(
        r"<(\d+)>1 (\S+Z) (\S+) contextos - decision \[contextos@32473 [^\]]+\] (\{.*\})", line
    )
    assert match
    assert int(match[1]) == 13 * 8 + 3
    assert json.JSONDecoder().decode(match[4])["name"] == "decision.unknown"


def test_syslog_over_tls_believes_the_authority_it_was_given_and_no_other(
    tenant: Tenant, tmp_path: Path
) -> None:
    authority, stranger = Authority(tmp_path), Authority(_folder(tmp_path / "other"))
    _log(tenant, 3)
    with collecting(tls=authority.server_context("127.0.0.1")) as collector:
        stream = _syslog(tenant, collector.port, "tls", authority=stranger.file.read_text())
        assert _round() == 0
        stream.refresh_from_db()
        assert "egress.tls" in stream.last_error
        change_stream(
            stream_pk=stream.pk,
            name=stream.name,
            address=stream.address,
            format="cef",
            contents="all",
            authority=authority.file.read_text(),
            actor=SYSTEM,
        )
        assert _round() > 0
        assert b"CEF:0|ContextOS|ContextOS|" in collector.lines[0]


def test_udp_sends_one_datagram_a_record(tenant: Tenant) -> None:
    _log(tenant, 3)
    with datagrams() as (port, found):
        _syslog(tenant, port, "udp", contents="decisions")
        assert _round() == 3
        for _ in range(50):
            if len(found) == 3:
                break
            threading.Event().wait(0.05)
    assert len(_ids(found)) == 3


def _folder(path: Path) -> Path:
    path.mkdir()
    return path


# --- by hand -------------------------------------------------------------------------------------
def test_a_paused_stream_sends_nothing_and_goes_on_where_it_stood(tenant: Tenant) -> None:
    _log(tenant, 2)
    with receiver() as taken:
        stream = make_stream(tenant, address=taken.url)
        pause_stream(stream_pk=stream.pk, reason="Maintenance.", actor=SYSTEM)
        assert _round() == 0
        assert taken.requests == []
        with pytest.raises(ContextOSError):
            pause_stream(stream_pk=stream.pk, reason="Again.", actor=SYSTEM)
        resume_stream(stream_pk=stream.pk, actor=SYSTEM)
        assert _round() >= 2
        assert [item["log_index"] for item in _posted(taken)][:2] == [0, 1]


def test_records_can_be_sent_again_from_an_earlier_place(tenant: Tenant) -> None:
    _log(tenant, 3)
    with receiver() as taken:
        stream = make_stream(tenant, address=taken.url)
        _round()
        before = _posted(taken)
        send_again(stream_pk=stream.pk, from_index=1, reason="Disk lost.", actor=SYSTEM)
        _round()
        assert _posted(taken)[len(before) :] == before[1:]
        with pytest.raises(ContextOSError):
            send_again(stream_pk=stream.pk, from_index=10**6, reason="Why not.", actor=SYSTEM)


@pytest.mark.proves("E7")
def test_what_was_under_way_to_the_old_receiver_is_sent_to_the_new_one(tenant: Tenant) -> None:
    _log(tenant, 3)
    with receiver() as old, receiver() as new:
        stream = make_stream(tenant, address=old.url)

        def moved_meanwhile(request: Received) -> int:
            kept = {"name": "Splunk", "format": "jsonl", "contents": "all", "authority": ""}
            change_stream(stream_pk=stream.pk, address=new.url, actor=SYSTEM, **kept)
            connection.close()
            return 204

        old.take = moved_meanwhile  # type: ignore[method-assign]
        places = _places(tenant)
        assert _round() == 0
        stream.refresh_from_db()
        assert (stream.next_index, stream.worker) == (0, "")
        _round()
        assert [(item["log_index"], item["id"]) for item in _posted(new)] == places


def test_a_test_says_that_it_is_one_and_moves_nothing(tenant: Tenant) -> None:
    with receiver() as taken:
        stream = make_stream(tenant, address=taken.url)
        send_test(stream_pk=stream.pk, actor=SYSTEM)
        assert [item["kind"] for item in _posted(taken)] == ["test"]
        assert AuditEvent.objects.filter(action="siem.stream.tested").exists()
        taken.answers.append(500)
        with pytest.raises(ContextOSError):
            send_test(stream_pk=stream.pk, actor=SYSTEM)
        assert AuditEvent.objects.filter(action="siem.stream.tested").count() == 1


@pytest.mark.parametrize(
    "how",
    [
        {"address": "ftp://example.com/in"},
        {"address": "http://169.254.169.254/latest"},
        {"transport": "syslog_tls", "address": "169.254.169.254:6514"},
        {"transport": "syslog_tcp", "address": "exa mple"},
        {"transport": "syslog_tls", "address": "127.0.0.1", "authority": "no certificate"},
        {"transport": "syslog_tcp", "address": "127.0.0.1:1", "secret": SECRET},
        {"authority": "-----BEGIN CERTIFICATE-----"},
        {"secret": "short"},
    ],
)
def test_a_stream_that_could_never_be_sent_is_refused(tenant: Tenant, how: dict[str, Any]) -> None:
    with pytest.raises(ContextOSError):
        make_stream(tenant, **how)
    assert not SiemStream.objects.exists()


@pytest.mark.parametrize("transport", ["syslog_tcp", "syslog_udp"])
def test_in_production_nothing_leaves_in_the_clear(
    tenant: Tenant, settings: Any, transport: str
) -> None:
    settings.CONTEXTOS_ENV = "production"
    with pytest.raises(ContextOSError) as refused:
        make_stream(tenant, transport=transport, address="logs.example.com:514")
    assert refused.value.code == "egress.https_required"


def test_an_egress_proxy_is_not_walked_around(tenant: Tenant, settings: Any) -> None:
    settings.EGRESS_PROXY = "http://127.0.0.1:3128"
    _log(tenant, 1)
    with collecting() as collector:
        stream = _syslog(tenant, collector.port)
        _round()
        stream.refresh_from_db()
        assert "egress.proxy_only" in stream.last_error
        assert collector.lines == []


def test_secrets_are_sealed_and_shown_by_fingerprint_only(tenant: Tenant) -> None:
    stream = make_stream(tenant, secret=SECRET, authorization="Bearer very-secret-token")
    assert stream.sealed_secret is not None
    stored = bytes(stream.sealed_secret) + bytes(stream.sealed_authorization or b"")
    assert SECRET.encode() not in stored
    assert b"very-secret" not in stored
    told = "".join(AuditEvent.objects.values_list("text", flat=True))
    assert SECRET not in told
    assert "very-secret" not in told


def test_how_far_a_stream_is_behind_is_told_on_the_page_and_to_prometheus(tenant: Tenant) -> None:
    _log(tenant, 3)
    stream = make_stream(tenant, name="late")
    size = len(_places(tenant))
    lag = lags_of([stream])[stream.pk]
    assert lag.records == size
    assert lag.seconds >= 0
    scraped = Client().get("/metrics").text
    assert f'contextos_siem_lag_records{{stream="late",tenant="{tenant.pk}"}} {size}.0' in scraped


# --- many at once --------------------------------------------------------------------------------
@pytest.mark.proves("E7")
def test_two_workers_at_once_send_every_row_once_and_in_order(
    tenant: Tenant, monkeypatch: pytest.MonkeyPatch
) -> None:
    if connection.vendor != "postgresql":
        pytest.skip("SQLite lets one write at a time anyway")
    _log(tenant, 60)
    monkeypatch.setattr(delivery, "BATCH", 7)
    with collecting() as collector:
        stream = _syslog(tenant, collector.port)
        places, started, failures = _places(tenant), threading.Barrier(3), []

        def _work() -> None:
            try:
                started.wait()
                for _ in range(10):
                    delivery.deliver(SiemStream.objects.get(pk=stream.pk))
            except Exception as fault:  # noqa: BLE001  told by the test
                failures.append(fault)
            finally:
                connection.close()

        threads = [threading.Thread(target=_work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        _round()
        assert failures == []
        assert _ids(collector.lines)[: len(places)] == places


def test_a_worker_that_died_leaves_its_batch_to_the_next(tenant: Tenant) -> None:
    _log(tenant, 2)
    with receiver() as taken:
        stream = make_stream(tenant, address=taken.url)
        SiemStream.objects.filter(pk=stream.pk).update(
            worker="gone", lease_until=timezone.now() + timedelta(seconds=60)
        )
        assert _round() == 0
        SiemStream.objects.filter(pk=stream.pk).update(
            lease_until=timezone.now() - timedelta(seconds=1)
        )
        assert _round() >= 2


def test_one_tenants_stream_never_holds_another_tenants_records(tenant: Tenant) -> None:
    other = make_tenant("tenant_other")
    _log(other, 3)
    _log(tenant, 2)
    with receiver() as taken:
        make_stream(tenant, address=taken.url)
        _round()
        assert {item["tenant_id"] for item in _posted(taken)} == {tenant.pk}


def test_hostile_names_break_no_line(tenant: Tenant) -> None:
    evil = 'x|y=z\\ \n<14>1 fake "]\u202e'
    _log(tenant, 1, capability=CapabilityFacts(id=evil))
    with collecting() as collector:
        _syslog(tenant, collector.port, format="cef", contents="decisions")
        _round()
    assert len(collector.lines) == 1
    text = collector.lines[0].decode()
    assert "\n" not in text
    assert "y\\=z\\\\" in text
    assert "\u202e" not in text


def test_creating_needs_a_name_that_is_free(tenant: Tenant) -> None:
    make_stream(tenant)
    with pytest.raises(ValidationError):
        create_stream(
            tenant_id=tenant.pk,
            name="Splunk",
            transport="webhook",
            address="http://127.0.0.1:9/in",
            format="jsonl",
            actor=SYSTEM,
        )


def test_collectors_are_what_they_say() -> None:
    with collecting() as collector:
        assert isinstance(collector, Collector)
        assert collector.port
