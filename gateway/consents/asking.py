"""What a call waits for when it waits for consent, and where its person says yes or no."""

from __future__ import annotations

from django.conf import settings
from django.urls import reverse

from contextos.core.errors import ContextOSError, coded_error
from gateway.credentials.error_codes import CONSENT_NEEDED
from gateway.models import ConsentRequest, ConsentState, ToolCall


def pending_request(call: ToolCall) -> ConsentRequest | None:
    """What this call waits for, if it is a consent."""
    rows = ConsentRequest.objects.filter(tool_call_id=call.pk, state=ConsentState.PENDING)
    return rows.first()


def consent_error(request: ConsentRequest) -> ContextOSError:
    """What the caller is told meanwhile."""
    return coded_error(
        CONSENT_NEEDED,
        data={
            "consent_url": consent_url(request),
            "scopes": list(request.scopes),
            "user_id": request.user_id,
        },
    )


def consent_url(request: ConsentRequest) -> str:
    """Where the person goes. The address is no secret: it serves only whom it is for."""
    return f"{settings.PUBLIC_URL}{reverse('admin:gateway_consent', args=[request.pk])}"
