"""Reads a manifest from bytes: strict JSON, bounded, and an object."""

from contextos.core import strict_json
from registry.manifest.view import Manifest, view

MAX_MANIFEST_BYTES = 5 * 1024 * 1024


def load_manifest(data: bytes | str) -> Manifest:
    """The manifest in some bytes; raises a `json.*` coded error when they hold none."""
    return view(strict_json.loads_object(data, max_bytes=MAX_MANIFEST_BYTES))
