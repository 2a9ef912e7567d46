"""The adapter manifest: read strictly, brought into one form, and seen through typed views."""

from registry.manifest.normalise import Normalised, normalise, normalise_with_origins
from registry.manifest.parse import MAX_MANIFEST_BYTES, load_manifest
from registry.manifest.view import Capability, Manifest, view

__all__ = [
    "MAX_MANIFEST_BYTES",
    "Capability",
    "Manifest",
    "Normalised",
    "load_manifest",
    "normalise",
    "normalise_with_origins",
    "view",
]
