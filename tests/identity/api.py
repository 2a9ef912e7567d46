"""A few REST views for tests of authentication, served as their own urlconf."""

from __future__ import annotations

from django.urls import path
from rest_framework.request import Request
from rest_framework.response import Response

from contextos.identity.authentication import read_delegation
from contextos.identity.permissions import HasRole, IsPerson
from contextos.identity.principals import principal_of
from contextos.restkit.views import APIView


class WhoAmI(APIView):
    """Says who calls, and for whom."""

    def get(self, request: Request) -> Response:
        """The caller."""
        caller, person = principal_of(request), read_delegation(request)
        return Response(
            {
                "kind": caller.kind,
                "id": caller.id,
                "tenant_id": caller.tenant_id,
                "for": person.id if person else None,
            }
        )


class PeopleOnly(WhoAmI):
    """Agents are refused."""

    permission_classes = [IsPerson]


class AuditorsOnly(WhoAmI):
    """Others are refused."""

    permission_classes = [HasRole]
    required_roles = ["auditor"]


class NobodyAtAll(WhoAmI):
    """Forgot to say which roles."""

    permission_classes = [HasRole]


urlpatterns = [
    path("api/whoami", WhoAmI.as_view()),
    path("api/people", PeopleOnly.as_view()),
    path("api/auditors", AuditorsOnly.as_view()),
    path("api/nobody", NobodyAtAll.as_view()),
]
