"""WSGI entry point: REST and the admin."""

from django.core.wsgi import get_wsgi_application

from contextos import telemetry
from contextos.startup import preload, prepare_process

prepare_process()
telemetry.start()  # before the handler is made, which loads the middleware

application = get_wsgi_application()
preload()
