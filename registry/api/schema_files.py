"""Serves the published JSON Schemas: every `schemas/*.schema.json` of an installed app."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from django.apps import apps
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import conditional_page, require_safe

from contextos.core.errors import coded_error
from contextos.restkit.problems import problem_response

_SUFFIX = ".schema.json"
# The version is part of the name, so what is served under it hardly ever changes.
_CACHE_CONTROL = "public, max-age=604800"
_MEDIA_TYPE = "application/schema+json"


@dataclass(frozen=True, slots=True)
class SchemaFile:
    """One published schema, read once."""

    content: bytes
    etag: str


@cache
def published_schemas() -> dict[str, SchemaFile]:
    """File name -> schema, over all apps; a name can be published only once."""
    found: dict[str, SchemaFile] = {}
    for config in apps.get_app_configs():
        for path in sorted(Path(config.path, "schemas").glob(f"*{_SUFFIX}")):
            if path.name in found:
                raise RuntimeError(f"two apps publish the schema {path.name}")
            content = path.read_bytes()
            found[path.name] = SchemaFile(content, f'"{hashlib.sha256(content).hexdigest()}"')
    return found


@require_safe
@conditional_page
def schema_file_view(request: HttpRequest, name: str) -> HttpResponse:
    """One schema; public, because clients validate with it before they have a token."""
    found = published_schemas().get(name)
    if found is None:
        return problem_response(coded_error("request.not_found"), request)
    headers = {"ETag": found.etag, "Cache-Control": _CACHE_CONTROL}
    return HttpResponse(found.content, content_type=_MEDIA_TYPE, headers=headers)


@require_safe
@conditional_page
def schema_index_view(request: HttpRequest) -> HttpResponse:
    """The names of all published schemas."""
    names = [f"{request.path}{name}" for name in sorted(published_schemas())]
    return JsonResponse({"results": names, "next": None})
