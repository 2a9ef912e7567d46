"""Settings for the test suite: throw-away keys, fast hashing, DATABASE_URL or SQLite."""

import atexit
import os
import shutil
import tempfile
from pathlib import Path

_SCRATCH = Path(tempfile.mkdtemp(prefix="contextos-test-"))
atexit.register(shutil.rmtree, _SCRATCH, ignore_errors=True)
os.environ.setdefault("CONTEXTOS_DATA_DIR", str(_SCRATCH))
os.environ.setdefault("CONTEXTOS_LOG_LEVEL", "WARNING")

from contextos.settings.base import *  # noqa: E402, F403
from contextos.settings.base import DATABASES  # noqa: E402

SECRET_KEY = "test-only-" + "k" * 40
FIELD_KEYS = ("test-field-key-" + "f" * 32,)
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.InMemoryStorage"},
    "staticfiles": {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"},
}
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = True
if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["TEST"] = {"NAME": str(_SCRATCH / "test.sqlite3")}
    # A test's database is thrown away: nobody has to wait for the disk.
    _pragmas = DATABASES["default"]["OPTIONS"]["init_command"]
    DATABASES["default"]["OPTIONS"] = {
        **DATABASES["default"]["OPTIONS"],
        "init_command": _pragmas.replace("synchronous=FULL", "synchronous=OFF"),
    }
