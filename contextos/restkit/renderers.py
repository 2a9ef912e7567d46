"""Writes answers as JSON: with orjson, or canonically where the same answer is given twice."""

from __future__ import annotations

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import orjson
from django.utils.functional import Promise
from rest_framework.renderers import BaseRenderer

from contextos.core.canonical import canonicalise
from contextos.core.errors import ContextOSError


class JSONRenderer(BaseRenderer):
    """Compact UTF-8 JSON; always valid, because orjson never writes NaN or Infinity."""

    media_type = "application/json"
    format = "json"
    charset = None
    render_style = "binary"

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The body; nothing at all for an answer without content."""
        if data is None:
            return b""
        try:
            return orjson.dumps(data, default=_plain, option=orjson.OPT_NON_STR_KEYS)
        except orjson.JSONEncodeError:  # an integer beyond 64 bits, echoed to whoever sent it
            return json.dumps(data, default=_plain, allow_nan=False).encode()


class CanonicalJSONRenderer(JSONRenderer):
    """RFC 8785: what was kept canonically and is read back is written as it was the first time."""

    def render(
        self,
        data: Any,
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        """The canonical body; what has no such form was never kept, and is written plainly."""
        if data is None:
            return b""
        try:
            return canonicalise(data)
        except ContextOSError:
            return super().render(data, accepted_media_type, renderer_context)


def _plain(value: object) -> object:
    """Values orjson does not know: lazy texts, exact numbers, mappings that are no dict."""
    if isinstance(value, Promise | Decimal):
        return str(value)
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(f"{type(value).__name__} can't be written as JSON")
