"""Application entry: templates and static files of the admin shell."""

from django.apps import AppConfig


class AdminKitConfig(AppConfig):
    """Base classes of the admin; the only importer of unfold."""

    name = "contextos.adminkit"
    label = "adminkit"

    def ready(self) -> None:
        """Make the check known; let every app put its panels and finders in their places."""
        from contextos.adminkit import checks  # noqa: F401
        from contextos.adminkit.finding import discover_finders
        from contextos.adminkit.front_page import discover_panels

        discover_panels()
        discover_finders()
