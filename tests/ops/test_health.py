"""/healthz answers always; /readyz says what is missing and keeps secrets."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import pytest
from django.db import OperationalError, connection
from django.test import Client

from contextos.core.keystore import FileKeyStore
from contextos.core.signing import KeyPurpose


@pytest.fixture(autouse=True)
def keys(settings: Any, tmp_path: Path) -> Path:
    settings.KEYS_DIR = tmp_path / "keys"
    settings.REDIS_URL = None
    FileKeyStore(settings.KEYS_DIR).ensure(KeyPurpose.TOKENS)
    return tmp_path / "keys"


@pytest.fixture
def database_down() -> Iterator[None]:
    failure = OperationalError("connection to server at 10.0.0.9 failed for user boss")
    with mock.patch.object(connection, "ensure_connection", side_effect=failure):
        connection.close()
        yield


def test_a_live_process_says_so_without_the_database() -> None:
    response = Client().get("/healthz")
    assert (response.status_code, response.json()) == (200, {"status": "ok"})


def test_probes_are_answered_under_any_host_name() -> None:
    assert Client().get("/healthz", headers={"host": "10.1.2.3:8000"}).status_code == 200
    assert Client().get("/api/schema", headers={"host": "10.1.2.3:8000"}).status_code == 400


def test_probes_are_not_redirected_to_https(settings: Any) -> None:
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_REDIRECT_EXEMPT = [r"^healthz$", r"^readyz$", r"^metrics$"]
    assert Client().get("/healthz").status_code == 200


@pytest.mark.django_db
def test_a_process_with_all_its_parts_is_ready() -> None:
    response = Client().get("/readyz")
    assert response.json() == {
        "status": "ready",
        "parts": {
            "database": "ok",
            "migrations": "ok",
            "signing_keys": "ok",
            "redis": "not configured",
            "static_files": "ok",
        },
    }
    assert response.status_code == 200


def _part(name: str) -> str:
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert response.json()["status"] == "not ready"
    return str(response.json()["parts"][name])


@pytest.mark.django_db(transaction=True)
def test_a_lost_database_is_told_without_its_address(database_down: None) -> None:
    response = Client().get("/readyz")
    assert response.status_code == 503
    assert response.json()["parts"]["database"] == "unreachable"
    assert "boss" not in response.content.decode()
    assert "10.0.0.9" not in response.content.decode()
    assert Client().get("/healthz").status_code == 200


@pytest.mark.django_db
def test_migrations_left_to_run_are_counted() -> None:
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM django_migrations WHERE app = 'sessions'")
    assert _part("migrations").startswith("1 not applied")


@pytest.mark.django_db
def test_a_missing_key_is_told_with_its_remedy(keys: Path) -> None:
    (keys / "tokens" / "active").unlink()
    assert _part("signing_keys").startswith("signing.key_missing")


@pytest.mark.django_db
def test_a_redis_that_does_not_answer_is_told_without_its_password(settings: Any) -> None:
    settings.REDIS_URL = "redis://:s3cr3t@127.0.0.1:1/0"
    response = Client().get("/readyz")
    assert response.json()["parts"]["redis"] == "unreachable"
    assert "s3cr3t" not in response.content.decode()


@pytest.mark.django_db
def test_files_that_were_not_collected_are_told(settings: Any, tmp_path: Path) -> None:
    settings.WHITENOISE_USE_FINDERS = False
    settings.STATIC_ROOT = tmp_path
    assert _part("static_files").startswith("missing")


def test_probes_take_no_other_method() -> None:
    assert Client().post("/healthz").status_code == 405
