"""Changes to people: their account, password, sessions and whether they are let in."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.password_validation import validate_password
from django.db import transaction
from django.db.models import F

from contextos.core.errors import coded_error
from contextos.core.events import PLATFORM_TENANT, Actor
from contextos.identity.actors import require_authority
from contextos.identity.changes import apply_changes
from contextos.identity.events import record_event
from contextos.identity.models import Membership, User
from contextos.identity.services.tokens import revoke_tokens_of


@transaction.atomic
def create_user(
    *,
    username: str,
    actor: Actor,
    tenant_id: str | None = None,
    email: str = "",
    first_name: str = "",
    last_name: str = "",
    password: str | None = None,
) -> User:
    """A new person; without a password they can't sign in until one is set.

    `tenant_id` is the tenant that asks for them. They hold no role until `grant_role`.
    """
    home = tenant_id or PLATFORM_TENANT
    require_authority(actor, home)
    user = User(
        username=User.normalize_username(username),
        email=User.objects.normalize_email(email),
        first_name=first_name,
        last_name=last_name,
        is_staff=True,  # the admin is the web console of every role; roles decide what it shows
    )
    _set_password(user, password)
    user.full_clean(exclude=["password"])
    user.save(force_insert=True)
    _record_in([home], user, "identity.user.created", actor, data={"username": user.username})
    return user


@transaction.atomic
def update_user(*, user_id: str, actor: Actor, email: str, first_name: str, last_name: str) -> User:
    """Change somebody's name or address."""
    user = _managed(user_id, actor)
    changes = apply_changes(user, email=email, first_name=first_name, last_name=last_name)
    if changes:
        _record(user, "identity.user.changed", actor, data={"fields": sorted(changes)})
    return user


@transaction.atomic
def set_password(*, user_id: str, password: str, actor: Actor) -> User:
    """Set a password; every session of the person ends with the old one."""
    user = _managed(user_id, actor)
    _set_password(user, password)
    user.save(update_fields=["password"])
    _record(user, "identity.user.password_set", actor)
    return user


@transaction.atomic
def deactivate_user(*, user_id: str, actor: Actor, reason: str = "") -> User:
    """Lock somebody out: sessions end and tokens are revoked, all at once."""
    user = _managed(user_id, actor)
    if apply_changes(user, is_active=False):
        _end_sessions(user)
        revoke_tokens_of(person=user, actor=actor, reason=reason)
        _record(user, "identity.user.deactivated", actor, reason=reason)
    return user


@transaction.atomic
def activate_user(*, user_id: str, actor: Actor, reason: str = "") -> User:
    """Let somebody in again; sessions and tokens from before stay dead."""
    user = _managed(user_id, actor)
    if apply_changes(user, is_active=True):
        _record(user, "identity.user.activated", actor, reason=reason)
    return user


@transaction.atomic
def end_sessions(*, user_id: str, actor: Actor, reason: str = "") -> User:
    """Sign somebody out everywhere."""
    user = _managed(user_id, actor)
    _end_sessions(user)
    _record(user, "identity.user.sessions_ended", actor, reason=reason)
    return user


def require_manageable(user: User, actor: Actor) -> None:
    """Refuse an actor whose authority does not cover everything the person is."""
    if actor.tenant_id is None or (actor.kind == "user" and actor.id == user.user_id):
        return
    # Whoever holds this account's password holds its roles elsewhere too.
    tenants = set(Membership.objects.filter(user=user).values_list("tenant_id", flat=True))
    if not tenants:
        raise coded_error("request.not_found")
    if user.is_superuser or tenants != {actor.tenant_id}:
        raise coded_error("person.beyond_tenant")


def _managed(user_id: str, actor: Actor) -> User:
    user = User.objects.select_for_update().filter(user_id=user_id).first()
    if user is None:
        raise coded_error("request.not_found")
    require_manageable(user, actor)
    return user


def _set_password(user: User, password: str | None) -> None:
    if password is None:
        user.set_unusable_password()
        return
    validate_password(password, user)
    user.set_password(password)


def _end_sessions(user: User) -> None:
    User.objects.filter(pk=user.pk).update(session_epoch=F("session_epoch") + 1)
    user.refresh_from_db(fields=["session_epoch"])


def _record(
    user: User, action: str, actor: Actor, *, reason: str = "", data: dict[str, Any] | None = None
) -> None:
    """In every tenant the person works in: each relies on the account."""
    tenants = sorted(set(Membership.objects.filter(user=user).values_list("tenant_id", flat=True)))
    _record_in(tenants or [PLATFORM_TENANT], user, action, actor, reason=reason, data=data)


def _record_in(
    tenants: list[str],
    user: User,
    action: str,
    actor: Actor,
    *,
    reason: str = "",
    data: dict[str, Any] | None = None,
) -> None:
    for tenant_id in tenants:
        record_event(
            tenant_id=tenant_id,
            action=action,
            actor=actor,
            subject_kind="user",
            subject_id=user.user_id,
            reason=reason,
            data=data,
        )
