"""Exports as REST shows and takes them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from drf_spectacular.utils import OpenApiExample
from rest_framework import serializers

from audit.export.columns import NAMES as COLUMN_NAMES
from audit.export.progress import progress_of
from audit.export.services import ExportRequest
from audit.export.states import ExportFormat, ExportState
from audit.models import ExportJob
from contextos.core.clock import format_time
from contextos.core.errors import coded_error

TITLE_LIMIT = 200
_MEMBERS = frozenset({"format", "filter", "columns", "sample", "title"})


def read_request(body: Mapping[str, Any]) -> ExportRequest:
    """The body of `POST exports`; a member nobody knows, or of another type, is 400."""
    unknown = sorted(set(body) - _MEMBERS)
    if unknown:
        raise _malformed(f"There is no member called {unknown[0][:50]}.")
    if not isinstance(body.get("format"), str):
        raise _malformed(f"format is one of {', '.join(ExportFormat.values)}.")
    if not isinstance(body.get("filter", {}), Mapping):
        raise _malformed("filter is an object of filter names and texts.")
    if not isinstance(body.get("columns", []), list):
        raise _malformed("columns is a list of column names.")
    if not isinstance(body.get("title", ""), str) or len(body.get("title", "")) > TITLE_LIMIT:
        raise _malformed(f"title is a text of at most {TITLE_LIMIT} characters.")
    return ExportRequest(
        format=body["format"],
        filter=body.get("filter", {}),
        columns=body.get("columns", []),
        sample=body.get("sample"),
        title=body.get("title", ""),
    )


def document_of(job: ExportJob) -> dict[str, Any]:
    """One export."""
    error = {"code": job.error_code, "message": job.error_text} if job.error_code else None
    return {
        "export_id": job.pk,
        "state": str(job.state),
        "progress": progress_of(job),
        "rows": job.rows,
        "format": str(job.format),
        "filter": job.filter,
        "columns": job.columns,
        "sample": job.sample,
        "title": job.title,
        "requested_by": job.requested_by,
        "created_at": format_time(job.created_at),
        "finished_at": format_time(job.finished_at) if job.finished_at else None,
        "expires_at": format_time(job.expires_at),
        "size_bytes": job.size_bytes if job.sha256 else None,
        "sha256": job.sha256 or None,
        "missing": job.missing,
        "error": error,
    }


def _malformed(message: str) -> Exception:
    return coded_error("request.invalid", message=message)


# --- for the API description ----------------------------------------------------------------------
class SampleSerializer(serializers.Serializer[Any]):
    """A random sample that anybody can draw again."""

    size = serializers.IntegerField(min_value=1, max_value=10_000)
    seed = serializers.CharField(required=False, help_text="Drawn for you when absent.")


class ExportRequestSerializer(serializers.Serializer[Any]):
    """What to export. Filter names are those of `decision-records`."""

    format = serializers.ChoiceField(choices=ExportFormat.choices)
    filter = serializers.DictField(child=serializers.CharField(), required=False)
    columns = serializers.ListField(
        child=serializers.ChoiceField(choices=COLUMN_NAMES), required=False
    )
    sample = SampleSerializer(required=False, allow_null=True)
    title = serializers.CharField(required=False, max_length=TITLE_LIMIT)


class ExportAcceptedSerializer(serializers.Serializer[Any]):
    """The export that will be written."""

    export_id = serializers.CharField()
    state = serializers.ChoiceField(choices=ExportState.choices)


class ExportErrorSerializer(serializers.Serializer[Any]):
    """Why there is no file."""

    code = serializers.CharField()
    message = serializers.CharField()


class ExportSerializer(serializers.Serializer[Any]):
    """An export as it stands."""

    export_id = serializers.CharField()
    state = serializers.ChoiceField(choices=ExportState.choices)
    progress = serializers.FloatField(min_value=0, max_value=1, help_text="1 when it is done.")
    rows = serializers.IntegerField(help_text="Records written so far.")
    format = serializers.ChoiceField(choices=ExportFormat.choices)
    filter = serializers.DictField(child=serializers.CharField())
    columns = serializers.ListField(child=serializers.CharField())
    sample = SampleSerializer(allow_null=True)
    title = serializers.CharField()
    requested_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    finished_at = serializers.DateTimeField(allow_null=True)
    expires_at = serializers.DateTimeField(help_text="When the file is removed.")
    size_bytes = serializers.IntegerField(allow_null=True)
    sha256 = serializers.CharField(allow_null=True, help_text="Of the file.")
    missing = serializers.IntegerField(help_text="Selected records whose text is not there.")
    error = ExportErrorSerializer(allow_null=True)


_ID = "exp_01k9zq7w8x5e3m2n4p6r8t0v2w"
ASK = OpenApiExample(
    "Refunds of October as a signed bundle",
    request_only=True,
    value={
        "format": "bundle",
        "filter": {
            "from": "2026-10-01T00:00:00Z",
            "to": "2026-11-01T00:00:00Z",
            "capability": "payments.issue_refund",
        },
    },
)
ACCEPTED = OpenApiExample(
    "It waits for a worker",
    response_only=True,
    status_codes=["202"],
    value={"export_id": _ID, "state": "queued"},
)
DONE = OpenApiExample(
    "Ready to be fetched",
    response_only=True,
    status_codes=["200"],
    value={
        "export_id": _ID,
        "state": "done",
        "progress": 1.0,
        "rows": 1284,
        "format": "bundle",
        "filter": {
            "from": "2026-10-01T00:00:00.000Z",
            "to": "2026-11-01T00:00:00.000Z",
            "capability": "payments.issue_refund",
        },
        "columns": [],
        "sample": None,
        "title": "",
        "requested_by": "user_01k9zq7w8x5e3m2n4p6r8t0v2w",
        "created_at": "2026-11-02T08:00:00.000Z",
        "finished_at": "2026-11-02T08:00:04.000Z",
        "expires_at": "2026-11-09T08:00:00.000Z",
        "size_bytes": 918_220,
        "sha256": "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "missing": 0,
        "error": None,
    },
)
