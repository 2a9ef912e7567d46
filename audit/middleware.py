"""Every page and every REST answer that an auditor is shown is itself recorded (E3)."""

from __future__ import annotations

from collections.abc import Callable

from django.http import HttpRequest, HttpResponse

from audit.admin.window import is_only_auditor
from audit.views_recorded import record_page
from contextos.core.events import Actor
from contextos.identity.actors import actor_of
from contextos.identity.models import User
from contextos.identity.principals import Principal
from contextos.identity.roles import AUDITOR

_PAGES, _REST = "/admin/", "/api/v1/"
# One's own account, and scripts of pages.
_OWN = frozenset(
    {
        *("login", "logout", "verify", "jsi18n", "change_tenant", "approvals_my_notifications"),
        *("account", "account_authenticator", "account_recovery_codes"),
        *("password_change", "password_change_done"),
    }
)
# These say more of the look than an address does.
_RECORD_THEMSELVES = frozenset(
    {
        *("audit_decisionrow_changelist", "gateway_record", "gateway_record_proof"),
        *("audit_report", "decision-records", "decision-record"),
    }
)
_PASSED_BY = _OWN | _RECORD_THEMSELVES


class AuditorLooksMiddleware:
    """What could not be recorded is not shown; whoever is more than an auditor is not followed."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        """Answer, and note that it was seen."""
        response = self.get_response(request)
        if response.status_code == 200:
            auditor = _auditor(request)
            if auditor is not None:
                _note(request, auditor)
        return response


def _auditor(request: HttpRequest) -> Actor | None:
    """Whoever reads as an auditor and as nothing else."""
    person: object = getattr(request, "user", None)
    if isinstance(person, Principal):
        return person.as_actor() if person.is_person and set(person.roles) == {AUDITOR} else None
    if not request.path_info.startswith(_PAGES) or not isinstance(person, User):
        return None
    return actor_of(request) if is_only_auditor(request) else None


def _note(request: HttpRequest, auditor: Actor) -> None:
    match = request.resolver_match
    name = (match.url_name if match else "") or ""
    if name in _PASSED_BY or auditor.tenant_id is None:
        return
    surface = "rest" if request.path_info.startswith(_REST) else "admin"
    record_page(tenant_id=auditor.tenant_id, actor=auditor, path=request.path_info, surface=surface)
