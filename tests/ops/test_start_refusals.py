"""A bad environment stops every entry point with one line per fault and no traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.ops.environment import bare_environment, manage, production_environment, run

pytestmark = pytest.mark.live

SPOILED: list[tuple[dict[str, str], str]] = [
    ({"CONTEXTOS_SECRET_KEY": ""}, "contextos.E002"),
    ({"CONTEXTOS_SECRET_KEY": "django-insecure-" + "k3J9" * 12}, "contextos.E002"),
    ({"CONTEXTOS_FIELD_KEYS": "short"}, "contextos.E003"),
    ({"ADAPTER_JWT_SECRET": "changeme"}, "contextos.E004"),
    ({"CONTEXTOS_KEYS_DIR": "/nonexistent/keys"}, "contextos.E005"),
    ({"DATABASE_URL": ""}, "contextos.E007"),
    ({"CONTEXTOS_PUBLIC_URL": "http://actions.acme.io"}, "contextos.E008"),
    ({"CONTEXTOS_ALLOWED_HOSTS": "*"}, "contextos.E009"),
    ({"REDIS_URL": ""}, "contextos.E010"),
    ({"DJANGO_SETTINGS_MODULE": "tests.ops.debug_settings"}, "contextos.E001"),
    ({"DJANGO_SETTINGS_MODULE": "contextos.settings.dev"}, "contextos.E012"),
]
MISTYPED: list[tuple[dict[str, str], str]] = [
    ({"CONTEXTOS_ENV": "prod"}, "CONTEXTOS_ENV"),
    ({"CONTEXTOS_TRUST_PROXY": "maybe"}, "CONTEXTOS_TRUST_PROXY"),
    ({"CONTEXTOS_LOGIN_FAILURE_LIMIT": "five"}, "CONTEXTOS_LOGIN_FAILURE_LIMIT"),
    ({"DATABASE_URL": "mysql://db/x"}, "DATABASE_URL"),
    ({"CONTEXTOS_SECRET_KEY_FILE": "/nonexistent/secret"}, "CONTEXTOS_SECRET_KEY_FILE"),
]


def test_a_sound_production_environment_passes(tmp_path: Path) -> None:
    outcome = run(manage("check"), production_environment(tmp_path))
    assert outcome.returncode == 0, outcome.stderr
    assert "no issues" in outcome.stdout


@pytest.mark.parametrize(("spoiled", "finding"), SPOILED)
def test_check_refuses_an_unsafe_production(
    tmp_path: Path, spoiled: dict[str, str], finding: str
) -> None:
    environment = production_environment(tmp_path) | spoiled
    outcome = run(manage("check"), environment)
    assert outcome.returncode != 0
    assert finding in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize(("mistyped", "name"), MISTYPED)
def test_a_value_of_the_wrong_type_is_named_in_one_line(
    tmp_path: Path, mistyped: dict[str, str], name: str
) -> None:
    environment = bare_environment() | {"CONTEXTOS_DATA_DIR": str(tmp_path)} | mistyped
    outcome = run(manage("check"), environment)
    assert outcome.returncode == 2
    assert outcome.stderr.startswith("error: ")
    assert name in outcome.stderr
    assert len(outcome.stderr.splitlines()) == 1


def test_a_secret_is_not_repeated_when_it_is_refused(tmp_path: Path) -> None:
    environment = production_environment(tmp_path) | {
        "CONTEXTOS_SECRET_KEY": "tiny-but-mine",
        "CONTEXTOS_FIELD_KEYS": "tiny-but-mine-too",
        "DATABASE_URL": "mysql://app:tiny-but-mine@db/x",
    }
    outcome = run(manage("check"), environment)
    assert outcome.returncode != 0
    assert "tiny-but-mine" not in outcome.stderr + outcome.stdout


@pytest.mark.parametrize("entry", ["wsgi", "asgi"])
def test_a_server_that_runs_no_checks_is_refused_as_well(tmp_path: Path, entry: str) -> None:
    environment = production_environment(tmp_path) | {"REDIS_URL": "", "DATABASE_URL": ""}
    outcome = run(["-c", f"import contextos.{entry}"], environment)
    assert outcome.returncode == 2
    lines = outcome.stderr.splitlines()
    assert [line.split(")")[0] for line in lines] == [
        "error: (contextos.E007",
        "error: (contextos.E010",
    ]


def test_serve_refuses_an_unsafe_production(tmp_path: Path) -> None:
    environment = production_environment(tmp_path) | {"REDIS_URL": ""}
    outcome = run(manage("serve", "--port", "0"), environment)
    assert outcome.returncode == 2
    assert "contextos.E010" in outcome.stderr
    assert "Traceback" not in outcome.stderr


@pytest.mark.parametrize("role", ["worker", "beat"])
def test_celery_without_redis_is_refused_with_one_line(tmp_path: Path, role: str) -> None:
    environment = bare_environment() | {"CONTEXTOS_DATA_DIR": str(tmp_path)}
    schedule = ["--schedule", str(tmp_path / "beat")] if role == "beat" else []
    outcome = run(["-m", "celery", "-A", "contextos.celery", role, *schedule], environment)
    assert outcome.returncode == 2
    assert "error: REDIS_URL is missing." in outcome.stderr
    assert "Traceback" not in outcome.stderr


def test_celery_in_an_unsafe_production_is_refused(tmp_path: Path) -> None:
    environment = production_environment(tmp_path) | {"CONTEXTOS_ALLOWED_HOSTS": "*"}
    outcome = run(["-m", "celery", "-A", "contextos.celery", "worker"], environment)
    assert outcome.returncode == 2
    assert "contextos.E009" in outcome.stderr
