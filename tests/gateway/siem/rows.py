"""Streams to a SIEM as rows."""

from __future__ import annotations

from typing import Any

from contextos.identity.models import Tenant
from gateway.models import SiemStream
from gateway.siem.services import create_stream
from tests.factories import SYSTEM


def make_stream(tenant: Tenant, name: str = "Splunk", **changes: Any) -> SiemStream:
    values: dict[str, Any] = {
        "transport": "webhook",
        "address": "http://127.0.0.1:9/in",
        "format": "jsonl",
        "from_beginning": True,
        **changes,
    }
    return create_stream(tenant_id=tenant.pk, name=name, actor=SYSTEM, **values)
