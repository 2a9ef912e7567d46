"""Application entry: the gateway acts; every effect on the outside passes through it."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """Runs, governed calls, connectors."""

    name = "gateway"
    verbose_name = "Gateway"

    def ready(self) -> None:
        """Declare the gateway's error codes."""
        from gateway import error_codes  # noqa: F401
