"""Application entry: the gateway acts; every effect on the outside passes through it."""

from django.apps import AppConfig


class GatewayConfig(AppConfig):
    """Runs, governed calls, connectors."""

    name = "gateway"
    verbose_name = "Gateway"

    def ready(self) -> None:
        """Declare the gateway's error codes and its metrics."""
        from gateway import error_codes  # noqa: F401
        from gateway.connectors.mcp import error_codes as mcp_codes  # noqa: F401
        from gateway.credentials import error_codes as credential_codes  # noqa: F401
        from gateway.figures import error_codes as figure_codes  # noqa: F401
        from gateway.figures import prometheus
        from gateway.replaying import error_codes as replay_codes  # noqa: F401
        from gateway.siem import error_codes as siem_codes  # noqa: F401

        prometheus.register()
