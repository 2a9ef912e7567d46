"""In whose name a command writes a draft: somebody who may, and who then can't approve it."""

from __future__ import annotations

from django.db.models import Q

from contextos.core.errors import coded_error
from contextos.identity.access import roles_of
from contextos.identity.models import Membership, User
from registry.roles import AUTHORS


def named_author(name: str, tenant_id: str) -> User:
    """The person of that name or id, if they may write manifests there."""
    user = User.objects.filter(Q(username=name) | Q(user_id=name)).first()
    if user is None:
        raise coded_error("request.not_found", message=f"There is no person called {name}.")
    if AUTHORS.isdisjoint(roles_of(user, tenant_id)):
        raise coded_error("role.missing", data={"roles": sorted(AUTHORS)})
    return user


def default_author(tenant_id: str) -> User:
    """The tenant's longest-serving manifest author, else its first platform admin."""
    members = Membership.objects.current().filter(tenant_id=tenant_id).order_by("pk")
    for role in ("manifest_author", "platform_admin"):
        found = members.filter(role__name=role).select_related("user").first()
        if found is not None:
            return found.user
    raise coded_error(
        "role.missing",
        message=f"Nobody in {tenant_id} may write manifests.",
        remediation="Give somebody the role manifest_author there, or name one with --author.",
    )
