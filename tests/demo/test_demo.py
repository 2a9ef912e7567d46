"""The demo as its user meets it: it starts, tells how to use it, stops cleanly, explains faults."""

from __future__ import annotations

import json
import signal
import socket
import sqlite3
import stat
from pathlib import Path

import httpx
import pytest

from tests.demo.running import Demo, clean_environment, free_port, manage, start_demo
from tests.demo.waiting import begin_to_wait, waiting_url

pytestmark = pytest.mark.live


def test_the_ready_file_has_every_promised_field(demo: Demo) -> None:
    assert set(demo.ready) == {
        "url",
        "mcp_url",
        "tenant_id",
        "agent_token",
        "user_token",
        "user_id",
        "approver_tokens",
        "adapter_token",
        "users",
    }
    assert demo.ready["tenant_id"] == "tenant_acme_prod"
    assert set(demo.ready["approver_tokens"]) == {"fin1", "fin2"}
    people = {"admin", "author", "reviewer", "reviewer2", "fin1", "fin2", "auditor", "operator"}
    assert people <= set(demo.ready["users"])
    assert all(set(u) == {"password", "otp_secret"} for u in demo.ready["users"].values())


def test_files_with_secrets_are_readable_by_their_owner_only(demo: Demo) -> None:
    for name in ("ready.json", "demo-sign-ins.json", "keys/secret_key", "keys/field_keys"):
        assert stat.S_IMODE((demo.data_dir / name).stat().st_mode) == 0o600, name


def test_health_and_readiness_answer(demo: Demo) -> None:
    assert httpx.get(f"{demo.url}/healthz").status_code == 200
    assert httpx.get(f"{demo.url}/readyz").json()["status"] == "ready"


@pytest.mark.proves("C6")
def test_a_token_from_the_command_line_is_alone_on_the_first_line(demo: Demo) -> None:
    agent = ("--agent", "agent_support_refunds", "--tenant", "tenant_acme_prod")
    shown = manage("issue_token", *agent, "--ttl", "5m", "--data-dir", str(demo.data_dir))
    assert shown.returncode == 0, shown.stderr
    first = shown.stdout.splitlines()[0]
    assert first.count(".") == 2
    assert first == first.strip()


def test_the_database_is_the_promised_file_and_the_log_has_its_beginning(demo: Demo) -> None:
    with sqlite3.connect(demo.data_dir / "contextos.sqlite3") as database:
        actions = {row[0] for row in database.execute("select action from audit_auditevent")}
    assert {"identity.tenant.created", "identity.role.granted", "identity.token.issued"} <= actions


def test_a_busy_port_is_one_line_and_a_failure(demo: Demo, tmp_path: Path) -> None:
    port = demo.url.rsplit(":", 1)[1]
    refused = manage("demo", "--port", port, "--data-dir", str(tmp_path / "other"))
    assert refused.returncode == 2
    assert f"port {port} is in use" in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize("port", ["abc", "0", "70000", "-1", "８０００", ""])
def test_what_is_no_port_is_one_sentence(port: str, tmp_path: Path) -> None:
    refused = manage("demo", f"--port={port}", "--data-dir", str(tmp_path))
    assert refused.returncode == 2
    assert len(refused.stderr.strip().splitlines()) == 1
    assert "is not a port: choose 1 to 65535" in refused.stderr


def test_it_stops_cleanly_and_starts_again_with_the_same_people(tmp_path: Path) -> None:
    first = start_demo(tmp_path / "data")
    users = first.ready["users"]
    ports = [int(url.rsplit(":", 1)[1]) for url in (first.url, waiting_url(first))]
    with begin_to_wait(first) as waiting:
        assert first.stop(signal.SIGINT) == 0
        assert waiting.recv(64).startswith(b"HTTP/1.1 200")  # told how it stands, then let go
    assert not (tmp_path / "data" / "ready.json").exists()
    for port in ports:
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=2)
    second = start_demo(tmp_path / "data")
    assert second.ready["users"] == users
    assert second.stop() == 0


def test_killing_it_leaves_no_process_behind(tmp_path: Path) -> None:
    running = start_demo(tmp_path / "data")
    ports = [int(url.rsplit(":", 1)[1]) for url in (running.url, waiting_url(running))]
    running.process.kill()
    running.process.wait(timeout=10)
    for port in ports:
        _wait_until_closed(port)


def _wait_until_closed(port: int) -> None:
    for _ in range(200):
        probe = socket.socket()
        probe.settimeout(0.1)
        try:
            probe.connect(("127.0.0.1", port))
        except ConnectionRefusedError:
            return
        except TimeoutError:
            continue
        finally:
            probe.close()
    raise AssertionError("something still listens")


def test_a_data_directory_that_cannot_be_made_is_one_line() -> None:
    refused = manage("demo", "--port", str(free_port()), "--data-dir", "/proc/contextos")
    assert refused.returncode == 2
    assert "can't be written" in refused.stderr
    assert "choose a writable folder" in refused.stderr
    assert len(refused.stderr.strip().splitlines()) == 1


def test_a_file_as_data_directory_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    refused = manage("demo", "--data-dir", str(tmp_path / "file"))
    assert refused.returncode == 2
    assert refused.stderr.strip().endswith("is a file, not a folder.")


def test_commands_on_a_data_directory_that_does_not_exist_say_so(tmp_path: Path) -> None:
    refused = manage("demo_code", "admin", "--data-dir", str(tmp_path / "none"))
    assert refused.returncode == 2
    assert "does not exist" in refused.stderr


def test_a_folder_that_holds_no_installation_is_said_so_and_stays_as_it_is(tmp_path: Path) -> None:
    refused = manage("demo_code", "admin", "--data-dir", str(tmp_path), env=clean_environment())
    assert refused.returncode == 2
    assert "holds no installation" in refused.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_wrong_type_in_the_environment_is_one_line() -> None:
    refused = manage("check", env=clean_environment(CONTEXTOS_TRUST_PROXY="perhaps"))
    assert refused.returncode == 2
    assert refused.stderr.strip() == (
        "error: CONTEXTOS_TRUST_PROXY is not usable (got 'perhaps'): expected true or false."
    )


def test_the_greeting_says_who_everybody_is_and_what_they_do(demo: Demo) -> None:
    printed = (demo.data_dir.parent / "demo.log").read_text()
    assert "Fiona Clarke decides in the approvals queue whether money leaves" in printed
    assert all(f"    {name} " in printed for name in demo.ready["users"])


def test_the_printed_object_equals_the_ready_file(demo: Demo) -> None:
    printed = (demo.data_dir.parent / "demo.log").read_text()
    objects = [line for line in printed.splitlines() if line.startswith('{"url"')]
    assert json.loads(objects[-1]) == demo.ready


def test_a_command_on_a_database_without_tables_says_what_to_do(tmp_path: Path) -> None:
    refused = manage("create_keys", env=clean_environment(CONTEXTOS_DATA_DIR=str(tmp_path)))
    assert refused.returncode == 2
    assert refused.stderr.strip().endswith("run `manage.py migrate` first.")
    assert "Traceback" not in refused.stderr
