"""Approver groups: who is in them is the platform admins' business, and always recorded."""

from __future__ import annotations

import re

from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction

from approvals.models import ApproverGroup
from audit.services import record_event
from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.identity.actors import require_authority
from contextos.identity.models import User

_NAME = re.compile(r"[a-z][a-z0-9_-]{0,99}")


@transaction.atomic
def create_group(*, tenant_id: str, name: str, title: str, actor: Actor) -> ApproverGroup:
    """A new, empty group."""
    require_authority(actor, tenant_id)
    if not _NAME.fullmatch(name) or not title.strip():
        raise coded_error("approver_group.invalid")
    try:
        with transaction.atomic():
            behind = Group.objects.create(name=f"gate:{tenant_id}:{name}"[:150])
            made = ApproverGroup.objects.create(
                tenant_id=tenant_id, name=name, title=title.strip()[:200], group=behind
            )
    except IntegrityError as clash:
        raise coded_error("approver_group.invalid", message=f"{name} exists already.") from clash
    _record(made, "created", actor, {"title": made.title})
    return made


@transaction.atomic
def add_person(*, group: ApproverGroup, user: User, actor: Actor) -> None:
    """Let a person vote where the group may; they still need the role in the tenant."""
    require_authority(actor, group.tenant_id)
    if actor.kind == "user" and actor.id == user.user_id:
        raise coded_error("approver_group.invalid", message="Nobody puts themselves into a group.")
    if not user.memberships.current().filter(tenant_id=group.tenant_id).exists():
        raise coded_error("approver_group.invalid", message=f"{user} is no member of this tenant.")
    group.group.user_set.add(user)
    _record(group, "joined", actor, {"user_id": user.user_id})


@transaction.atomic
def remove_person(*, group: ApproverGroup, user: User, actor: Actor) -> None:
    """Take a person out; from the next vote on."""
    require_authority(actor, group.tenant_id)
    if group.group.user_set.filter(pk=user.pk).exists():
        group.group.user_set.remove(user)
        _record(group, "left", actor, {"user_id": user.user_id})


def _record(group: ApproverGroup, word: str, actor: Actor, data: dict[str, str]) -> None:
    record_event(
        tenant_id=group.tenant_id,
        action=f"approver_group.{word}",
        actor=actor,
        subject_kind="approver_group",
        subject_id=group.name,
        data=data,
    )
