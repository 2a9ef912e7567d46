"""The log to be read: events of the acting tenant, each checked against itself."""

from __future__ import annotations

from typing import Any

import orjson
from django.contrib import admin
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from audit.actions import catalogue, title_of
from audit.admin.window import within_window
from audit.models import AuditEvent
from audit.selectors import told_by, verify_event
from contextos.adminkit.actions import display
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.display import badge, when
from contextos.adminkit.navigation import MenuLine
from contextos.adminkit.paginator import BoundedPaginator
from contextos.adminkit.tenancy import acting_tenant
from contextos.core.events import PLATFORM_TENANT
from contextos.core.text import reveal_invisible


class ActionFilter(admin.SimpleListFilter):
    """By what was done; choices come from the catalogue, since DISTINCT would read the table."""

    title = "what was done"
    parameter_name = "action"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """Every declared action."""
        return sorted(catalogue().items(), key=lambda item: item[1])

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Exactly that action."""
        return queryset.filter(action=self.value()) if self.value() else queryset


class ActorKindFilter(admin.SimpleListFilter):
    """By who did it."""

    title = "who did it"
    parameter_name = "actor_kind"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        """The four kinds."""
        return [
            ("user", "a person"),
            ("agent", "an agent"),
            ("service", "a service"),
            ("automation", "a command or task"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        """Exactly that kind."""
        return queryset.filter(actor_kind=self.value()) if self.value() else queryset


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """Nothing here can be changed, on this page or in the database."""

    paginator = BoundedPaginator
    list_display = ["created", "what", "who", "subject", "reason"]
    list_filter = [ActionFilter, ActorKindFilter]
    search_fields = ["=event_id", "=subject_id", "=actor_id"]
    search_help_text = "The exact id of an event, a subject or an actor."
    ordering = ["-event_id"]
    fields = ["what", "who", "subject", "created", "reason", "verdict", "hash", "record"]
    readonly_fields = ["what", "who", "subject", "created", "reason", "verdict", "hash", "record"]
    nav_title = "Events"
    nav_icon = "history"
    nav_order = 10
    nav_more = [
        MenuLine(
            "Standing reports",
            "summarize",
            "admin:audit_reports",
            30,
            permission="audit.view_decisionrow",
        ),
        MenuLine(
            "The log", "account_tree", "admin:audit_log", 20, permission="audit.view_logcheck"
        ),
    ]
    empty_title = "Nothing has happened yet"
    empty_text = "Every change, by whomever, appears here and can never be removed."

    @display(description="When", ordering="event_id")
    def created(self, event: AuditEvent) -> SafeString:
        """The moment it was recorded."""
        return when(event.created_at)

    @display(description="What", ordering="action")
    def what(self, event: AuditEvent) -> str:
        """In words."""
        return title_of(event.action)

    @display(description="Who")
    def who(self, event: AuditEvent) -> str:
        """The actor's name as it was then."""
        return reveal_invisible(f"{told_by(event).who} ({event.actor_kind})")

    @display(description="Subject")
    def subject(self, event: AuditEvent) -> str:
        """What it was done to."""
        return reveal_invisible(f"{event.subject_kind} {event.subject_id}")

    @display(description="Reason")
    def reason(self, event: AuditEvent) -> str:
        """As given."""
        return reveal_invisible(told_by(event).reason) or "none given"

    @display(description="This row")
    def verdict(self, event: AuditEvent) -> SafeString:
        """Text, hashes and columns compared anew whenever the page is opened."""
        found = verify_event(event)
        if not found:
            return badge("verified: text, hashes and columns agree", "success")
        lines = format_html_join(
            "",
            "<li>{}: expected {}, found {}</li>",
            ((item.field, item.expected, item.found) for item in found),
        )
        return format_html("{}<ul>{}</ul>", badge("tampered with", "danger"), lines)

    @display(description="Leaf hash")
    def hash(self, event: AuditEvent) -> SafeString:
        """What the log will prove."""
        return format_html('<code class="cos-hash">sha256:{}</code>', bytes(event.leaf_hash).hex())

    @display(description="Record")
    def record(self, event: AuditEvent) -> SafeString:
        """The canonical text, set out for reading."""
        record = told_by(event).record
        shown = orjson.dumps(record, option=orjson.OPT_INDENT_2).decode() if record else event.text
        return format_html('<pre class="cos-record">{}</pre>', reveal_invisible(shown))

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """The acting tenant's events; installation administrators also see the installation's."""
        rows = AuditEvent.objects.filter(tenant_id__in=_readable(request)).order_by("-event_id")
        return within_window(request, rows)

    def _is_at_home(self, request: HttpRequest, obj: Model) -> bool:
        return getattr(obj, "tenant_id", None) in _readable(request)


def _readable(request: HttpRequest) -> list[str]:
    tenant = acting_tenant(request)
    own = [tenant.pk] if tenant is not None else []
    return [*own, PLATFORM_TENANT] if request.user.is_superuser else own
