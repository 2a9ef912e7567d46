"""Application entry: audit remembers: events, decision records, proofs, exports."""

from django.apps import AppConfig


class AuditConfig(AppConfig):
    """audit remembers: events, decision records, proofs, exports."""

    name = "audit"
    verbose_name = "Audit"

    def ready(self) -> None:
        """Make the check and the error codes known."""
        from audit import (  # noqa: F401
            checks,
            error_codes,
            keeping_codes,
            log_error_codes,
            metrics,
        )
        from audit.export import error_codes as export_error_codes  # noqa: F401

        metrics.register_collector()
