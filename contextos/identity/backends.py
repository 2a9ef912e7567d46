"""Authenticates people; answers permission questions from memberships in the acting tenant."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.backends import BaseBackend
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest

from contextos.identity.access import Access, access_in, last_term_ended, may_sign_in
from contextos.identity.models import User


class MembershipBackend(BaseBackend):
    """Name and password in; permissions of the roles held in the acting tenant out."""

    def authenticate(
        self,
        request: HttpRequest | None,
        username: str | None = None,
        password: str | None = None,
        **credentials: Any,
    ) -> User | None:
        """The person, if the password fits; an unknown name takes as long as a wrong password."""
        if username is None or password is None:
            return None
        try:
            user = User.objects.get_by_natural_key(username)
        except User.DoesNotExist:
            User().set_password(password)
            return None
        if not user.check_password(password):
            return None
        if may_sign_in(user):
            return user
        if request is not None:  # whoever knows the password may learn that their time is over
            request.access_ended_at = last_term_ended(user)  # type: ignore[attr-defined]
        return None

    def get_user(self, user_id: int) -> User | None:
        """The person behind a session, as long as they may still sign in."""
        user = User.objects.filter(pk=user_id).first()
        return user if user is not None and may_sign_in(user) else None

    def get_user_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        """None: nobody holds a permission without a role."""
        return set()

    def get_group_permissions(self, user_obj: Any, obj: Any = None) -> set[str]:
        """What the roles in the acting tenant give, on an object of that tenant."""
        return set(_access(user_obj).permissions) if _within_reach(user_obj, obj) else set()

    def has_perm(self, user_obj: Any, perm: str, obj: Any = None) -> bool:
        """Raises, which stops the backends after this one, where no answer but no is possible."""
        if not _within_reach(user_obj, obj) or not _access(user_obj).roles:
            raise PermissionDenied
        return perm in _access(user_obj).permissions

    def has_module_perms(self, user_obj: Any, app_label: str) -> bool:
        """Whether any permission of an app is held."""
        prefix = f"{app_label}."
        return any(name.startswith(prefix) for name in _access(user_obj).permissions)


def acting_roles(user: Any) -> frozenset[str]:
    """The roles somebody holds in the tenant they act in, read once a request with permissions."""
    return _access(user).roles


def _within_reach(user: Any, obj: Any) -> bool:
    """An object that names a tenant is reached from that tenant only."""
    home = getattr(obj, "tenant_id", None)
    return home is None or home == getattr(user, "acting_tenant_id", None)


def _access(user: Any) -> Access:
    """Read once per person object and acting tenant, as Django does; requests load people anew."""
    tenant_id = getattr(user, "acting_tenant_id", None)
    if tenant_id is None or not user.is_active:
        return Access()
    known: dict[str, Access] = _itself(user).__dict__.setdefault("_access_by_tenant", {})
    if tenant_id not in known:
        known[tenant_id] = access_in(user, tenant_id)
    return known[tenant_id]


def _itself(user: Any) -> Any:
    """The person inside a request's user, which is wrapped once for the session, once for OTP."""
    while hasattr(user, "_wrapped"):
        user = user._wrapped
    return user
