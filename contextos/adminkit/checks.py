"""Start-up check: the theme must not put its own site, without second factor, in our place."""

from __future__ import annotations

from typing import Any

from django.apps import apps
from django.contrib import admin
from django.core.checks import CheckMessage, Error, register
from django.utils.module_loading import import_string


@register()
def check_admin_site(app_configs: Any, **kwargs: Any) -> list[CheckMessage]:
    """Unfold's default application replaces the admin site and so drops the second factor."""
    wanted = import_string(str(vars(type(apps.get_app_config("admin")))["default_site"]))
    if isinstance(admin.site, wanted):
        return []
    return [
        Error(
            "The admin is not served by the site that asks for the second factor.",
            hint='Name "unfold.apps.BasicAppConfig" in INSTALLED_APPS instead of "unfold".',
            id="contextos.E020",
        )
    ]
