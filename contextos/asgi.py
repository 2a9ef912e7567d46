"""ASGI entry point: `/mcp` and long polls."""

from django.core.asgi import get_asgi_application

from contextos import telemetry
from contextos.body_limit import limit_body
from contextos.startup import prepare_process

prepare_process()
telemetry.start()  # before the handler is made, which loads the middleware

application = limit_body(get_asgi_application())
