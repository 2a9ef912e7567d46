"""Application entry: approvals waits for people: gates, requests, votes."""

from django.apps import AppConfig


class ApprovalsConfig(AppConfig):
    """approvals waits for people: gates, requests, votes."""

    name = "approvals"
    verbose_name = "Approvals"

    def ready(self) -> None:
        """Declare the error codes of approvals."""
        from approvals import error_codes  # noqa: F401
