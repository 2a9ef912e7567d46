"""The file of an export as an answer to a request."""

from __future__ import annotations

import base64
from pathlib import Path

from django.http import FileResponse

from audit.export.formats import WRITERS
from audit.models import ExportJob


def file_response(job: ExportJob, path: Path) -> FileResponse:
    """The file as something to keep, never to be shown in place."""
    kind = WRITERS[job.format]
    answer = FileResponse(
        path.open("rb"),
        as_attachment=True,
        filename=f"contextos-{job.tenant_id}-{job.pk}.{kind.extension}",
        content_type=kind.media_type,
    )
    digest = base64.b64encode(bytes.fromhex(job.sha256)).decode()
    answer["Repr-Digest"] = f"sha-256=:{digest}:"
    answer["ETag"] = f'"{job.sha256}"'
    answer["Cache-Control"] = "private, no-store"
    return answer
