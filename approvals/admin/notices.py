"""Admin pages of notices: what was sent, what failed and why, and everybody's own choice."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import CharField, OuterRef, QuerySet, Subquery
from django.db.models.functions import Cast
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html
from django.utils.safestring import SafeString

from approvals.admin.notice_filters import StateFilter, state_of
from approvals.links import request_path
from approvals.models import Notice, Webhook
from approvals.services.notices import choose_notices, try_again, wishes_of
from contextos.adminkit.actions import action, display
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.confirmation import Question, confirm
from contextos.adminkit.display import badge, when
from contextos.adminkit.tenancy import acting_tenant
from contextos.identity.actors import actor_of
from contextos.identity.models import User

_CHANNELS = {"email": "E-mail", "signed": "Webhook", "chat": "Chat"}


@admin.register(Notice)
class NoticeAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """The outbox: each message with its receiver, its attempts and its last fault."""

    list_display = ["event", "to", "how", "state", "last_error", "due", "short_link"]
    list_display_links = ["event"]
    list_filter = [StateFilter, "event", "channel"]
    search_fields = ["approval_id"]
    fields = ["request_link", "event", "how", "to", "state", "attempts", "last_error", "due"]
    readonly_fields = ["request_link", "how", "to", "state", "due"]
    actions_detail = ["retry"]
    nav_title = "Notices"
    nav_icon = "outgoing_mail"
    nav_order = 80
    empty_title = "No notices yet"
    empty_text = (
        "When a request waits at a gate, its approvers get an e-mail and your webhooks a call. "
        "Each message is listed here, with the reason if it could not be sent."
    )

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the receivers' names, in the same statement."""
        people = User.objects.filter(user_id=OuterRef("receiver"))
        hooks = Webhook.objects.annotate(text=Cast("pk", CharField())).filter(
            text=OuterRef("receiver"), tenant_id=OuterRef("tenant_id")
        )
        rows: QuerySet[Any] = super().get_queryset(request)
        named: QuerySet[Any] = rows.annotate(
            person_name=Subquery(people.values("username")[:1]),
            hook_name=Subquery(hooks.values("name")[:1]),
        )
        return named

    def get_urls(self) -> list[URLPattern]:
        """Everybody's own page stands beside the list."""
        mine = path(
            "mine/",
            self.admin_site.admin_view(my_notifications),
            name="approvals_my_notifications",
        )
        return [mine, *super().get_urls()]

    @display(description="Request", ordering="approval_id")
    def request_link(self, notice: Notice) -> SafeString:
        """Leads to the request."""
        address = request_path(notice.approval_id)
        return format_html('<a href="{}"><code>{}</code></a>', address, notice.approval_id)

    @display(description="Request", ordering="approval_id")
    def short_link(self, notice: Notice) -> SafeString:
        """The end of the id tells requests apart; the whole one is on the notice's page."""
        address, name = request_path(notice.approval_id), notice.approval_id
        return format_html(
            '<a href="{}" title="{}" aria-label="Request {}"><code>{}</code></a>',
            address,
            name,
            name,
            name[-6:],
        )

    @display(description="By", ordering="channel")
    def how(self, notice: Notice) -> str:
        """The channel in words."""
        return _CHANNELS.get(notice.channel, notice.channel)

    @display(description="To")
    def to(self, notice: Any) -> str:
        """A person's or a webhook's name."""
        name = notice.person_name if notice.channel == "email" else notice.hook_name
        return str(name or "gone meanwhile")

    @display(description="State")
    def state(self, notice: Notice) -> SafeString:
        """Sent, waiting, failed, or not needed any more."""
        word, tone = state_of(notice)
        return badge(word, tone)

    @display(description="Sent or next try", ordering="due_at")
    def due(self, notice: Notice) -> SafeString:
        """When it was sent, given up, or will be tried."""
        return when(notice.sent_at or notice.failed_at or notice.due_at)

    def has_resend_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Platform admins and operators."""
        return request.user.has_perm("approvals.resend_notice")

    @action(description="Try again", permissions=["resend"])
    def retry(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send a failed message once more."""
        notice = self.get_object(request, object_id)
        if notice is None:
            raise Http404
        question = Question(
            title="Try the message again",
            text="It is sent within seconds, and tried several times if that fails.",
            button="Try again",
            done="The message is on its way again.",
            form_class=forms.Form,
        )
        return confirm(
            self,
            request,
            notice,
            question,
            lambda _: try_again(
                mark=notice.pk, tenant_id=notice.tenant_id, actor=actor_of(request)
            ),
        )

    def get_actions_detail(self, request: HttpRequest, object_id: Any) -> list[Any]:
        """Only a message that failed has the button."""
        found: list[Any] = super().get_actions_detail(request, object_id)  # type: ignore[misc]
        notice = self.get_object(request, str(object_id))
        return found if notice is not None and notice.failed_at is not None else []


class WishForm(forms.Form):
    """What to hear of by e-mail."""

    on_request = forms.BooleanField(
        required=False,
        label="A request waits for me",
        help_text="When it opens, reaches my stage, or is escalated to me.",
    )
    on_reminder = forms.BooleanField(
        required=False,
        label="Reminders",
        help_text="While a request still waits, at the times its gate sets.",
    )
    on_outcome = forms.BooleanField(
        required=False,
        label="How it ended",
        help_text="Approved, rejected, expired, cancelled or voided.",
    )


def my_notifications(request: HttpRequest) -> HttpResponse:
    """A person's own page, about the tenant they act in."""
    user, tenant = request.user, acting_tenant(request)
    if not isinstance(user, User) or tenant is None:
        raise PermissionDenied
    tenant_id = str(tenant.pk)
    posted = request.POST if request.method == "POST" else None
    form = WishForm(posted, initial=wishes_of(user, tenant_id))
    if form.is_bound and form.is_valid():
        choose_notices(user=user, tenant_id=tenant_id, **form.cleaned_data)
        messages.success(request, "Your choice is kept.")
        return HttpResponseRedirect(request.path)
    context = {
        **admin.site.each_context(request),
        "title": "My notifications",
        "form": form,
        "tenant": tenant,
        "address": user.email,
    }
    return TemplateResponse(request, "approvals/my_notifications.html", context)
