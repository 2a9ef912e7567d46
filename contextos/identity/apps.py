"""Application entry: people, agents, tenants, issuers and tokens."""

from __future__ import annotations

from typing import Any

from django.apps import AppConfig
from django.apps import apps as installed
from django.db.models.signals import post_migrate


class IdentityConfig(AppConfig):
    """Who may ask: users, tenants, memberships, agents, trusted issuers, issued tokens."""

    name = "contextos.identity"
    label = "identity"
    verbose_name = "Identity"

    def ready(self) -> None:
        """Declare error codes and the API scheme; keep the roles in step with migrations."""
        from contextos.identity import error_codes, openapi  # noqa: F401

        post_migrate.connect(_write_roles, dispatch_uid="contextos.identity.roles")


def _write_roles(sender: AppConfig, using: str, apps: Any = installed, **kwargs: Any) -> None:
    """An app's permissions exist once it is migrated; then its part of the roles is written."""
    from contextos.identity.roles import sync_roles

    try:
        apps.get_model("auth", "Group")
    except LookupError:
        return  # a partial migration that has not reached the groups yet
    sync_roles(app_labels=[sender.label], using=using)
