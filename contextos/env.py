"""Reads the process environment once, typed and fail-fast; `NAME_FILE` may hold a secret."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

PRODUCTION_LIKE = ("production", "staging")
ENVIRONMENTS = ("production", "staging", "development", "workstation")
PROJECT_ROOT = Path(__file__).resolve().parent.parent


class EnvironmentProblem(Exception):  # noqa: N818  read as a sentence in one place
    """One or more variables can't be used; `lines` explains each in one sentence."""

    def __init__(self, lines: list[str]) -> None:
        self.lines = lines
        super().__init__("; ".join(lines))


@dataclass(frozen=True, slots=True)
class Variable:
    """One documented variable: `parse` turns its text into a value or raises ValueError."""

    name: str
    parse: Callable[[str], object]
    default: object
    doc: str
    secret: bool = False


def _text(raw: str) -> str:
    return raw


def _boolean(raw: str) -> bool:
    words = {"1": True, "true": True, "yes": True, "on": True}
    words |= {"0": False, "false": False, "no": False, "off": False}
    if raw.lower() not in words:
        raise ValueError("expected true or false")
    return words[raw.lower()]


def _words(raw: str) -> tuple[str, ...]:
    return tuple(word.strip() for word in raw.split(",") if word.strip())


def _path(raw: str) -> Path:
    return Path(raw).expanduser().resolve()


def _one_of(*choices: str) -> Callable[[str], str]:
    def parse(raw: str) -> str:
        if raw not in choices:
            raise ValueError(f"expected one of {', '.join(choices)}")
        return raw

    return parse


def _whole_number(raw: str) -> int:
    if not raw.isascii() or not raw.isdigit():
        raise ValueError("expected a whole number")
    return int(raw)


def _url(*schemes: str) -> Callable[[str], str]:
    def parse(raw: str) -> str:
        parts = urlsplit(raw)
        if parts.scheme not in schemes:
            raise ValueError(
                f"expected a URL starting with {' or '.join(s + '://' for s in schemes)}"
            )
        if parts.scheme != "sqlite" and not parts.hostname and not raw.startswith("postgresql:///"):
            raise ValueError("the URL names no host")
        _ = parts.port  # raises ValueError on a port that is no number
        return raw

    return parse


VARIABLES: tuple[Variable, ...] = (
    Variable(
        "CONTEXTOS_ENV",
        _one_of(*ENVIRONMENTS),
        "development",
        "Where this process runs. `production` and `staging` switch on the strict start-up checks.",
    ),
    Variable(
        "DATABASE_URL",
        _url("postgresql", "postgres", "sqlite"),
        None,
        "PostgreSQL in production. Absent: SQLite in the data directory, for trying out only.",
        secret=True,
    ),
    Variable(
        "REDIS_URL",
        _url("redis", "rediss", "unix"),
        None,
        "Celery's broker and the rate-limit store. Absent: the embedded worker, no broker.",
        secret=True,
    ),
    Variable(
        "CONTEXTOS_SECRET_KEY",
        _text,
        None,
        "Signs sessions and CSRF tokens; at least 32 bytes. Required in production.",
        secret=True,
    ),
    Variable(
        "CONTEXTOS_FIELD_KEYS",
        _words,
        None,
        "Comma-separated keys for encrypted columns: the first encrypts, all decrypt.",
        secret=True,
    ),
    Variable(
        "CONTEXTOS_KEYS_DIR",
        _path,
        None,
        "Folder of signing keys, one per purpose. Absent: `keys` in the data directory.",
    ),
    Variable(
        "CONTEXTOS_DATA_DIR",
        _path,
        PROJECT_ROOT / ".demo",
        "Folder for the embedded database and generated keys.",
    ),
    Variable(
        "CONTEXTOS_PUBLIC_URL",
        _url("http", "https"),
        "http://127.0.0.1:8000",
        "The address people and agents use; https in production.",
    ),
    Variable(
        "CONTEXTOS_LOG_ORIGIN",
        _text,
        None,
        "Names this installation in the checkpoints of its logs. Absent: the host of the public "
        "address. A log keeps the name it began with.",
    ),
    Variable(
        "CONTEXTOS_LOG_KEY_DIR",
        _path,
        None,
        "Folder of the private half of the log's key, for the sealer alone. Absent: with the other "
        "keys.",
    ),
    Variable(
        "CONTEXTOS_CHECKPOINTS_DIR",
        _path,
        None,
        "Where the sealer writes checkpoints, outside the database. Absent: `checkpoints` in the "
        "data directory. Best a place that the database's administrators can't write to.",
    ),
    Variable(
        "CONTEXTOS_CHECKPOINT_WEBHOOK",
        _url("https", "http"),
        None,
        "Gets the newest checkpoint of each log every few seconds, signed as Standard Webhooks.",
        secret=True,
    ),
    Variable(
        "CONTEXTOS_CHECKPOINT_WEBHOOK_SECRET",
        _text,
        None,
        "Signs those messages; at least 32 characters.",
        secret=True,
    ),
    Variable(
        "CONTEXTOS_CHECKPOINT_PUT_URL",
        _url("https", "http"),
        None,
        "Folder of an object store: each checkpoint becomes an object below it by `PUT`, never "
        "over another.",
        secret=True,
    ),
    Variable(
        "CONTEXTOS_CHECKPOINT_PUT_TOKEN",
        _text,
        None,
        "Bearer token for those objects, where the store asks for one.",
        secret=True,
    ),
    Variable(
        "CONTEXTOS_SEALING_LAG_SECONDS",
        _whole_number,
        10,
        "Records that wait longer than this for the sealer raise an alert.",
    ),
    Variable(
        "CONTEXTOS_ALLOWED_HOSTS",
        _words,
        ("127.0.0.1", "localhost", "[::1]"),
        "Host names this service answers to, comma separated.",
    ),
    Variable(
        "CONTEXTOS_TRUST_PROXY",
        _boolean,
        default=False,
        doc="Trust `X-Forwarded-Proto` and `X-Forwarded-For` from the proxy in front, which has to "
        "overwrite both and to drop headers with an underscore in their name.",
    ),
    Variable(
        "CONTEXTOS_EGRESS_PROXY",
        _url("http", "https"),
        None,
        "Outbound proxy for every call the gateway makes.",
        secret=True,
    ),
    Variable(
        "CONTEXTOS_LOG_LEVEL",
        _one_of("DEBUG", "INFO", "WARNING", "ERROR"),
        "INFO",
        "Log level.",
    ),
    Variable(
        "CONTEXTOS_LOG_FORMAT",
        _one_of("json", "console"),
        "json",
        "`json` for machines, `console` for people at a terminal.",
    ),
    Variable(
        "CONTEXTOS_METRICS_TOKEN",
        _text,
        None,
        "Bearer token that `/metrics` asks for. Absent: loopback callers only.",
        secret=True,
    ),
    Variable(
        "CONTEXTOS_LOGIN_FAILURE_LIMIT",
        _whole_number,
        5,
        "Failed sign-ins per person and address before a 15-minute lockout.",
    ),
    Variable(
        "CONTEXTOS_STATIC_ROOT",
        _path,
        None,
        "Where `collectstatic` puts files. Absent: `staticfiles` in the data directory.",
    ),
    Variable(
        "CONTEXTOS_EXPORTS_DIR",
        _path,
        None,
        "Where exports lie until they are fetched; web and worker need the same folder. Absent: "
        "`exports` in the data directory.",
    ),
    Variable(
        "CONTEXTOS_EXPORT_DAYS",
        _whole_number,
        7,
        "Days after which the file of an export is removed.",
    ),
    Variable(
        "CONTEXTOS_FUNCTION_MODULES",
        _words,
        (),
        "Python modules whose registered functions the runner may call, comma separated.",
    ),
    Variable(
        "CONTEXTOS_FUNCTION_ENVIRONMENT",
        _words,
        (),
        "Names of variables that functions may see; everything else is kept from them. "
        "Variables of this table are never passed on.",
    ),
    Variable(
        "CONTEXTOS_FUNCTION_RUNNERS",
        _whole_number,
        4,
        "How many functions run at once in one process; each has a child process of its own.",
    ),
    Variable(
        "CONTEXTOS_ADAPTER_AT_ONCE",
        _whole_number,
        8,
        "How many quick calls of one adapter run at once in one process; others are told to come "
        "back. Keep it below the number of threads, so that a slow adapter can't take them all.",
    ),
    Variable(
        "CONTEXTOS_CALL_WAITERS",
        _whole_number,
        4,
        "How many callers of one web process may wait for a call to end; others are told to come "
        "back. Keep it below the number of threads.",
    ),
    Variable(
        "CONTEXTOS_ASGI_CALL_WAITERS",
        _whole_number,
        500,
        "How many callers of one ASGI process may wait for a call to end; they hold no threads.",
    ),
    Variable(
        "CONTEXTOS_EMBEDDED_WORKERS",
        _whole_number,
        8,
        "How many calls the embedded worker makes at the same time.",
    ),
    Variable(
        "CONTEXTOS_EMAIL_HOST",
        _text,
        None,
        "Mail server. Absent: messages become files in `mail` of the data directory where a "
        "developer sits, and are not sent in production.",
    ),
    Variable("CONTEXTOS_EMAIL_PORT", _whole_number, 587, "Port of the mail server."),
    Variable(
        "CONTEXTOS_EMAIL_SECURITY",
        _one_of("starttls", "tls", "none"),
        "starttls",
        "How the way to the mail server is protected.",
    ),
    Variable("CONTEXTOS_EMAIL_USER", _text, None, "Name to sign in to the mail server with."),
    Variable("CONTEXTOS_EMAIL_PASSWORD", _text, None, "Password for the mail server.", secret=True),
    Variable(
        "CONTEXTOS_EMAIL_FROM",
        _text,
        "ContextOS <contextos@localhost>",
        "Sender of all messages.",
    ),
    Variable(
        "ADAPTER_JWT_SECRET",
        _text,
        None,
        "Clasper: signs adapter tokens; >= 32 bytes.",
        secret=True,
    ),
    Variable("CLASPER_MODE", _text, None, "Clasper: mode of the external-adapter surface."),
    Variable(
        "CLASPER_TELEMETRY_SIGNATURE_MODE",
        _one_of("off", "warn", "enforce"),
        "enforce",
        "Clasper: what an unsigned telemetry envelope meets.",
    ),
    Variable("CLASPER_TOOL_AUTH_MODE", _text, None, "Clasper: how sensitive tools are authorised."),
    Variable(
        "OTEL_EXPORTER_OTLP_ENDPOINT",
        _url("http", "https"),
        None,
        "OTLP collector for traces and metrics. Absent: nothing is exported.",
    ),
)


@dataclass(frozen=True, slots=True)
class Environment:
    """The parsed values by variable name."""

    values: Mapping[str, object]

    def text(self, name: str) -> str:
        """A variable that always has text."""
        return str(self.values[name])

    def optional(self, name: str) -> str | None:
        """A variable that may be absent."""
        value = self.values[name]
        return None if value is None else str(value)

    def flag(self, name: str) -> bool:
        """A true-or-false variable."""
        return bool(self.values[name])

    def number(self, name: str) -> int:
        """A whole number."""
        value = self.values[name]
        return value if isinstance(value, int) else 0

    def words(self, name: str) -> tuple[str, ...]:
        """A comma-separated list; empty when absent."""
        value = self.values[name]
        return value if isinstance(value, tuple) else ()

    def path(self, name: str) -> Path:
        """A folder that always has a value."""
        return Path(self.text(name))

    @property
    def name(self) -> str:
        """The environment this process runs in."""
        return self.text("CONTEXTOS_ENV")


def read_environment(source: Mapping[str, str] | None = None) -> Environment:
    """Parse every known variable or raise EnvironmentProblem with one line per fault."""
    origin = os.environ if source is None else source
    values: dict[str, object] = {}
    problems: list[str] = []
    for variable in VARIABLES:
        try:
            values[variable.name] = _value_of(variable, origin)
        except (ValueError, OSError) as fault:
            problems.append(_explain(variable, origin, fault))
    if problems:
        raise EnvironmentProblem(problems)
    return Environment(values)


def _value_of(variable: Variable, origin: Mapping[str, str]) -> object:
    direct, file_name = origin.get(variable.name), origin.get(f"{variable.name}_FILE")
    if direct and file_name:
        raise ValueError(f"set it or {variable.name}_FILE, not both")
    raw = (
        Path(file_name).read_text(encoding="utf-8").strip() if file_name else (direct or "").strip()
    )
    return variable.parse(raw) if raw else variable.default


def _explain(variable: Variable, origin: Mapping[str, str], fault: Exception) -> str:
    if isinstance(fault, OSError):
        return f"{variable.name}_FILE can't be read: {fault.strerror or fault}."
    shown = "" if variable.secret else f" (got {origin.get(variable.name)!r})"
    return f"{variable.name} is not usable{shown}: {fault}."


def settings_module() -> str:
    """The settings that fit CONTEXTOS_ENV, for entry points that were not told otherwise."""
    strict = os.environ.get("CONTEXTOS_ENV", "development") in PRODUCTION_LIKE
    return "contextos.settings.prod" if strict else "contextos.settings.dev"
