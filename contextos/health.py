"""Answers whether the process lives (/healthz) and whether it can do its work (/readyz)."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from pathlib import Path

import structlog
from django.conf import settings
from django.contrib.staticfiles import finders
from django.db import DatabaseError, connection
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_safe

from contextos.core.errors import ContextOSError
from contextos.core.keystore import FileKeyStore
from contextos.core.signing import KeyPurpose

log = structlog.get_logger(__name__)


class NotReadyError(Exception):
    """One part can't do its work; the text is safe to show to anybody."""


@never_cache
@require_safe
def healthz(request: HttpRequest) -> HttpResponse:
    """The process answers; nothing else is asked, so that a slow database restarts nobody."""
    return JsonResponse({"status": "ok"})


@never_cache
@require_safe
def readyz(request: HttpRequest) -> HttpResponse:
    """Every part this process needs, one line each; 503 when one fails."""
    parts = {name: _state(name, probe) for name, probe in _PROBES.items()}
    ready = all(state in {"ok", "not configured"} for state in parts.values())
    body = {"status": "ready" if ready else "not ready", "parts": parts}
    return JsonResponse(body, status=200 if ready else 503)


def _state(name: str, probe: Callable[[], str]) -> str:
    try:
        return probe()
    except NotReadyError as reason:
        log.warning("not ready", part=name, reason=str(reason))
        return str(reason)


def _database() -> str:
    try:
        with connection.cursor() as cursor:
            cursor.execute("SELECT 1")
    except DatabaseError as fault:
        raise NotReadyError("unreachable") from fault
    return "ok"


def _migrations() -> str:
    try:
        applied = set(MigrationRecorder(connection).applied_migrations())
    except DatabaseError as fault:
        raise NotReadyError("unknown: the database is unreachable") from fault
    missing = [name for name, others in _migrations_on_disk().items() if not applied & others]
    if missing:
        raise NotReadyError(f"{len(missing)} not applied: run manage.py migrate")
    return "ok"


@cache
def _migrations_on_disk() -> dict[tuple[str, str], set[tuple[str, str]]]:
    """Each migration, with the names under which its work may stand as done; read once.

    A squashed migration counts as done with the last one it replaces, and the other way round.
    """
    disk = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    done_as = {name: {name} for name in disk}
    for name, migration in disk.items():
        for replaced in migration.replaces:
            done_as.setdefault(replaced, {replaced}).add(name)
        if migration.replaces:
            done_as[name].add(migration.replaces[-1])
    return done_as


def _signing_keys() -> str:
    try:
        FileKeyStore(Path(settings.KEYS_DIR)).signer(KeyPurpose.TOKENS)
    except ContextOSError as fault:
        raise NotReadyError(f"{fault.code}: {fault.remediation}") from fault
    except OSError as fault:
        raise NotReadyError("the keys folder can't be read") from fault
    return "ok"


def _redis() -> str:
    if not settings.REDIS_URL:
        return "not configured"
    import redis

    client = redis.Redis.from_url(settings.REDIS_URL, socket_timeout=1, socket_connect_timeout=1)
    try:
        client.ping()
    except redis.RedisError as fault:
        raise NotReadyError("unreachable") from fault
    finally:
        client.close()
    return "ok"


def _static_files() -> str:
    if getattr(settings, "WHITENOISE_USE_FINDERS", False):
        found = finders.find("admin/css/base.css") is not None
    else:
        found = (Path(settings.STATIC_ROOT) / "staticfiles.json").is_file()
    if not found:
        raise NotReadyError("missing: run manage.py collectstatic")
    return "ok"


_PROBES: dict[str, Callable[[], str]] = {
    "database": _database,
    "migrations": _migrations,
    "signing_keys": _signing_keys,
    "redis": _redis,
    "static_files": _static_files,
}
