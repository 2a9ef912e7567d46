"""What every view of the registry has in common: roles by method, the caller, the tenant's rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NoReturn, TypeVar

from django.utils.cache import patch_cache_control, patch_vary_headers
from rest_framework import generics, serializers
from rest_framework.permissions import SAFE_METHODS
from rest_framework.request import Request
from rest_framework.response import Response

from contextos.core.errors import coded_error
from contextos.identity.models import User
from contextos.identity.permissions import HasRole
from contextos.identity.principals import Principal, principal_of
from contextos.restkit.views import APIView
from registry.models import Adapter, AdapterVersion
from registry.roles import READERS
from registry.selectors import adapters_of, find_version

S = TypeVar("S", bound=serializers.BaseSerializer[Any])


class MayChangeRegistry(HasRole):
    """A person who holds the method's role, with a token that was not narrowed for an agent."""

    def has_permission(self, request: Request, view: Any) -> bool:
        """A token narrowed to some capabilities is handed to agents; they must not govern by it."""
        if not super().has_permission(request, view):
            return False
        if request.method not in SAFE_METHODS and principal_of(request).scopes is not None:
            raise coded_error(
                "auth.scope",
                message="This token is narrowed to capabilities and can't change the registry.",
                remediation="Use a token of yours that was issued without scopes.",
            )
        return True


class RegistryView(APIView):
    """Reading is for all roles of the registry; a view says who may use its other methods."""

    permission_classes = [MayChangeRegistry]
    roles_by_method: Mapping[str, frozenset[str]] = {}

    @property
    def required_roles(self) -> frozenset[str]:
        """The roles that the method at hand asks for."""
        return self.roles_by_method.get(self.request.method or "", READERS)

    @property
    def principal(self) -> Principal:
        """The caller."""
        return principal_of(self.request)

    @property
    def tenant_id(self) -> str:
        """The caller's tenant: nothing of another one exists here."""
        return self.principal.tenant_id

    def person(self) -> User:
        """Who writes or reviews; not the holder of a token that somebody else issued for them.

        Whoever issues tokens could otherwise write as one person and approve as another.
        """
        if self.principal.lent:
            raise coded_error(
                "permission.denied",
                message="Somebody else issued this token, so nothing is written or reviewed by it "
                "in your name.",
                remediation="Use the admin pages, or a token that you issued yourself or that was "
                "made with `manage.py issue_token --user`.",
            )
        return User.objects.get(user_id=self.principal.id)

    def adapter(self) -> Adapter:
        """The adapter of the address."""
        found = adapters_of(self.tenant_id).filter(adapter_id=self.kwargs["adapter_id"]).first()
        return found or _absent()

    def version(self, name: str | None = None) -> AdapterVersion:
        """The version of the address, or another one of the same adapter."""
        wanted = name if name is not None else self.kwargs["version"]
        found = find_version(self.tenant_id, self.kwargs["adapter_id"], wanted)
        return found or _absent()

    def body(self, kind: type[S]) -> dict[str, Any]:
        """The request's body, checked by a serializer."""
        read = kind(data=self.request.data)
        read.is_valid(raise_exception=True)
        return dict(read.validated_data)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """Answers belong to the caller alone and are asked for again each time."""
        final = super().finalize_response(request, response, *args, **kwargs)
        if not final.has_header("Cache-Control"):
            patch_cache_control(final, private=True, no_cache=True)
        patch_vary_headers(final, ["Authorization"])
        return final


class RegistryList(RegistryView, generics.GenericAPIView[Any]):
    """A page of rows, filtered; a filter nobody knows is refused rather than ignored."""

    keyset_ordering: tuple[str, ...]

    def page(self) -> Response:
        """One page of the filtered rows."""
        self._refuse_unknown_parameters()
        rows = self.filter_queryset(self.get_queryset())
        found = self.paginate_queryset(rows)
        return self.get_paginated_response(self.get_serializer(found, many=True).data)

    def _refuse_unknown_parameters(self) -> None:
        filters = getattr(self, "filterset_class", None)
        known = {"limit", "cursor", *(filters.base_filters if filters else ())}
        unknown = sorted(set(self.request.query_params) - known)
        if unknown:
            raise coded_error(
                "request.invalid",
                message=f"There is no filter called {unknown[0][:50]}.",
                data={"unknown": [name[:50] for name in unknown[:10]], "known": sorted(known)},
            )


def _absent() -> NoReturn:
    raise coded_error("request.not_found")
