"""Context Packs by REST."""

from __future__ import annotations

from registry.api.document_serializers import (
    PackHeadSerializer,
    PackSerializer,
    PackSummarySerializer,
)
from registry.api.filters import PackFilter, PackVersionFilter
from registry.api.views.documents import DocumentDesk, routes_for
from registry.models import ContextPackVersion
from registry.services import packs

PACKS = DocumentDesk(
    address="packs",
    model=ContextPackVersion,
    services=packs,
    lifecycle=packs.PACK_LIFECYCLE,
    head=PackHeadSerializer,
    summary=PackSummarySerializer,
    full=PackSerializer,
    list_filter=PackFilter,
    version_filter=PackVersionFilter,
)
ROUTES = routes_for(PACKS)
