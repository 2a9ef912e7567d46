"""The base of every REST view."""

from __future__ import annotations

from rest_framework import views


class APIView(views.APIView):
    """Strict JSON in, JSON out, problem details on failure; the defaults stand in settings."""
