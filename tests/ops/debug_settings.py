"""Production settings that somebody left DEBUG on in."""

from contextos.settings.prod import *  # noqa: F403

DEBUG = True
