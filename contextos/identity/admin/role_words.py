"""Roles by the words people use for them, in choices and filters."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.db.models import ForeignKey, QuerySet
from django.http import HttpRequest

from contextos.adminkit.base import ModelAdmin
from contextos.identity.roles import ROLES, in_words


class RolesInWords(ModelAdmin):
    """Offers roles by the words people use for them."""

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> forms.ModelChoiceField[Any] | None:
        """The seven roles, by what they are called; other groups are no roles."""
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)
        if field is not None and db_field.name == "role" and field.queryset is not None:
            field.queryset = field.queryset.filter(name__in=ROLES)
            field.label_from_instance = lambda role: in_words(role.name)  # type: ignore[assignment, method-assign]
        return field


class RoleFilter(admin.SimpleListFilter):
    """By role, in words."""

    title = "role"
    parameter_name = "role"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The roles in the order of weight."""
        return [(role, in_words(role)) for role in ROLES]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Who holds it."""
        return queryset.filter(role__name=self.value()) if self.value() else queryset
