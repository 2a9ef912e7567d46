"""Base classes of every admin page: permissions per object, tenant walls, services for changes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, cast

from django.contrib.admin.utils import flatten_fieldsets, unquote
from django.contrib.auth import get_permission_codename
from django.contrib.auth.base_user import AbstractBaseUser
from django.core.exceptions import PermissionDenied, ValidationError
from django.db.models import ForeignKey, Model, QuerySet
from django.forms import ModelChoiceField, ModelForm
from django.http import HttpRequest, HttpResponse
from guardian.core import ObjectPermissionChecker
from guardian.shortcuts import get_objects_for_user

from contextos.adminkit.navigation import MenuLine
from contextos.adminkit.tenancy import (
    acting_tenant,
    belongs_to,
    has_tenant_field,
    rows_of_tenant,
    tenant_lookup_for,
)
from contextos.adminkit.unfold_seam import ThemedModelAdmin, ThemedTabularInline
from contextos.core.errors import ContextOSError

MOST_SEARCH_WORDS = 20


class TenantLimitedFields:
    """Offers only the acting tenant's rows wherever a form points at another model."""

    admin_site: Any

    def formfield_for_foreignkey(
        self, db_field: ForeignKey[Any, Any], request: HttpRequest, **kwargs: Any
    ) -> ModelChoiceField[Any] | None:
        """Limit the choices; a crafted post of a foreign id fails just as an unknown one does."""
        field = super().formfield_for_foreignkey(db_field, request, **kwargs)  # type: ignore[misc]
        return self._limited(field, request)

    def formfield_for_manytomany(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        """As for foreign keys."""
        field = super().formfield_for_manytomany(db_field, request, **kwargs)  # type: ignore[misc]
        return self._limited(field, request)

    def _limited(self, field: Any, request: HttpRequest) -> ModelChoiceField[Any] | None:
        if not isinstance(field, ModelChoiceField) or field.queryset is None:
            return field  # type: ignore[no-any-return]
        lookup = tenant_lookup_for(field.queryset.model, self.admin_site)
        if lookup is not None:
            field.queryset = rows_of_tenant(field.queryset, lookup, acting_tenant(request))
        return field


class ModelAdmin(TenantLimitedFields, ThemedModelAdmin):
    """A themed admin whose permissions look at the object and whose changes go through services.

    Override `perform_create`, `perform_update` or `perform_delete` with a call to the service; a
    page whose admin does not override one has no such button, for anybody.
    """

    list_per_page = 50
    list_max_show_all = 200
    show_full_result_count = False
    warn_unsaved_form = True
    compressed_fields = True
    list_filter_submit = True

    # What an empty list teaches: what these are, and the one next step as (label, url name).
    empty_title = ""
    empty_text = ""
    empty_action: tuple[str, str] | None = None
    empty_action_elsewhere = False  # it leads to another list, which asks for its own permission

    # Its line in the menu; `nav_badge` is the dotted path of a function of the request.
    nav_group = ""
    nav_title = ""
    nav_icon = ""
    nav_order = 100
    nav_badge: str | None = None
    nav_shown = True
    nav_more: Sequence[MenuLine] = ()  # further pages about the same rows

    # --- what may be done ---------------------------------------------------------------------
    def allows(self, request: HttpRequest, verb: str, obj: Model | None = None) -> bool:
        """Ask the permission backends about this very object; Django's admin would not."""
        name = get_permission_codename(verb, self.opts)
        return request.user.has_perm(f"{self.opts.app_label}.{name}", obj)

    def has_view_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Who may change may also look."""
        return self._may(request, "view", obj) or self._may(request, "change", obj)

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Only where a service creates."""
        return self._has_service("perform_create") and self.allows(request, "add")

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Only where a service updates."""
        return self._has_service("perform_update") and self._may(request, "change", obj)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Off unless a service deletes."""
        return self._has_service("perform_delete") and self._may(request, "delete", obj)

    def _may(self, request: HttpRequest, verb: str, obj: Model | str | None) -> bool:
        if isinstance(obj, str):  # the theme's buttons ask with the object's id
            found = self.get_object(request, obj)
            return found is not None and self.allows(request, verb, found)
        return self.allows(request, verb, obj)

    def _has_service(self, name: str) -> bool:
        return getattr(type(self), name) is not getattr(ModelAdmin, name)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """By the id as it is or as Django writes it into the links of a list (`_` as `_5F`)."""
        if "\x00" in object_id:
            return None  # no database can hold it, so it names nothing
        found = super().get_object(request, object_id, from_field)
        if found is None and unquote(object_id) != object_id:
            found = super().get_object(request, unquote(object_id), from_field)
        return found

    # --- changes go through services ----------------------------------------------------------
    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """A text of more words than a database takes conditions matches nothing."""
        if len(search_term.split()) > MOST_SEARCH_WORDS:
            return queryset.none(), False
        return super().get_search_results(request, queryset, search_term)

    def perform_create(self, request: HttpRequest, form: ModelForm[Any]) -> Model:
        """Call the service that creates; `form.instance` carries the entered values."""
        raise PermissionDenied("Nothing can be added on this page.")

    def perform_update(self, request: HttpRequest, form: ModelForm[Any]) -> Model:
        """Call the service that changes `form.instance`."""
        raise PermissionDenied("Nothing can be changed on this page.")

    def perform_delete(self, request: HttpRequest, obj: Model) -> None:
        """Call the service that deletes."""
        raise PermissionDenied("Nothing can be deleted on this page.")

    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:
        """Hand over to the service and show what it made of it."""
        perform = self.perform_update if change else self.perform_create
        stored = perform(request, form)
        if stored is not obj:
            obj.__dict__.update(stored.__dict__)  # the page goes on with the object it holds

    def save_related(self, request: HttpRequest, form: Any, formsets: Any, change: bool) -> None:
        """Relations named in the form are the service's business; only inline forms remain."""
        for formset in formsets:
            if formset.has_changed():
                self.save_formset(request, form, formset, change=change)

    def save_formset(self, request: HttpRequest, form: Any, formset: Any, change: bool) -> None:
        """Inline rows are read-only unless an admin overrides this with a service."""
        raise PermissionDenied("These rows can't be changed here.")

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> list[dict[str, Any]]:
        """Of the form only: inline rows were not saved by Django, so it knows nothing of them."""
        message: list[dict[str, Any]] = super().construct_change_message(request, form, (), add)
        return message

    def delete_model(self, request: HttpRequest, obj: Model) -> None:
        """Hand over to the service."""
        self.perform_delete(request, obj)

    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        """One service call per object, so that each deletion is checked and recorded."""
        for obj in queryset:
            if not self.has_delete_permission(request, obj):
                raise PermissionDenied
            self.perform_delete(request, obj)

    def changeform_view(
        self,
        request: HttpRequest,
        object_id: str | None = None,
        form_url: str = "",
        extra_context: dict[str, Any] | None = None,
    ) -> HttpResponse:
        """A refusal by the service becomes an error on the form, with the input kept."""
        try:
            return super().changeform_view(request, object_id, form_url, extra_context)
        except (ContextOSError, ValidationError) as refusal:
            request.service_refusal = refusal  # type: ignore[attr-defined]
            return super().changeform_view(request, object_id, form_url, extra_context)

    def get_form(
        self, request: HttpRequest, obj: Model | None = None, change: bool = False, **kwargs: Any
    ) -> type[ModelForm[Any]]:
        """The form, refusing when the service has just refused the same input."""
        form = super().get_form(request, obj, change=change, **kwargs)
        refusal = getattr(request, "service_refusal", None)
        return form if refusal is None else _refusing(form, refusal)


def _refusing(
    form: type[ModelForm[Any]], refusal: ContextOSError | ValidationError
) -> type[ModelForm[Any]]:
    def clean(self: ModelForm[Any]) -> dict[str, Any]:
        raise ValidationError(_reasons(refusal))

    return type(form.__name__, (form,), {"clean": clean})


def _reasons(refusal: ContextOSError | ValidationError) -> list[str]:
    if isinstance(refusal, ContextOSError):
        return [refusal.message, refusal.remediation]
    return list(refusal.messages)


class TenantScopedAdmin(ModelAdmin):
    """Shows and changes only what belongs to the acting tenant, also for superusers."""

    tenant_lookup = "tenant_id"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The acting tenant's rows; without a tenant none."""
        rows = super().get_queryset(request)
        return rows_of_tenant(rows, self.tenant_lookup, acting_tenant(request))

    def allows(self, request: HttpRequest, verb: str, obj: Model | None = None) -> bool:
        """A foreign tenant's object is denied before anybody's permissions are asked."""
        if obj is not None and not self._is_at_home(request, obj):
            return False
        if verb == "add" and acting_tenant(request) is None:
            return False
        return super().allows(request, verb, obj)

    def _is_at_home(self, request: HttpRequest, obj: Model) -> bool:
        return belongs_to(obj, self.tenant_lookup, acting_tenant(request))

    def get_exclude(self, request: HttpRequest, obj: Model | None = None) -> list[str] | None:
        """The tenant is never typed in: it is the one the person acts in."""
        given = list(super().get_exclude(request, obj) or ())
        return [*given, "tenant"] if has_tenant_field(self.model) else given or None

    def save_model(self, request: HttpRequest, obj: Model, form: Any, change: bool) -> None:
        """New objects get the acting tenant."""
        if not change and has_tenant_field(self.model):
            obj.tenant = acting_tenant(request)  # type: ignore[attr-defined]
        super().save_model(request, obj, form, change)


class ReadOnlyAdmin(ModelAdmin):
    """Mixin: the page can be read and nothing else."""

    actions = None

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Never."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never."""
        return False

    def get_readonly_fields(
        self, request: HttpRequest, obj: Model | None = None
    ) -> list[Any] | tuple[Any, ...]:
        """Every field, also those added to the model later."""
        given = list(super().get_readonly_fields(request, obj))
        names = flatten_fieldsets(self.fieldsets) if self.fieldsets else list(self.fields or ())
        own = names or [field.name for field in self.opts.fields]
        return [*given, *(name for name in own if name not in given)]


class ObjectPermissionAdmin(ModelAdmin):
    """Mixin: a role alone opens nothing, each object needs its own guardian permission."""

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """Only the objects this person was given."""
        rows = super().get_queryset(request)
        granted: QuerySet[Any] = get_objects_for_user(
            request.user,
            self._permission_names("view", "change"),
            klass=rows,
            any_perm=True,
            accept_global_perms=False,
        )
        return granted

    def allows(self, request: HttpRequest, verb: str, obj: Model | None = None) -> bool:
        """With an object, guardian decides; adding and opening the list stay role permissions."""
        if obj is None:
            return super().allows(request, verb)
        if not super().allows(request, verb, obj):
            return False
        name = get_permission_codename(verb, self.opts)
        checker = ObjectPermissionChecker(cast(AbstractBaseUser, request.user))
        return bool(checker.has_perm(name, obj))

    def _permission_names(self, *verbs: str) -> list[str]:
        label = self.opts.app_label
        return [f"{label}.{get_permission_codename(verb, self.opts)}" for verb in verbs]


class InstallationAdmin(ModelAdmin):
    """For models without a tenant: only those who run the installation see them."""

    def allows(self, request: HttpRequest, verb: str, obj: Model | None = None) -> bool:
        """Superusers; roles are given per tenant and so can't reach beyond one."""
        user = request.user
        return bool(user.is_active and user.is_superuser) and super().allows(request, verb, obj)

    def has_module_permission(self, request: HttpRequest) -> bool:
        """Hidden from everybody else."""
        return self.allows(request, "view")


class _ReadOnlyInline(TenantLimitedFields):
    """Inline rows show; an admin that lets people edit them says so and names the service."""

    extra = 0
    can_delete = False
    hide_title = True  # the columns say it already

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never, unless overridden together with the parent's `save_formset`."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never, unless overridden together with the parent's `save_formset`."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        """Never, unless overridden together with the parent's `save_formset`."""
        return False


class TabularInline(_ReadOnlyInline, ThemedTabularInline):
    """Rows of a related model as a table."""


__all__ = [
    "InstallationAdmin",
    "ModelAdmin",
    "ObjectPermissionAdmin",
    "ReadOnlyAdmin",
    "TabularInline",
    "TenantScopedAdmin",
]
