"""Application entry: audit remembers: events, decision records, proofs, exports."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """audit remembers: events, decision records, proofs, exports."""

    name = "audit"
    verbose_name = "Audit"

    def ready(self) -> None:
        """Make the check and the error codes known."""
        from audit import checks, error_codes  # noqa: F401
