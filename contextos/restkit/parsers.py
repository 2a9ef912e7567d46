"""Reads request bodies as strict JSON objects, within a size bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import IO, Any

from rest_framework.parsers import BaseParser

from contextos.core import strict_json


class StrictJSONParser(BaseParser):
    """One JSON object in UTF-8; repeated keys, NaN and oversized bodies are refused."""

    media_type = "application/json"
    max_bytes = strict_json.MAX_BYTES

    def parse(
        self,
        stream: IO[Any],
        media_type: str | None = None,
        parser_context: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Read one byte more than allowed, so that an oversized body is noticed, not cut."""
        body = stream.read(self.max_bytes + 1)
        return dict(strict_json.loads_object(body, max_bytes=self.max_bytes))
