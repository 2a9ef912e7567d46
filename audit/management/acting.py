"""In whose name a command acts on the log: a person with the role, whom the record names."""

from __future__ import annotations

from django.db.models import Q

from contextos.core.errors import coded_error
from contextos.core.events import Actor
from contextos.identity.access import roles_of
from contextos.identity.actors import person
from contextos.identity.models import User


def acting_person(name: str, tenant_id: str, *, roles: frozenset[str]) -> Actor:
    """The person of that name or id, if they hold one of the roles there."""
    user = User.objects.filter(Q(username=name) | Q(user_id=name)).first()
    if user is None:
        raise coded_error("request.not_found", message=f"There is no person called {name}.")
    if roles.isdisjoint(roles_of(user, tenant_id)):
        raise coded_error("role.missing", data={"roles": sorted(roles)})
    return person(user, tenant_id)
