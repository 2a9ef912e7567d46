"""ETags of versions: the digest of the document, then a mark for everything around it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from typing import Any

import orjson
from rest_framework.request import Request

from contextos.core.errors import coded_error
from contextos.review.models import ReviewedVersion

_TAG = re.compile(r'\s*(?:W/)?"(?P<tag>[^"]*)"\s*(?:,|$)')
# The digest stands for these; hashing them again would only cost time.
_COVERED = frozenset({"manifest", "document", "envelope"})


def etag_of(version: ReviewedVersion, rendered: Mapping[str, Any]) -> str:
    """Changes with the document and with everything else the answer shows."""
    around = {name: value for name, value in rendered.items() if name not in _COVERED}
    mark = hashlib.sha256(orjson.dumps(around, option=orjson.OPT_SORT_KEYS)).hexdigest()
    return f'"{version.digest}.{mark[:16]}"'


def expected_digest(request: Request) -> str | None:
    """The digest that If-Match names; None where the caller does not care.

    A comment or a kill switch in between is no reason to refuse an edit, so only the document's
    part of the tag counts; the bare digest serves as well.
    """
    header = request.headers.get("If-Match")
    if header is None or header.strip() == "*":
        return None
    tags = [match["tag"] for match in _TAG.finditer(header)]
    if len(tags) != 1:
        raise coded_error("request.invalid", message="If-Match takes one ETag, as it was served.")
    return tags[0].partition(".")[0]
