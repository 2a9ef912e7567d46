"""Which rows of a model belong to the tenant that a request acts in; no tenant means no rows."""

from __future__ import annotations

from typing import Any

from django.contrib.admin import AdminSite
from django.core.exceptions import FieldDoesNotExist, PermissionDenied
from django.db.models import Field, Model, QuerySet
from django.db.models.constants import LOOKUP_SEP
from django.http import HttpRequest

# Named by label because adminkit lies below identity and may not import it.
TENANT_MODEL = "identity.tenant"


def acting_tenant(request: HttpRequest) -> Model | None:
    """The tenant chosen for this request by identity's middleware."""
    tenant: Model | None = getattr(request, "acting_tenant", None)
    return tenant


def acting_tenant_id(request: HttpRequest) -> str:
    """Its id, for pages that are nothing without a tenant."""
    tenant = acting_tenant(request)
    if tenant is None:
        raise PermissionDenied
    return str(tenant.pk)


def rows_of_tenant(rows: QuerySet[Any], lookup: str, tenant: Model | None) -> QuerySet[Any]:
    """The rows that reach `tenant` over `lookup`; without a tenant, none."""
    if tenant is None:
        return rows.none()
    if not _crosses_many(rows.model, lookup):
        return rows.filter(**{lookup: tenant.pk})
    # A join over a to-many relation would repeat rows, and DISTINCT forbids deleting and slicing.
    inside = rows.model._default_manager.filter(**{lookup: tenant.pk}).values("pk")
    return rows.filter(pk__in=inside)


def belongs_to(obj: Model, lookup: str, tenant: Model | None) -> bool:
    """Whether one object reaches `tenant` over `lookup`."""
    if tenant is None:
        return False
    if _crosses_many(type(obj), lookup):
        rows = type(obj)._default_manager.filter(pk=obj.pk, **{lookup: tenant.pk})
        return rows.exists()
    return bool(_follow(obj, lookup) == tenant.pk)


def tenant_lookup_for(model: type[Model], site: AdminSite) -> str | None:
    """How a model reaches its tenant: as its admin says, or by a `tenant` field; else None."""
    if model._meta.label_lower == TENANT_MODEL:
        return "pk"
    lookup = getattr(site._registry.get(model), "tenant_lookup", None)
    if isinstance(lookup, str):
        return lookup
    return "tenant" if has_tenant_field(model) else None


def has_tenant_field(model: type[Model]) -> bool:
    """Whether the model has a column of its own that names the tenant."""
    try:
        return bool(model._meta.get_field("tenant").concrete)
    except FieldDoesNotExist:
        return False


def _crosses_many(model: type[Model], lookup: str) -> bool:
    current: type[Model] | None = model
    for part in lookup.split(LOOKUP_SEP):
        if current is None or part == "pk":
            return False
        try:
            field: Any = current._meta.get_field(part)
        except FieldDoesNotExist:
            return False  # an attribute such as tenant_id
        if field.one_to_many or field.many_to_many:
            return True
        current = field.related_model if isinstance(field, Field) else None
    return False


def _follow(obj: Model, lookup: str) -> Any:
    value: Any = obj
    for part in lookup.split(LOOKUP_SEP):
        value = getattr(value, part, None)
    return value.pk if isinstance(value, Model) else value
