"""Each rule about the configuration, one by one."""

from __future__ import annotations

import secrets
from pathlib import Path
from typing import Any

import pytest
from django.core.checks import run_checks
from hypothesis import given
from hypothesis import strategies as st

from contextos.checks import TAG, all_messages
from contextos.core.fieldcrypt import generate_key
from contextos.core.keystore import FileKeyStore
from contextos.core.signing import KeyPurpose
from contextos.secret_strength import weakness_of


@pytest.fixture
def sound(settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Settings that production accepts."""
    keys = tmp_path / "keys"
    keys.mkdir(mode=0o700)
    for purpose in KeyPurpose:
        FileKeyStore(keys).ensure(purpose)
    settings.CONTEXTOS_ENV = "production"
    settings.SECRET_KEY = secrets.token_urlsafe(48)
    settings.FIELD_KEYS = (generate_key(),)
    settings.ADAPTER_JWT_SECRET = None
    settings.KEYS_DIR = keys
    monkeypatch.setitem(settings.DATABASES["default"], "ENGINE", "django.db.backends.postgresql")
    settings.PUBLIC_URL = "https://actions.acme.io"
    settings.ALLOWED_HOSTS = ["actions.acme.io"]
    settings.REDIS_URL = "redis://cache/0"
    settings.METRICS_TOKEN = secrets.token_urlsafe(32)
    settings.SESSION_COOKIE_SECURE = True
    settings.CSRF_COOKIE_SECURE = True
    settings.SECURE_SSL_REDIRECT = True
    settings.SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    return settings


def _ids() -> list[str]:
    return [message.id.removeprefix("contextos.") for message in all_messages() if message.id]


def test_sound_settings_have_no_findings(sound: Any) -> None:
    assert all_messages() == []


def test_django_runs_the_same_rules(sound: Any) -> None:
    sound.DEBUG = True
    assert [message.id for message in run_checks(tags=[TAG])] == ["contextos.E001"]


@pytest.mark.parametrize("environment", ["production", "staging"])
@pytest.mark.parametrize(
    ("name", "value", "finding"),
    [
        ("DEBUG", True, "E001"),
        ("SECRET_KEY", "", "E002"),
        ("SECRET_KEY", "k" * 60, "E002"),
        ("FIELD_KEYS", (), "E003"),
        ("FIELD_KEYS", ("abc",), "E003"),
        ("ADAPTER_JWT_SECRET", "x" * 31, "E004"),
        ("PUBLIC_URL", "http://actions.acme.io", "E008"),
        ("ALLOWED_HOSTS", ["*"], "E009"),
        ("ALLOWED_HOSTS", ["actions.acme.io", "*"], "E009"),
        ("ALLOWED_HOSTS", ["localhost", "127.0.0.1"], "E009"),
        ("ALLOWED_HOSTS", [], "E009"),
        ("REDIS_URL", None, "E010"),
        ("CONTEXTOS_EVENT_RECORDER", "audit.nowhere.record", "E011"),
        ("CONTEXTOS_EVENT_RECORDER", "contextos.__version__", "E011"),
        ("SESSION_COOKIE_SECURE", False, "E012"),
        ("METRICS_TOKEN", "token", "E014"),
        ("METRICS_TOKEN", None, "W002"),
        ("SECURE_PROXY_SSL_HEADER", None, "W003"),
    ],
)
def test_each_unsafe_setting_has_its_finding(
    sound: Any, environment: str, name: str, value: object, finding: str
) -> None:
    sound.CONTEXTOS_ENV = environment
    setattr(sound, name, value)
    assert _ids() == [finding]


def test_every_finding_says_what_to_do(sound: Any) -> None:
    sound.DEBUG, sound.REDIS_URL, sound.FIELD_KEYS = True, None, ()
    assert all(message.hint for message in all_messages())


def test_sqlite_is_an_error_in_production_and_a_warning_elsewhere(sound: Any) -> None:
    sound.DATABASES["default"]["ENGINE"] = "django.db.backends.sqlite3"
    assert _ids() == ["W001", "E007"]
    sound.CONTEXTOS_ENV = "development"
    assert _ids() == ["W001"]


def test_a_missing_key_is_named_by_its_purpose(sound: Any) -> None:
    (sound.KEYS_DIR / "tokens" / "active").unlink()
    assert _ids() == ["E005"]
    assert "tokens" in all_messages()[0].msg


def test_a_keys_folder_that_does_not_exist_is_reported(sound: Any, tmp_path: Path) -> None:
    sound.KEYS_DIR = tmp_path / "nowhere"
    assert set(_ids()) == {"E005"}


def test_keys_others_can_read_are_refused(sound: Any) -> None:
    key = next((sound.KEYS_DIR / "tokens").glob("*.key.pem"))
    key.chmod(0o644)
    assert _ids() == ["E006"]


def test_a_keys_folder_others_can_enter_is_refused(sound: Any) -> None:
    sound.KEYS_DIR.chmod(0o755)
    assert _ids() == ["E006"]


def test_the_log_key_may_lie_elsewhere(sound: Any) -> None:
    (sound.KEYS_DIR / "log" / "active").unlink()
    assert all_messages() == []


def test_one_secret_for_two_purposes_is_refused(sound: Any) -> None:
    sound.ADAPTER_JWT_SECRET = sound.SECRET_KEY
    assert _ids() == ["E013"]


@pytest.mark.parametrize(
    "secret",
    [
        "",
        "short",
        "x" * 31,
        "x" * 64,
        "abcdefgh" * 8,
        "0123456789abcdef" * 4,
        "abcdefghijklmnopqrstuvwxyz0123456789",
        "django-insecure-3f9k2-q8w7e6r5t4y3u2i1o0p",
        "changeme-changeme-with-more-text-9182",
        "this-is-my-production-SECRET-key-4711",
        "contextos-example-key-for-the-readme-1",
        "p4ssw0rd-Passw0rd-93jf83hf83hf83hf83h",
    ],
)
def test_weak_secrets_are_told_apart(secret: str) -> None:
    assert weakness_of(secret) is not None


@given(st.binary(min_size=32, max_size=48))
def test_only_what_was_drawn_is_strong(noise: bytes) -> None:
    drawn = secrets.token_urlsafe(32)
    assert weakness_of(drawn) is None
    assert weakness_of(noise.hex()[:31]) is not None


def test_drawn_hex_keys_are_strong_too() -> None:
    assert all(weakness_of(secrets.token_hex(32)) is None for _ in range(200))
