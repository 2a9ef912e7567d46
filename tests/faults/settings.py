"""What the plant's processes run with: the embedded defaults, and points at which they may die."""

from contextos.settings.dev import *  # noqa: F403
from contextos.settings.dev import MIDDLEWARE
from tests.faults.crash_points import watch_this_process

watch_this_process()
MIDDLEWARE = ["tests.faults.crash_points.AnsweringPoint", *MIDDLEWARE]
