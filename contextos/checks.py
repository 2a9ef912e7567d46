"""System checks: what makes a configuration unsafe, each with an id and a plain hint."""

from __future__ import annotations

import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.checks import CheckMessage, Error, register
from django.core.checks import Warning as Caution
from django.core.exceptions import ImproperlyConfigured
from django.utils.module_loading import import_string

from contextos.core.errors import ContextOSError
from contextos.core.fieldcrypt import FieldCipher
from contextos.core.keystore import FileKeyStore
from contextos.core.signing import KeyPurpose
from contextos.env import PRODUCTION_LIKE
from contextos.secret_strength import HINT, weakness_of

TAG = "contextos"
_LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "[::1]", "::1", ".localhost"})
_FOR_OTHERS = stat.S_IRWXG | stat.S_IRWXO
# The log's key may lie with the sealer alone; every other purpose is signed by any process.
_KEYS_NEEDED = tuple(purpose for purpose in KeyPurpose if purpose is not KeyPurpose.LOG)
_CREATE_KEYS = "Create it with `manage.py create_keys`, or mount the folder of CONTEXTOS_KEYS_DIR."

Findings = Iterator[CheckMessage]


@register(TAG)
def check_configuration(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """The entry Django calls: every finding about the present settings."""
    return all_messages()


def all_messages() -> list[CheckMessage]:
    """Every finding, for callers that are not `manage.py check`."""
    rules = list(_ALWAYS)
    if settings.CONTEXTOS_ENV in PRODUCTION_LIKE:
        rules += _STRICT
    return [finding for rule in rules for finding in rule()]


def _secret_key() -> str:
    try:
        return str(settings.SECRET_KEY)
    except ImproperlyConfigured:  # Django refuses to hand out an empty one
        return ""


def _debug_is_off() -> Findings:
    if settings.DEBUG:
        yield Error(
            f"DEBUG is on in {settings.CONTEXTOS_ENV}.",
            hint="Use contextos.settings.prod: unset DJANGO_SETTINGS_MODULE.",
            id="contextos.E001",
        )


def _secret_key_is_strong() -> Findings:
    weakness = weakness_of(_secret_key())
    if weakness:
        yield Error(f"CONTEXTOS_SECRET_KEY {weakness}.", hint=HINT, id="contextos.E002")


def _field_keys_are_strong() -> Findings:
    weaknesses = [weakness_of(key) for key in settings.FIELD_KEYS] or ["is missing"]
    for weakness in filter(None, weaknesses):
        yield Error(f"A key in CONTEXTOS_FIELD_KEYS {weakness}.", hint=HINT, id="contextos.E003")
    if not any(weaknesses):
        yield from _field_keys_can_encrypt()


def _field_keys_can_encrypt() -> Findings:
    try:
        FieldCipher(tuple(settings.FIELD_KEYS))
    except ContextOSError as fault:
        yield Error(
            f"CONTEXTOS_FIELD_KEYS can't be used: {fault.message}",
            hint=fault.remediation,
            id="contextos.E003",
        )


def _adapter_secret_is_strong() -> Findings:
    secret = settings.ADAPTER_JWT_SECRET
    weakness = weakness_of(secret) if secret else None
    if weakness:
        yield Error(f"ADAPTER_JWT_SECRET {weakness}.", hint=HINT, id="contextos.E004")


def _signing_keys_are_usable() -> Findings:
    store = FileKeyStore(Path(settings.KEYS_DIR))
    for purpose in _KEYS_NEEDED:
        try:
            store.signer(purpose)
        except ContextOSError as fault:
            yield _key_finding(purpose, fault)
        except OSError as fault:
            yield Error(
                f"The {purpose} key in {settings.KEYS_DIR} can't be read: {fault.strerror}.",
                hint="Let the user this process runs as own the folder and its files.",
                id="contextos.E005",
            )


def _key_finding(purpose: KeyPurpose, fault: ContextOSError) -> Error:
    missing = fault.code == "signing.key_missing"
    return Error(
        f"The {purpose} key in {settings.KEYS_DIR}: {fault.message}",
        hint=_CREATE_KEYS if missing else fault.remediation,
        id="contextos.E006" if fault.code == "signing.key_exposed" else "contextos.E005",
    )


def _keys_folder_is_private() -> Findings:
    folder = Path(settings.KEYS_DIR)
    if folder.is_dir() and folder.stat().st_mode & _FOR_OTHERS:
        yield Error(
            f"The keys folder {folder} is open to other users of this machine.",
            hint="Set it to mode 0700.",
            id="contextos.E006",
        )


def _database_is_not_sqlite() -> Findings:
    if _uses_sqlite():
        yield Error(
            f"SQLite can't carry {settings.CONTEXTOS_ENV}.",
            hint="Set DATABASE_URL to a PostgreSQL database.",
            id="contextos.E007",
        )


def _public_url_is_https() -> Findings:
    if not settings.PUBLIC_URL.startswith("https://"):
        yield Error(
            "CONTEXTOS_PUBLIC_URL does not start with https://.",
            hint="Tokens and sessions travel over this address; put TLS in front of it.",
            id="contextos.E008",
        )


def _hosts_are_named() -> Findings:
    hosts = set(settings.ALLOWED_HOSTS)
    if "*" in hosts:
        problem = "CONTEXTOS_ALLOWED_HOSTS lets every host name through (*)."
    elif not hosts - _LOOPBACK_HOSTS:
        problem = "CONTEXTOS_ALLOWED_HOSTS names only this machine itself."
    else:
        return
    hint = "Name the hosts people and agents use, such as that of CONTEXTOS_PUBLIC_URL."
    yield Error(problem, hint=hint, id="contextos.E009")


def _redis_is_set() -> Findings:
    if not settings.REDIS_URL:
        yield Error(
            "REDIS_URL is missing.",
            hint="Workers get their jobs and limits are counted through Redis; name one.",
            id="contextos.E010",
        )


def _events_can_be_recorded() -> Findings:
    path = settings.CONTEXTOS_EVENT_RECORDER
    try:
        usable = callable(import_string(path))
    except ImportError:
        usable = False
    if not usable:
        yield Error(
            f"CONTEXTOS_EVENT_RECORDER names {path!r}, which can't be called.",
            hint="Name the service that writes audit events: audit.services.record_event.",
            id="contextos.E011",
        )


def _cookies_need_https() -> Findings:
    names = ("SESSION_COOKIE_SECURE", "CSRF_COOKIE_SECURE", "SECURE_SSL_REDIRECT")
    missing = [name for name in names if not getattr(settings, name)]
    if missing:
        yield Error(
            f"{', '.join(missing)} must be on in {settings.CONTEXTOS_ENV}.",
            hint="Use contextos.settings.prod: unset DJANGO_SETTINGS_MODULE.",
            id="contextos.E012",
        )


def _secrets_differ() -> Findings:
    secrets = [_secret_key(), *settings.FIELD_KEYS, settings.ADAPTER_JWT_SECRET]
    given = [secret for secret in secrets if secret]
    if len(set(given)) != len(given):
        yield Error(
            "The same secret is used for two purposes.",
            hint="Draw each secret by itself, so that one that leaks can't do another's work.",
            id="contextos.E013",
        )


def _metrics_token_is_strong() -> Findings:
    token = settings.METRICS_TOKEN
    if not token:
        yield Caution(
            "CONTEXTOS_METRICS_TOKEN is missing: /metrics answers loopback callers only.",
            hint="Set it when the scraper runs elsewhere.",
            id="contextos.W002",
        )
    elif weakness_of(token):
        yield Error(
            f"CONTEXTOS_METRICS_TOKEN {weakness_of(token)}.", hint=HINT, id="contextos.E014"
        )


def _proxy_is_known() -> Findings:
    if getattr(settings, "SECURE_PROXY_SSL_HEADER", None) is None:
        yield Caution(
            "CONTEXTOS_TRUST_PROXY is off, so a request through a TLS proxy looks like plain HTTP "
            "and is redirected for ever.",
            hint="Set it to true when a proxy that overwrites X-Forwarded-Proto and "
            "X-Forwarded-For, and drops headers with an underscore, stands in front.",
            id="contextos.W003",
        )


def _sqlite_is_pointed_out() -> Findings:
    if _uses_sqlite():
        yield Caution(
            "The database is SQLite, which is for trying out only.",
            hint="Set DATABASE_URL to a PostgreSQL database for real work.",
            id="contextos.W001",
        )


def _uses_sqlite() -> bool:
    return str(settings.DATABASES["default"]["ENGINE"]).endswith("sqlite3")


_ALWAYS: tuple[Callable[[], Findings], ...] = (_events_can_be_recorded, _sqlite_is_pointed_out)
_STRICT: tuple[Callable[[], Findings], ...] = (
    _debug_is_off,
    _secret_key_is_strong,
    _field_keys_are_strong,
    _adapter_secret_is_strong,
    _signing_keys_are_usable,
    _keys_folder_is_private,
    _database_is_not_sqlite,
    _public_url_is_https,
    _hosts_are_named,
    _redis_is_set,
    _cookies_need_https,
    _secrets_differ,
    _metrics_token_is_strong,
    _proxy_is_known,
)
