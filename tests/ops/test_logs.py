"""One log for everything, without secrets and without forged lines."""

from __future__ import annotations

import logging
from typing import Any

import pytest
import structlog
from structlog.stdlib import ProcessorFormatter

from contextos.logs import formatter
from tests.ops.capture import written_log

JWT = "eyJhbGciOiJFZERTQSJ9.eyJzdWIiOiJhZ2VudCJ9.c2lnbmF0dXJlLWJ5dGVz"
SECRETS: list[tuple[str, Any, str]] = [
    ("password", "hunter2-and-more", "hunter2"),
    ("authorization", f"Bearer {JWT}", JWT),
    ("headers", {"Authorization": "Basic dXNlcjpwYXNzd29yZA=="}, "dXNlcjpwYXNz"),
    ("cookie", "sessionid=abcdef0123456789", "abcdef0123456789"),
    ("token", "plain-looking", "plain-looking"),
    ("detail", f"sent {JWT} upstream", JWT),
    ("url", "postgresql://app:s3cr3t-pw@db/contextos", "s3cr3t-pw"),
    ("url", "redis://:s3cr3t-pw@cache:6379/0", "s3cr3t-pw"),
    ("note", "api_key=abc123def456", "abc123def456"),
    ("nested", {"deep": [{"client_secret": "very-private"}]}, "very-private"),
    ("raw", b"bytes-are-hidden", "bytes-are-hidden"),
]


@pytest.mark.parametrize(("key", "value", "secret"), SECRETS)
def test_no_secret_is_written_by_our_own_log(key: str, value: Any, secret: str) -> None:
    with written_log() as log:
        structlog.get_logger("contextos.test").info("something happened", **{key: value})
    assert len(log.records) == 1
    assert secret not in log.text


@pytest.mark.parametrize(
    "line",
    [
        f"Authorization: Bearer {JWT}",
        f"GET /callback?access_token={JWT}",
        "could not connect to postgresql://app:s3cr3t-pw@db/contextos",
        "login failed with password=s3cr3t-pw",
        "config {'client_secret': 's3cr3t-pw'}",
        "ValueError: password=s3cr3t-pw",
        "outer: inner: api_key=s3cr3t-pw",
    ],
)
def test_no_secret_is_written_by_a_library(line: str) -> None:
    with written_log() as log:
        logging.getLogger("some.library").warning("%s", line)
    assert len(log.records) == 1
    assert JWT not in log.text
    assert "s3cr3t-pw" not in log.text


def test_an_exception_is_logged_without_local_variables_and_without_secrets() -> None:
    def fail() -> None:
        local_treasure = "buried-under-the-tree"  # noqa: F841
        raise ValueError("refused password=s3cr3t-pw")

    with written_log() as log:
        try:
            fail()
        except ValueError:
            structlog.get_logger("contextos.test").exception("it failed")
    record = log.named("it failed")[0]
    assert "ValueError: refused password=" in record["exception"]
    assert "in fail" in record["exception"]
    assert "s3cr3t-pw" not in log.text
    assert "buried-under" not in log.text


@pytest.mark.parametrize("style", ["json", "console"])
def test_a_line_break_in_what_came_from_outside_makes_no_second_line(style: str) -> None:
    with written_log(style) as log:
        logging.getLogger("django.request").error("Not found: /x\r\n[error] forged \x1b[2J")
    assert len(log.text.splitlines()) == 1
    assert "\x1b[2J" not in log.text


def test_our_records_and_those_of_libraries_have_the_same_form() -> None:
    ids = structlog.contextvars.bound_contextvars(request_id="req_1", trace_id="t", span_id="s")
    with ids, written_log() as log:
        structlog.get_logger("contextos.test").warning("ours", count=1)
        logging.getLogger("celery.worker").warning("theirs %d", 2)
    ours, theirs = log.records
    common = {"event", "level", "logger", "timestamp", "request_id", "trace_id", "span_id"}
    assert set(ours) == common | {"count"}
    assert set(theirs) == common
    assert (theirs["event"], theirs["logger"], theirs["level"]) == (
        "theirs 2",
        "celery.worker",
        "warning",
    )


@pytest.mark.parametrize(
    "name", ["django", "django.server", "celery", "_granian", "granian.access"]
)
def test_no_library_keeps_a_handler_of_its_own(name: str) -> None:
    logger = logging.getLogger(name)
    assert logger.handlers == []
    assert logger.propagate


def test_text_that_json_can_hardly_carry_is_still_logged() -> None:
    with written_log() as log:
        structlog.get_logger("contextos.test").info("odd \udc80", number=2**80)
    assert "odd" in log.text
    assert str(2**80) in log.text


def test_a_record_that_cannot_be_judged_is_dropped_not_shown() -> None:
    class Broken:
        def __str__(self) -> str:
            raise RuntimeError("no text for you")

    with written_log() as log:
        structlog.get_logger("contextos.test").info("private words", thing=Broken())
    assert log.records[0]["event"] == "a log record was dropped: RuntimeError"
    assert "private words" not in log.text


def test_the_short_way_writes_a_plain_event_as_the_long_one_does() -> None:
    event = {"event": "asked", "token": JWT, "count": 3, "level": "info", "note": "a=b"}
    record = logging.LogRecord("x", logging.INFO, "", 0, event, None, None)
    vars(record).update(_logger=None, _name="info")
    ours = formatter("json")
    written = ours.format(record)
    assert JWT not in written
    assert written == ProcessorFormatter.format(ours, record)


def test_an_object_that_a_library_logs_is_a_text_and_loses_its_secrets() -> None:
    with written_log() as log:
        logging.getLogger("library").warning({"password": "hunter2", "size": 3})
    assert "hunter2" not in log.text
    assert isinstance(log.records[0]["event"], str)
