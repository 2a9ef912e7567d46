"""Application entry: the draft, review, sign machinery that reviewed documents share."""

from django.apps import AppConfig


class ReviewConfig(AppConfig):
    """Abstract review models, services and admin mixin; owns no table."""

    name = "contextos.review"
    label = "review"

    def ready(self) -> None:
        """Declare the error codes and the check of the triggers."""
        from contextos.review import checks, error_codes  # noqa: F401
