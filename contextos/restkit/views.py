"""The base of every REST view."""

from __future__ import annotations

from typing import Any

from rest_framework import views
from rest_framework.request import Request

from contextos.core.errors import coded_error


class APIView(views.APIView):
    """Strict JSON in, JSON out, problem details on failure; the defaults stand in settings."""

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        """After the caller is known: an address that no database can hold names nothing."""
        super().initial(request, *args, **kwargs)
        if any("\x00" in str(value) for value in kwargs.values()):
            raise coded_error("request.not_found")
