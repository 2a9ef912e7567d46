"""Settings shared by every environment; values come from contextos.env and nowhere else."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import dj_database_url
import django_stubs_ext
from celery.schedules import crontab
from django.urls import reverse_lazy
from kombu import Queue

from contextos.adminkit.theme import UNFOLD as UNFOLD
from contextos.env import PROJECT_ROOT, read_environment

django_stubs_ext.monkeypatch()  # lets ModelForm[X] and the like stand in code that runs

ENV = read_environment()

BASE_DIR = PROJECT_ROOT
CONTEXTOS_ENV = ENV.name
DATA_DIR = ENV.path("CONTEXTOS_DATA_DIR")


def _folder(variable: str, usual: str) -> Path:
    return ENV.path(variable) if ENV.optional(variable) else DATA_DIR / usual


KEYS_DIR = _folder("CONTEXTOS_KEYS_DIR", "keys")
PUBLIC_URL = ENV.text("CONTEXTOS_PUBLIC_URL").rstrip("/")

DEBUG = False
SECRET_KEY = ENV.optional("CONTEXTOS_SECRET_KEY") or ""
FIELD_KEYS: tuple[str, ...] = ENV.words("CONTEXTOS_FIELD_KEYS")
ALLOWED_HOSTS = list(ENV.words("CONTEXTOS_ALLOWED_HOSTS"))
CSRF_TRUSTED_ORIGINS = [PUBLIC_URL]

# --- applications ----------------------------------------------------------------------------
INSTALLED_APPS = [
    "contextos.apps.ContextOSConfig",
    "contextos.adminkit.apps.AdminKitConfig",
    "unfold.apps.BasicAppConfig",  # the plain "unfold" would put its own site before ours
    "unfold.contrib.filters",
    "unfold.contrib.forms",
    "unfold.contrib.guardian",
    "contextos.apps.ContextOSAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "guardian",
    "django_otp",
    "axes",
    "rest_framework",
    "django_filters",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "contextos.identity.apps.IdentityConfig",
    "audit.apps.AuditConfig",
    "contextos.review.apps.ReviewConfig",
    "registry.apps.RegistryConfig",
    "approvals.apps.ApprovalsConfig",
    "gateway.apps.GatewayConfig",
]

MIDDLEWARE = [
    "contextos.middleware.RequestContextMiddleware",
    "contextos.rest_lane.RestLaneMiddleware",  # REST goes no further than here
    "django.middleware.security.SecurityMiddleware",
    "contextos.middleware.SecurityHeadersMiddleware",
    "contextos.middleware.ProbeMiddleware",
    "contextos.middleware.BodyLimitMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "contextos.page_middleware.PageSessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "contextos.page_middleware.PageAuthenticationMiddleware",
    "django_otp.middleware.OTPMiddleware",
    "contextos.page_middleware.PageTenantMiddleware",
    "contextos.page_middleware.PageMessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "axes.middleware.AxesMiddleware",
    "audit.middleware.AuditorLooksMiddleware",
]
REST_MIDDLEWARE = ["audit.middleware.AuditorLooksMiddleware"]

ROOT_URLCONF = "contextos.urls"
WSGI_APPLICATION = "contextos.wsgi.application"
APPEND_SLASH = True  # the admin's own pages; API paths have none and never redirect

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [BASE_DIR / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

# --- database --------------------------------------------------------------------------------
SQLITE_OPTIONS: dict[str, Any] = {
    "transaction_mode": "IMMEDIATE",
    "timeout": 20,
    # secure_delete: what was erased is overwritten, not only unlinked from its page.
    "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA foreign_keys=ON; "
    "PRAGMA secure_delete=ON;",
}


def _database() -> dict[str, Any]:
    url = ENV.optional("DATABASE_URL") or f"sqlite:///{DATA_DIR / 'contextos.sqlite3'}"
    config: dict[str, Any] = dict(dj_database_url.parse(url, conn_max_age=600))
    if config["ENGINE"].endswith("sqlite3"):
        config["OPTIONS"] = SQLITE_OPTIONS
    else:
        config["ENGINE"] = "contextos.postgresql"
        config["CONN_HEALTH_CHECKS"] = True
        # The few statements of a governed call are planned once a connection. A pooler that hands
        # connections out per transaction must know prepared statements (PgBouncer 1.21 does).
        config.setdefault("OPTIONS", {}).setdefault("prepare_threshold", 1)
    return config


DATABASES = {"default": _database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
REDIS_URL = ENV.optional("REDIS_URL")

# --- people ----------------------------------------------------------------------------------
AUTH_USER_MODEL = "identity.User"
AUTHENTICATION_BACKENDS = [
    "axes.backends.AxesStandaloneBackend",
    "contextos.identity.backends.MembershipBackend",
    "guardian.backends.ObjectPermissionBackend",
]
# Scrypt wants memory as well as time of who guesses, and a third of the time of who signs in.
PASSWORD_HASHERS = [
    "django.contrib.auth.hashers.ScryptPasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
    {
        "NAME": "django.contrib.auth.password_validation.MinimumLengthValidator",
        "OPTIONS": {"min_length": 12},
    },
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.NumericPasswordValidator"},
]
LOGIN_URL = reverse_lazy("admin:login")
LOGIN_REDIRECT_URL = reverse_lazy("admin:index")
ANONYMOUS_USER_NAME = None  # guardian would otherwise create a person nobody asked for
OTP_TOTP_ISSUER = "ContextOS"
TOKEN_ISSUER = "contextos"  # noqa: S105  names us in tokens; stays when the address changes

AXES_FAILURE_LIMIT = ENV.number("CONTEXTOS_LOGIN_FAILURE_LIMIT")
AXES_COOLOFF_TIME = 0.25  # hours
AXES_LOCKOUT_PARAMETERS = [["username", "ip_address"]]
AXES_LOCKOUT_CALLABLE = "contextos.adminkit.login.locked_out"
AXES_RESET_ON_SUCCESS = True
AXES_VERBOSE = False
AXES_DISABLE_ACCESS_LOG = True

SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
SESSION_COOKIE_AGE = 8 * 3600
SESSION_EXPIRE_AT_BROWSER_CLOSE = True
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_FAILURE_VIEW = "contextos.error_pages.csrf_failed"
X_FRAME_OPTIONS = "DENY"
SECURE_CONTENT_TYPE_NOSNIFF = True
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
DATA_UPLOAD_MAX_MEMORY_SIZE = 6 * 1024 * 1024
REQUEST_BODY_LIMIT = 12 * 1024 * 1024  # fields and one uploaded manifest, whoever sends them

# Unfold's Alpine evaluates strings and sets inline styles; nothing else is let through.
CONTENT_SECURITY_POLICY = (
    "default-src 'self'; img-src 'self' data:; style-src 'self' 'unsafe-inline'; "
    "script-src 'self' 'unsafe-eval'; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'none'"
)

# --- upward wires: the callables a lower layer may call without importing it (docs/adr/0003) --
CONTEXTOS_EVENT_RECORDER = "audit.services.record_event"
# (approval_id): approvals tells the owner of a subject that its request was decided.
CONTEXTOS_APPROVAL_WAKER = "gateway.resume.approval_decided"
# (tenant_id, count) -> registry.recorded_inputs.RecordedInput, newest first; empty = none are kept.
CONTEXTOS_POLICY_INPUTS_PROVIDER = "gateway.policy_history.recorded_policy_inputs"

# --- the log ---------------------------------------------------------------------------------
# Names this installation in every checkpoint; a log keeps the name it began with.
LOG_ORIGIN = ENV.optional("CONTEXTOS_LOG_ORIGIN") or PUBLIC_URL.partition("://")[2]
# The private half of the log's key may lie where the sealer alone can see it.
LOG_KEY_DIR = ENV.path("CONTEXTOS_LOG_KEY_DIR") if ENV.optional("CONTEXTOS_LOG_KEY_DIR") else None
# Where checkpoints are kept outside the database: always as files, and wherever else is named.
CHECKPOINTS_DIR = _folder("CONTEXTOS_CHECKPOINTS_DIR", "checkpoints")
CHECKPOINT_WEBHOOK = ENV.optional("CONTEXTOS_CHECKPOINT_WEBHOOK")
CHECKPOINT_WEBHOOK_SECRET = ENV.optional("CONTEXTOS_CHECKPOINT_WEBHOOK_SECRET")
CHECKPOINT_PUT_URL = ENV.optional("CONTEXTOS_CHECKPOINT_PUT_URL")
CHECKPOINT_PUT_TOKEN = ENV.optional("CONTEXTOS_CHECKPOINT_PUT_TOKEN")
# Records that wait longer than this for the sealer are an alert.
SEALING_LAG_ALERT_SECONDS = ENV.number("CONTEXTOS_SEALING_LAG_SECONDS")

# --- exports ---------------------------------------------------------------------------------
EXPORTS_DIR = _folder("CONTEXTOS_EXPORTS_DIR", "exports")
EXPORT_DAYS = ENV.number("CONTEXTOS_EXPORT_DAYS")

# --- registry --------------------------------------------------------------------------------
# A version that only narrows what the published one may do needs no reviewer where this is on.
REGISTRY_FAST_PATH_FOR_NARROWING = False

# --- gateway ---------------------------------------------------------------------------------
CONTEXTOS_FUNCTION_MODULES = ENV.words("CONTEXTOS_FUNCTION_MODULES")
FUNCTION_ENVIRONMENT = ENV.words("CONTEXTOS_FUNCTION_ENVIRONMENT")
FUNCTION_RUNNERS = ENV.number("CONTEXTOS_FUNCTION_RUNNERS")
# How many callers of one web process may wait for an end (`Prefer: wait`); others come back.
CALL_WAITERS = ENV.number("CONTEXTOS_CALL_WAITERS")
ASGI_CALL_WAITERS = ENV.number("CONTEXTOS_ASGI_CALL_WAITERS")
# How many calls the embedded worker makes at the same time.
EMBEDDED_WORKERS = ENV.number("CONTEXTOS_EMBEDDED_WORKERS")
# The same call failing this often in a row is refused until the first failure is this old.
LOOP_GUARD = {"failures": 3, "window_seconds": 300}
# When an adapter's breaker opens, for how long, and how many of its quick calls run at once in one
# process; a person may set other terms for one adapter in the admin.
ADAPTER_TERMS = {
    "failures": 5,
    "failure_percent": 50,
    "window_seconds": 30,
    "open_seconds": 15,
    "probes": 1,
    "at_once": ENV.number("CONTEXTOS_ADAPTER_AT_ONCE"),
}
# What a run may use up unless it asks for less.
RUN_BUDGET = {
    "max_calls": 200,
    "max_cost_cents": 100_000,
    "max_wall_ms": 3_600_000,
    "lifetime_seconds": 24 * 3600,
}

# --- language, time, files -------------------------------------------------------------------
LANGUAGE_CODE = "en-gb"
TIME_ZONE = "UTC"
FORMAT_MODULE_PATH = ["contextos.adminkit.formats"]
USE_I18N = True
USE_TZ = True
STATIC_URL = "static/"
STATICFILES_DIRS = [BASE_DIR / "static"]
STATIC_ROOT = _folder("CONTEXTOS_STATIC_ROOT", "staticfiles")
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "whitenoise.storage.CompressedManifestStaticFilesStorage"},
}

# --- REST ------------------------------------------------------------------------------------
REST_FRAMEWORK: dict[str, Any] = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["contextos.identity.authentication.BearerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["contextos.identity.permissions.IsAuthenticatedPrincipal"],
    "DEFAULT_PARSER_CLASSES": ["contextos.restkit.parsers.StrictJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["contextos.restkit.renderers.JSONRenderer"],
    "DEFAULT_PAGINATION_CLASS": "contextos.restkit.pagination.KeysetPagination",
    "DEFAULT_FILTER_BACKENDS": ["django_filters.rest_framework.DjangoFilterBackend"],
    "DEFAULT_SCHEMA_CLASS": "drf_spectacular.openapi.AutoSchema",
    "EXCEPTION_HANDLER": "contextos.restkit.problems.exception_handler",
    "UNAUTHENTICATED_USER": None,
    "UNAUTHENTICATED_TOKEN": None,
    "PAGE_SIZE": 50,
}
SPECTACULAR_SETTINGS = {
    "TITLE": "ContextOS",
    "DESCRIPTION": "The governed action plane for AI agents.",
    "VERSION": "1.0.0",
    "SERVE_INCLUDE_SCHEMA": False,
    "SERVE_PERMISSIONS": ["rest_framework.permissions.AllowAny"],
    "SERVE_AUTHENTICATION": [],
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    "REDOC_DIST": "SIDECAR",
    "SCHEMA_PATH_PREFIX": "/api/v1",
    "OAS_VERSION": "3.1.0",  # the published JSON Schemas stand in it as they are
    "ENUM_NAME_OVERRIDES": {
        "ApprovalStateEnum": "approvals.states.RequestState",
        "VersionStateEnum": "contextos.review.states.VersionState",
    },
    "POSTPROCESSING_HOOKS": [
        "drf_spectacular.hooks.postprocess_schema_enums",
        "gateway.api.descriptions.add_envelopes",
        "contextos.restkit.openapi.add_problem_details",
    ],
}

# --- background work -------------------------------------------------------------------------
CELERY_BROKER_URL = REDIS_URL
CELERY_TASK_IGNORE_RESULT = True
CELERY_TASK_ACKS_LATE = True
CELERY_WORKER_PREFETCH_MULTIPLIER = 1
CELERY_DB_REUSE_MAX = 500  # tasks over one connection to the database; else each opens its own
CELERY_BROKER_CONNECTION_RETRY_ON_STARTUP = True
CELERY_TASK_SERIALIZER = "json"
CELERY_ACCEPT_CONTENT = ["json"]
CELERY_TIMEZONE = "UTC"
# The sweep has a queue of its own: a thousand waiting calls must not keep it from the lost ones.
CELERY_TASK_QUEUES = (Queue("celery"), Queue("sweep"), Queue("notices"), Queue("exports"))
CELERY_TASK_ROUTES = {
    "gateway.tasks.sweep": {"queue": "sweep"},
    "approvals.tasks.send_notices": {"queue": "notices"},
    "approvals.tasks.forget_notices": {"queue": "notices"},
    "gateway.tasks.send_alerts": {"queue": "notices"},
    "gateway.tasks.send_callbacks": {"queue": "notices"},
    "audit.tasks.send_checkpoints": {"queue": "notices"},
    "audit.tasks.run_exports": {"queue": "exports"},
    "audit.tasks.run_log_checks": {"queue": "exports"},
    "audit.tasks.run_reports": {"queue": "notices"},
}
CELERY_BROKER_TRANSPORT_OPTIONS = {"socket_connect_timeout": 2, "socket_timeout": 5}


def _every(seconds: int, task: str, *, expires: int) -> dict[str, Any]:
    """A round that nobody took up for so many seconds is dropped: the next one does its work."""
    return {
        "task": task,
        "schedule": timedelta(seconds=seconds),
        "options": {"expires": expires},
    }


def _at(task: str, **moment: str) -> dict[str, Any]:
    return {"task": task, "schedule": crontab(**moment)}


CELERY_BEAT_SCHEDULE: dict[str, dict[str, Any]] = {
    # By beat's clock: a worker whose own runs ahead by more than this would never sweep.
    "sweep-calls": _every(1, "gateway.tasks.sweep", expires=900),
    "count-figures": _every(5, "gateway.tasks.count_figures", expires=15),
    "forget-fine-figures": _at("gateway.tasks.forget_fine_figures", minute="53"),
    "forget-expired-keys": _at("gateway.tasks.forget_keys", minute="41"),
    "forget-old-notices": _at("approvals.tasks.forget_notices", minute="17"),
    "send-notices": _every(2, "approvals.tasks.send_notices", expires=10),
    "send-callbacks": _every(2, "gateway.tasks.send_callbacks", expires=10),
    "replay-periods": _every(2, "gateway.tasks.replay_periods", expires=10),
    "send-alerts": _every(3, "gateway.tasks.send_alerts", expires=10),
    "send-checkpoints": _every(5, "audit.tasks.send_checkpoints", expires=20),
    "prepare-partitions": _at("audit.tasks.prepare_partitions", minute="23", hour="*/6"),
    "run-exports": _every(1, "audit.tasks.run_exports", expires=5),
    "run-log-checks": _every(2, "audit.tasks.run_log_checks", expires=10),
    "run-reports": _every(10, "audit.tasks.run_reports", expires=30),
    "remove-expired-exports": _at("audit.tasks.remove_exports", minute="*/10"),
    "apply-retention": _at("audit.tasks.apply_retention", minute="37", hour="2"),
    "finish-erasures": _at("audit.tasks.finish_erasures", minute="7"),
    "send-streams": _every(2, "gateway.tasks.send_streams", expires=10),
    "clear-expired-sessions": _at("contextos.identity.tasks.clear_expired", minute="17"),
}

# --- e-mail ----------------------------------------------------------------------------------
EMAIL_HOST = ENV.optional("CONTEXTOS_EMAIL_HOST") or ""
EMAIL_PORT = ENV.number("CONTEXTOS_EMAIL_PORT")
EMAIL_HOST_USER = ENV.optional("CONTEXTOS_EMAIL_USER") or ""
EMAIL_HOST_PASSWORD = ENV.optional("CONTEXTOS_EMAIL_PASSWORD") or ""
EMAIL_USE_TLS = ENV.text("CONTEXTOS_EMAIL_SECURITY") == "starttls"
EMAIL_USE_SSL = ENV.text("CONTEXTOS_EMAIL_SECURITY") == "tls"
EMAIL_TIMEOUT = 10
EMAIL_FILE_PATH = DATA_DIR / "mail"
DEFAULT_FROM_EMAIL = SERVER_EMAIL = ENV.text("CONTEXTOS_EMAIL_FROM")
# None where no server is set: notices then fail with that reason instead of vanishing.
EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend" if EMAIL_HOST else ""

# --- logging ---------------------------------------------------------------------------------
LOG_LEVEL = ENV.text("CONTEXTOS_LOG_LEVEL")
LOG_FORMAT = ENV.text("CONTEXTOS_LOG_FORMAT")
LOGGING_CONFIG = "contextos.logs.configure"
LOGGING = {"level": LOG_LEVEL, "format": LOG_FORMAT}
METRICS_TOKEN = ENV.optional("CONTEXTOS_METRICS_TOKEN")
EGRESS_PROXY = ENV.optional("CONTEXTOS_EGRESS_PROXY")
OTLP_ENDPOINT = ENV.optional("OTEL_EXPORTER_OTLP_ENDPOINT")
ADAPTER_JWT_SECRET = ENV.optional("ADAPTER_JWT_SECRET")

if ENV.flag("CONTEXTOS_TRUST_PROXY"):
    SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https")
    AXES_CLIENT_IP_CALLABLE = "contextos.adminkit.login.address_behind_proxy"
