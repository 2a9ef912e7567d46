"""Reads a manifest from a request body: strict JSON of at most five megabytes."""

from __future__ import annotations

from contextos.restkit.parsers import StrictJSONParser
from registry.manifest import MAX_MANIFEST_BYTES


class ManifestParser(StrictJSONParser):
    """As every body, but larger."""

    max_bytes = MAX_MANIFEST_BYTES
