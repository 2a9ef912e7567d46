"""ASGI entry point: the same paths, for callers who wait and hold no thread."""

from django.core.asgi import get_asgi_application

from contextos import telemetry
from contextos.body_limit import limit_body
from contextos.ending import is_ending
from contextos.startup import prepare_process

prepare_process()
telemetry.start()  # before the handler is made, which loads the middleware

from django.db import connections  # noqa: E402  needs the settings

from gateway.long_poll import patient  # noqa: E402  needs the models

# A thread lives for one request here: connections kept for the next would only pile up.
for settings_of_one in connections.settings.values():
    settings_of_one["CONN_MAX_AGE"] = 0

application = limit_body(patient(get_asgi_application(), is_ending))
