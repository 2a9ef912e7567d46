"""The one place that imports unfold: another theme, or stock admin, would be put in here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:  # unfold is untyped: to the type checker its classes are Django's own
    from django.contrib import admin
    from django.contrib.admin import AdminSite as ThemedSite
    from django.contrib.admin import action, display
    from django.contrib.admin.forms import AdminAuthenticationForm as ThemedLoginForm
    from django.contrib.admin.forms import AdminPasswordChangeForm as ThemedPasswordForm
    from django.forms import PasswordInput as ThemedPasswordInput

    ThemedModelAdmin: TypeAlias = admin.ModelAdmin[Any]
    ThemedTabularInline: TypeAlias = admin.TabularInline[Any, Any]
else:
    from unfold.admin import ModelAdmin as ThemedModelAdmin
    from unfold.admin import TabularInline as ThemedTabularInline
    from unfold.decorators import action, display
    from unfold.forms import AdminOwnPasswordChangeForm as ThemedPasswordForm
    from unfold.forms import AuthenticationForm as ThemedLoginForm
    from unfold.sites import UnfoldAdminSite as ThemedSite
    from unfold.widgets import UnfoldAdminPasswordWidget as ThemedPasswordInput

__all__ = [
    "ThemedLoginForm",
    "ThemedModelAdmin",
    "ThemedPasswordForm",
    "ThemedPasswordInput",
    "ThemedSite",
    "ThemedTabularInline",
    "action",
    "display",
]
