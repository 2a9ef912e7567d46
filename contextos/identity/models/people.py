"""People and the roles they hold in each tenant."""

from __future__ import annotations

from datetime import datetime
from typing import Any, ClassVar

from django.contrib.auth.models import AbstractUser, Group, UserManager
from django.db import models, transaction
from django.utils import timezone
from django.utils.crypto import salted_hmac

from contextos.core.events import PLATFORM_TENANT, automation
from contextos.core.ids import new_id
from contextos.identity.events import record_event
from contextos.identity.models.tenants import Tenant


def new_user_id() -> str:
    """A fresh public id for a person."""
    return new_id("user")


class PeopleManager(UserManager["User"]):
    """Creates people; `createsuperuser` comes this way, so the record is written here."""

    def create_superuser(
        self,
        username: str,
        email: str | None = None,
        password: str | None = None,
        **extra_fields: Any,
    ) -> User:
        """Somebody who runs the installation; recorded like every other change."""
        with transaction.atomic(using=self.db):
            user = super().create_superuser(username, email, password, **extra_fields)
            record_event(
                tenant_id=PLATFORM_TENANT,
                action="identity.user.superuser_created",
                actor=automation("manage.py createsuperuser"),
                subject_kind="user",
                subject_id=user.user_id,
                data={"username": user.username},
            )
        return user


class User(AbstractUser):  # type: ignore[django-manager-missing] # django-otp has no types
    """A person. What they may do comes from memberships, never from `groups` or direct permissions.

    `acting_tenant_id` is set per request by the middleware; without it there are no permissions.
    """

    user_id = models.CharField(max_length=40, unique=True, default=new_user_id, editable=False)
    session_epoch = models.PositiveIntegerField(default=0, editable=False)

    acting_tenant_id: str | None = None

    objects: ClassVar[PeopleManager] = PeopleManager()

    class Meta(AbstractUser.Meta):
        verbose_name = "person"
        verbose_name_plural = "people"
        ordering = ["username"]
        default_permissions = ("add", "change", "view")

    def __str__(self) -> str:
        return self.get_full_name() or self.username

    def has_perm(self, perm: str, obj: Any = None) -> bool:
        """Django lets superusers do anything; here they too stay in the tenant they act in."""
        if self.is_active and self.is_superuser:
            home = getattr(obj, "tenant_id", None)
            return home in (None, self.acting_tenant_id, PLATFORM_TENANT)
        return super().has_perm(perm, obj)

    def _get_session_auth_hash(self, secret: Any = None) -> str:
        # Raising the epoch ends every session of this person at once, whatever the session store.
        return salted_hmac(
            "contextos.identity.session",
            f"{self.session_epoch}:{self.password}",
            secret=secret,
            algorithm="sha256",
        ).hexdigest()


class MembershipQuerySet(models.QuerySet["Membership"]):
    """Memberships by validity."""

    def current(self, at: datetime | None = None) -> MembershipQuerySet:
        """Those in force at a moment, of active people in active tenants."""
        moment = at or timezone.now()
        return self.filter(
            models.Q(valid_from__isnull=True) | models.Q(valid_from__lte=moment),
            models.Q(valid_until__isnull=True) | models.Q(valid_until__gt=moment),
            tenant__is_active=True,
            user__is_active=True,
        )


class Membership(models.Model):
    """One role that one person holds in one tenant, perhaps only for a time."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="memberships")
    tenant = models.ForeignKey(Tenant, on_delete=models.PROTECT, related_name="memberships")
    role = models.ForeignKey(Group, on_delete=models.PROTECT, related_name="memberships")
    valid_from = models.DateTimeField(null=True, blank=True)
    valid_until = models.DateTimeField(
        null=True, blank=True, help_text="Auditors need an end date; others may have none."
    )
    granted_by = models.CharField(max_length=150)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = MembershipQuerySet.as_manager()

    class Meta:
        ordering = ["tenant", "user", "role"]
        constraints = [
            models.UniqueConstraint(fields=["user", "tenant", "role"], name="membership_once"),
            models.CheckConstraint(
                name="membership_ends_after_it_begins",
                condition=models.Q(valid_from__isnull=True)
                | models.Q(valid_until__isnull=True)
                | models.Q(valid_until__gt=models.F("valid_from")),
            ),
        ]

    def __str__(self) -> str:
        return f"{self.user} as {self.role.name} in {self.tenant_id}"

    @property
    def state(self) -> str:
        """current, not yet valid or ended."""
        now = timezone.now()
        if self.valid_until and self.valid_until <= now:
            return "ended"
        return "not yet valid" if self.valid_from and self.valid_from > now else "current"
