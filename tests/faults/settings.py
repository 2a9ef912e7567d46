"""What the plant's processes run with: the embedded defaults, and points at which they may die."""

from contextos.settings.dev import *  # noqa: F403
from contextos.settings.dev import ADAPTER_TERMS, MIDDLEWARE
from tests.faults.crash_points import watch_this_process

watch_this_process()
MIDDLEWARE = ["tests.faults.crash_points.AnsweringPoint", *MIDDLEWARE]
# Faults come one after the other here, so that no breaker would ever close again; breakers have
# tests of their own.
ADAPTER_TERMS = {**ADAPTER_TERMS, "failures": 1_000_000}
# Many people are made and none signs in with a password.
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
