"""The bases of every REST view."""

from __future__ import annotations

from typing import Any

from django.utils.cache import patch_cache_control, patch_vary_headers
from rest_framework import views
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request
from rest_framework.response import Response

from contextos.core.errors import coded_error


class APIView(views.APIView):
    """Strict JSON in, JSON out, problem details on failure; the defaults stand in settings."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """After the caller is known: an address that no database can hold names nothing."""
        super().initial(request, *args, **kwargs)
        if any("\x00" in str(value) for value in kwargs.values()):
            raise coded_error("request.not_found")
        if _is_unreadable(request):
            raise coded_error("request.length_missing")

    def perform_content_negotiation(
        self, request: Request, force: bool = False
    ) -> tuple[BaseRenderer, str]:
        """Where there is one way to answer and the caller takes any, nothing is to be weighed."""
        renderers, asked = self.get_renderers(), request.META
        accepted = asked.get("HTTP_ACCEPT", "*/*")
        plain = len(renderers) == 1 and accepted in ("*/*", renderers[0].media_type)
        if not plain or asked.get("QUERY_STRING") or self.format_kwarg is not None:
            return super().perform_content_negotiation(request, force)
        return renderers[0], renderers[0].media_type


class PrivateAPIView(APIView):
    """Answers belong to the caller alone and are kept nowhere."""

    def finalize_response(
        self, request: Request, response: Any, *args: Any, **kwargs: Any
    ) -> Response:
        """Said to every cache on the way."""
        final = super().finalize_response(request, response, *args, **kwargs)
        patch_cache_control(final, private=True, no_store=True)
        patch_vary_headers(final, ["Authorization"])
        return final


def _is_unreadable(request: Request) -> bool:
    """From a WSGI server Django reads nothing of a body in chunks: it would count as empty."""
    return "HTTP_TRANSFER_ENCODING" in request.META and "wsgi.input" in request.META
