"""Application entries of the composition root: system checks and the admin site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class ContextOSConfig(AppConfig):
    """Registers the start-up checks and holds the composition root's commands."""

    name = "contextos"
    verbose_name = "ContextOS"

    def ready(self) -> None:
        """Import the checks so that Django knows them."""
        from contextos import checks  # noqa: F401


class ContextOSAdminConfig(AdminConfig):
    """Makes our second-factor-guarded site the default admin."""

    default_site = "contextos.admin_site.ContextOSAdminSite"
