"""Application entries of the composition root: system checks and the admin site."""

from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class ContextOSConfig(AppConfig):
    """Registers the start-up checks and holds the composition root's commands."""

    name = "contextos"
    verbose_name = "ContextOS"

    def ready(self) -> None:
        """Import the checks so that Django knows them, and the Celery application.

        Until that is there, a task that is sent goes to Celery's own default broker instead of
        ours: nobody is told of a call, and only the sweep finds it, ten seconds later.
        """
        from contextos import celery, checks  # noqa: F401


class ContextOSAdminConfig(AdminConfig):
    """Makes our second-factor-guarded site the default admin."""

    default_site = "contextos.admin_site.ContextOSAdminSite"
