"""The embedded default: SQLite, generated keys in the data directory, loopback only."""

from contextos.settings import local_secrets
from contextos.settings.base import *  # noqa: F403
from contextos.settings.base import DATABASES, EMAIL_BACKEND, FIELD_KEYS, KEYS_DIR, SECRET_KEY

SECRET_KEY = SECRET_KEY or local_secrets.read_or_create(KEYS_DIR / "secret_key")
FIELD_KEYS = FIELD_KEYS or (local_secrets.read_or_create(KEYS_DIR / "field_keys"),)
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    local_secrets.keep_private(DATABASES["default"]["NAME"])

# The demo runs without a build step: files are served as they lie in static/.
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False

# Without a mail server messages become files that whoever tries it out can read.
EMAIL_BACKEND = EMAIL_BACKEND or "django.core.mail.backends.filebased.EmailBackend"
