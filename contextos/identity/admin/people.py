"""Admin pages of people and their roles."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Prefetch, QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from contextos.adminkit.actions import action, display
from contextos.adminkit.base import TabularInline, TenantScopedAdmin
from contextos.adminkit.confirmation import Question, confirm
from contextos.adminkit.display import Tone, badge, when
from contextos.adminkit.tenancy import acting_tenant
from contextos.core.errors import coded_error
from contextos.identity import second_factor, services
from contextos.identity.actors import actor_of
from contextos.identity.admin.role_words import RoleFilter, RolesInWords
from contextos.identity.admin.tenants import active_badge
from contextos.identity.models import Membership, User
from contextos.identity.roles import in_words, ordered

_TERM_TONES: dict[str, Tone] = {"current": "success", "not yet valid": "info", "ended": "neutral"}
_NAMES = ("first_name", "last_name", "email")
_FIRST_ROLE = ("role", "valid_until")
HOW_TO_HAND_OVER = "At least 12 characters. Tell it in person; they change it under My account."


def term_badge(membership: Membership) -> SafeString:
    """Whether a role counts now."""
    return badge(membership.state, _TERM_TONES[membership.state])


class PasswordForm(forms.Form):
    """A new password for somebody else."""

    password = forms.CharField(
        label="New password",
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "autofocus": True}),
        help_text=HOW_TO_HAND_OVER,
    )

    def __init__(self, *args: Any, person: User, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.person = person

    def clean_password(self) -> str:
        """The same rules as everywhere."""
        password: str = self.cleaned_data["password"]
        validate_password(password, self.person)
        return password


if TYPE_CHECKING:  # Django's form classes are generic to the type checker only
    _ModelForm = forms.ModelForm[User]
else:
    _ModelForm = forms.ModelForm


class AddPersonForm(_ModelForm):
    """A new person; the page puts in the fields for the first role and the password."""

    def clean(self) -> dict[str, Any]:
        """Password rules need the names typed above."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        if values.get("password"):
            person = User(**{name: values.get(name, "") for name in ("username", *_NAMES)})
            try:
                validate_password(values["password"], person)
            except ValidationError as fault:
                self.add_error("password", fault)
        return values


class MembershipInline(TabularInline):
    """The roles a person holds in the acting tenant, and in no other."""

    model = Membership
    fields = ["shown_role", "valid_from", "valid_until", "term"]
    readonly_fields = ["shown_role", "term"]
    verbose_name_plural = "Roles in this tenant"

    @display(description="Role")
    def shown_role(self, membership: Membership) -> str:
        """As people say it."""
        return in_words(membership.role.name)

    @display(description="State")
    def term(self, membership: Membership) -> SafeString:
        """Whether it counts now."""
        return term_badge(membership)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """What the person does elsewhere is no business of this tenant."""
        tenant = acting_tenant(request)
        rows = super().get_queryset(request).select_related("role")
        return rows.filter(tenant_id=tenant.pk) if tenant else rows.none()


@admin.register(User)
class UserAdmin(RolesInWords, TenantScopedAdmin):
    """The people of the acting tenant."""

    tenant_lookup = "memberships__tenant_id"
    list_display = ["username", "full_name", "email", "roles_here", "state", "last_sign_in"]
    list_filter = ["is_active"]
    search_fields = ["username", "first_name", "last_name", "email", "user_id"]
    actions_detail = ["change_password", "sign_out", "reset_factor", "lock_out", "let_in"]
    inlines = [MembershipInline]
    nav_title = "People"
    nav_icon = "group"
    nav_order = 30
    empty_title = "Nobody here yet"
    empty_text = "Add the first person and choose what they may do."
    empty_action = ("Add a person", "admin:identity_user_add")

    # --- what is shown ------------------------------------------------------------------------
    @display(description="Name", ordering="last_name")
    def full_name(self, user: User) -> str:
        """As people say it."""
        return user.get_full_name()

    @display(description="Roles")
    def roles_here(self, user: User) -> str:
        """The current roles in the acting tenant."""
        here: list[Membership] = getattr(user, "memberships_here", [])
        held = ordered(membership.role.name for membership in here)
        return ", ".join(in_words(role) for role in held) or "none"

    @display(description="State", ordering="is_active")
    def state(self, user: User) -> SafeString:
        """Whether they may sign in."""
        return active_badge(user.is_active)

    @display(description="Last sign-in", ordering="last_login")
    def last_sign_in(self, user: User) -> SafeString:
        """When they last came in."""
        return when(user.last_login)

    @display(description="User name")
    def account(self, user: User) -> str:
        """What they sign in with."""
        return user.username

    @display(description="Second factor")
    def factor(self, user: User) -> SafeString:
        """Whether an authenticator app is set up."""
        if second_factor.confirmed_device(user) is None:
            return badge("not set up", "warning")
        return badge("set up", "success")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """People with their roles here, read in one statement for the whole list."""
        return super().get_queryset(request).prefetch_related(_roles_of_tenant(request))

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest | None = None) -> bool:
        """Not by password: `?password__startswith=` would read a hash out letter by letter."""
        if lookup.partition("__")[0] == "password":
            return False
        return bool(super().lookup_allowed(lookup, value, request))  # type: ignore[arg-type]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Adding asks for the first role too, because without one nobody belongs here."""
        if obj is None:
            return ["username", *_NAMES, *_FIRST_ROLE, "password"]
        return ["account", "user_id", *_NAMES, "state", "factor", "last_login", "date_joined"]

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Names of accounts stay; switches have their own pages."""
        if obj is None:
            return []
        return ["account", "user_id", "state", "factor", "last_login", "date_joined"]

    def get_inlines(self, request: HttpRequest, obj: Any) -> list[Any]:
        """No roles to list before the person is there."""
        return [] if obj is None else list(self.inlines)

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> type[forms.ModelForm[Any]]:
        """The form for adding carries the first role and the password."""
        if obj is None:
            kwargs["form"] = self._adding_form(request)
            kwargs["fields"] = ["username", *_NAMES, "password"]
        return super().get_form(request, obj, change=change, **kwargs)

    def _adding_form(self, request: HttpRequest) -> type[forms.ModelForm[Any]]:
        extra = {
            name: self.formfield_for_dbfield(Membership._meta.get_field(name), request)  # type: ignore[arg-type]
            for name in _FIRST_ROLE
        }
        extra["password"] = self._password_field(request)
        return type("AddPersonForm", (AddPersonForm,), extra)

    def _password_field(self, request: HttpRequest) -> forms.CharField:
        themed = self.formfield_for_dbfield(User._meta.get_field("username"), request)
        look = themed.widget.attrs.get("class", "") if themed else ""
        return forms.CharField(
            label="Password",
            widget=forms.PasswordInput(attrs={"autocomplete": "new-password", "class": look}),
            help_text=HOW_TO_HAND_OVER,
        )

    # --- what is done -------------------------------------------------------------------------
    def perform_create(self, request: HttpRequest, form: forms.ModelForm[Any]) -> User:
        """Person and first role stand or fall together."""
        tenant, values = acting_tenant(request), form.cleaned_data
        if tenant is None:
            raise Http404
        actor = actor_of(request)
        with transaction.atomic():
            user = services.create_user(
                username=values["username"],
                password=values["password"],
                tenant_id=tenant.pk,
                actor=actor,
                **{name: values[name] for name in _NAMES},
            )
            services.grant_role(
                user=user,
                tenant_id=tenant.pk,
                role=values["role"].name,
                valid_until=values["valid_until"],
                actor=actor,
            )
        return user

    def perform_update(self, request: HttpRequest, form: forms.ModelForm[Any]) -> User:
        """Names and address."""
        return services.update_user(
            user_id=form.instance.user_id,
            actor=actor_of(request),
            **{name: form.cleaned_data[name] for name in _NAMES},
        )

    @action(description="Set password", permissions=["change"])
    def change_password(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Their sessions end with the old password."""
        user = self._person(request, object_id)
        question = Question(
            title="Set a new password",
            text="The present password stops working and every session ends.",
            button="Set password",
            done="The password is set.",
            form_class=PasswordForm,
            form_arguments={"person": user},
        )
        return confirm(
            self,
            request,
            user,
            question,
            lambda given: _set_password(request, user, given),
        )

    @action(description="Sign out everywhere", permissions=["change"])
    def sign_out(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Every session ends; tokens stay."""
        question = Question(
            title="Sign out everywhere",
            text="Every session of this person ends. Tokens are revoked on their own page.",
            button="Sign out",
            done="Every session has ended.",
        )
        return self._ask(request, object_id, question, services.end_sessions)

    @action(description="Reset second factor", permissions=["change"])
    def reset_factor(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """For a lost phone without recovery codes."""
        user = self._person(request, object_id)
        question = Question(
            title="Reset the second factor",
            text="Make sure that it is really them who ask. They set up a new app at next sign-in.",
            button="Reset",
            done="The second factor is reset.",
        )
        return confirm(
            self,
            request,
            user,
            question,
            lambda given: second_factor.reset_factor(
                user=user, actor=actor_of(request), reason=given["reason"]
            ),
        )

    @action(description="Lock out", permissions=["change"])
    def lock_out(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Sessions end and tokens are revoked, all at once."""
        question = Question(
            title="Lock this person out",
            text="Sessions end and tokens are revoked at once. Records keep their name.",
            button="Lock out",
            done="The person is locked out.",
        )
        return self._ask(request, object_id, question, services.deactivate_user)

    @action(description="Let in again", permissions=["change"])
    def let_in(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Old sessions and tokens stay dead."""
        question = Question(
            title="Let this person in again",
            text="They can sign in again. Earlier sessions and tokens stay dead.",
            button="Let in",
            done="The person can sign in again.",
        )
        return self._ask(request, object_id, question, services.activate_user)

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Only the buttons that would change something."""
        found: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        user = self.get_object(request, str(object_id))
        useless = "let_in" if user is None or user.is_active else "lock_out"
        return [button for button in found if not button.action_name.endswith(useless)]

    def _ask(
        self, request: HttpRequest, object_id: str, question: Question, service: Callable[..., User]
    ) -> HttpResponse:
        user = self._person(request, object_id)
        return confirm(
            self,
            request,
            user,
            question,
            lambda given: service(
                user_id=user.user_id, actor=actor_of(request), reason=given["reason"]
            ),
        )

    def _person(self, request: HttpRequest, object_id: str) -> User:
        user = self.get_object(request, object_id)
        if not isinstance(user, User):
            raise Http404
        return user


@admin.register(Membership)
class MembershipAdmin(RolesInWords, TenantScopedAdmin):
    """Who holds which role here, and for how long."""

    list_display = ["user", "shown_role", "term", "valid_from", "valid_until", "granted_by"]
    list_filter = [RoleFilter]
    list_select_related = ["user", "role"]
    search_fields = ["user__username", "user__first_name", "user__last_name"]
    nav_title = "Memberships"
    nav_icon = "assignment_ind"
    nav_order = 40
    empty_title = "Nobody holds a role here"
    empty_text = "A membership gives one person one role in this tenant, perhaps only for a time."
    empty_action = ("Grant a role", "admin:identity_membership_add")

    @display(description="State")
    def term(self, membership: Membership) -> SafeString:
        """Whether it counts now."""
        return term_badge(membership)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Another person or role is another membership."""
        return [] if obj is None else ["user", "shown_role"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """A role that is given is shown; only a new one is chosen."""
        role = "role" if obj is None else "shown_role"
        return ["user", role, "valid_from", "valid_until"]

    def name_of(self, membership: Membership) -> str:
        """What the page of one membership is called."""
        return f"{membership.user} as {in_words(membership.role.name)}"

    @display(description="Role", ordering="role__name")
    def shown_role(self, membership: Membership) -> str:
        """As people say it."""
        return in_words(membership.role.name)

    def perform_create(self, request: HttpRequest, form: forms.ModelForm[Any]) -> Membership:
        """Grant the role in the acting tenant."""
        values = form.cleaned_data
        return services.grant_role(
            user=values["user"],
            tenant_id=form.instance.tenant.pk,
            role=values["role"].name,
            valid_from=values["valid_from"],
            valid_until=values["valid_until"],
            actor=actor_of(request),
        )

    def perform_update(self, request: HttpRequest, form: forms.ModelForm[Any]) -> Membership:
        """Change its dates."""
        return services.change_role_term(
            membership_id=form.instance.pk,
            valid_from=form.cleaned_data["valid_from"],
            valid_until=form.cleaned_data["valid_until"],
            actor=actor_of(request),
        )

    def perform_delete(self, request: HttpRequest, obj: Any) -> None:
        """Revoke it."""
        services.revoke_role(membership_id=obj.pk, actor=actor_of(request))


def _set_password(request: HttpRequest, user: User, given: dict[str, Any]) -> None:
    if user == request.user:
        # An open session must not be enough to take an account over.
        raise coded_error(
            "permission.denied",
            message="Your own password is not changed on this page.",
            remediation="Change it under My account, where the present one is asked for.",
        )
    services.set_password(user_id=user.user_id, password=given["password"], actor=actor_of(request))


def _roles_of_tenant(request: HttpRequest) -> Any:
    tenant = acting_tenant(request)
    here = Membership.objects.current().select_related("role")
    rows = here.filter(tenant_id=tenant.pk) if tenant else here.none()
    return Prefetch("memberships", queryset=rows, to_attr="memberships_here")
