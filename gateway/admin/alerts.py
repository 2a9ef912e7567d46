"""Alerts and who is told of them: what happened, whether the messages went out, the receivers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from contextos.adminkit.actions import display
from contextos.adminkit.base import ReadOnlyAdmin, TenantScopedAdmin
from contextos.adminkit.display import Tone, badge, relative, when
from contextos.adminkit.navigation import MenuLine
from contextos.adminkit.secrets import secret_field
from contextos.core.text import reveal_invisible
from contextos.identity.actors import actor_of
from contextos.net.signed_posts import SHORTEST_SECRET
from gateway import alert_receivers
from gateway.models import Alert, AlertKind, AlertNotice, AlertReceiver

if TYPE_CHECKING:  # Django's form classes are generic to the type checker only
    _ModelForm = forms.ModelForm[AlertReceiver]
else:
    _ModelForm = forms.ModelForm

_TONES: dict[str, Tone] = {
    AlertKind.BREAKER_OPEN: "warning",
    AlertKind.UNKNOWN_OUTCOME: "danger",
    AlertKind.POLICY_ERROR: "danger",
    AlertKind.SEALING_LATE: "danger",
    AlertKind.OUTSIDE_FAILING: "danger",
}
_ABOUT_THE_LOG = frozenset({AlertKind.SEALING_LATE, AlertKind.OUTSIDE_FAILING})


@admin.register(Alert)
class AlertAdmin(ReadOnlyAdmin, TenantScopedAdmin):
    """What operators were told of, newest first."""

    class Media:
        css = {"all": ["contextos/gateway.css"]}

    list_display = ["what", "subject", "told", "happened"]
    list_filter = ["kind"]
    search_fields = ["subject"]
    ordering = ["-alert_id"]
    fields = ["what", "about", "happened", "known", "messages_sent"]
    readonly_fields = ["what", "about", "happened", "known", "messages_sent"]
    nav_icon = "notifications_active"
    nav_order = 60
    nav_more = [
        MenuLine(
            "Adapter health",
            "monitor_heart",
            "admin:gateway_health",
            20,
            "gateway.panels.resting_count",
        )
    ]
    empty_title = "No alerts"
    empty_text = (
        "A breaker that opens, a call whose outcome nobody knows, a policy that can't be "
        "evaluated and a log that is sealed late appear here, and are told to the receivers you "
        "name."
    )
    empty_action = ("Name a receiver", "admin:gateway_alertreceiver_add")
    empty_action_elsewhere = True

    def get_queryset(self, request: HttpRequest) -> QuerySet[Alert]:
        """With the messages, in one more statement."""
        return super().get_queryset(request).prefetch_related("notices__receiver")

    @display(description="Alert", ordering="kind")
    def what(self, alert: Alert) -> SafeString:
        """What kind of thing happened."""
        return badge(alert.get_kind_display(), _TONES.get(alert.kind, "neutral"))

    @display(description="About")
    def about(self, alert: Alert) -> SafeString:
        """What it is about, leading to the page where something can be done."""
        return format_html(
            '<a class="cos-link" href="{}">{}</a>', _where(alert), reveal_invisible(alert.subject)
        )

    @display(description="When", ordering="alert_id")
    def happened(self, alert: Alert) -> SafeString:
        """The moment it was seen."""
        return when(alert.happened_at)

    @display(description="Told")
    def told(self, alert: Alert) -> SafeString:
        """How many of the messages went out."""
        states = [_state(notice) for notice in alert.notices.all()]
        if not states:
            return badge("nobody to tell" if alert.planned_at else "about to", "neutral")
        failed, sent = states.count("failed"), states.count("sent")
        if failed:
            return badge(f"{failed} of {len(states)} failed", "danger")
        return badge(f"{sent} of {len(states)} sent", "success" if sent == len(states) else "info")

    @display(description="What is known")
    def known(self, alert: Alert) -> SafeString:
        """Codes and ids; no values are kept with an alert."""
        lines = sorted((name.replace("_", " "), str(value)) for name, value in alert.facts.items())
        shown = ((name, reveal_invisible(value)) for name, value in lines)
        return format_html(
            '<dl class="cos-facts">{}</dl>',
            format_html_join("", "<dt>{}</dt><dd><code>{}</code></dd>", shown),
        )

    @display(description="Messages")
    def messages_sent(self, alert: Alert) -> SafeString:
        """One line per receiver."""
        lines = [
            (notice.receiver.name, _state(notice), _detail(notice))
            for notice in alert.notices.all()
        ]
        if not lines:
            return SafeString("Nobody is named for this kind of alert.")
        return format_html(
            '<ul class="gw-plain">{}</ul>',
            format_html_join("", "<li><b>{}</b>: {} {}</li>", lines),
        )


def _where(alert: Alert) -> str:
    if alert.kind == AlertKind.BREAKER_OPEN:
        return reverse("admin:gateway_adapter_health", args=[alert.subject])
    if alert.kind == AlertKind.UNKNOWN_OUTCOME:
        return reverse("admin:gateway_reconcile_call", args=[alert.subject])
    if alert.kind in _ABOUT_THE_LOG:
        return reverse("admin:index")
    return reverse("admin:gateway_refusal", args=[alert.facts.get("decision_id", "none")])


def _state(notice: AlertNotice) -> str:
    if notice.sent_at:
        return "sent"
    return "failed" if notice.failed_at else "waiting"


def _detail(notice: AlertNotice) -> str:
    if notice.sent_at:
        return relative(notice.sent_at)
    return reveal_invisible(notice.last_error)


class ReceiverForm(_ModelForm):
    """A box into which a new secret goes and out of which none comes; kinds are ticked."""

    address = forms.CharField(
        max_length=500, help_text="An e-mail address, or the https address of a webhook."
    )
    secret = secret_field(
        "New secret",
        f"For webhooks: at least {SHORTEST_SECRET} random characters, the same at the receiver.",
    )
    kinds = forms.MultipleChoiceField(
        required=False,
        choices=AlertKind.choices,
        widget=forms.CheckboxSelectMultiple,
        help_text="None ticked means all of them.",
    )


@admin.register(AlertReceiver)
class AlertReceiverAdmin(TenantScopedAdmin):
    """E-mail addresses and signed webhooks."""

    form = ReceiverForm
    list_display = ["name", "channel", "place", "hears_of", "state"]
    list_filter = ["channel", "is_active"]
    search_fields = ["name"]
    nav_icon = "contact_mail"
    nav_order = 70
    empty_title = "Nobody is told of alerts yet"
    empty_text = (
        "Name a mailbox or a webhook that hears of breakers, unknown outcomes and policies that "
        "fail. Messages hold ids, codes and a link, never values."
    )
    empty_action = ("Name a receiver", "admin:gateway_alertreceiver_add")

    @display(description="Where")
    def place(self, receiver: AlertReceiver) -> str:
        """Of a webhook the origin alone: its path may be a key."""
        return alert_receivers.shown_address(receiver)

    @display(description="Hears of")
    def hears_of(self, receiver: AlertReceiver) -> str:
        """Which kinds."""
        return ", ".join(AlertKind(kind).label for kind in receiver.kinds) or "everything"

    @display(description="State", ordering="is_active")
    def state(self, receiver: AlertReceiver) -> SafeString:
        """Whether anything is sent."""
        on = receiver.is_active
        return badge("active" if on else "switched off", "success" if on else "neutral")

    @display(description="Secret")
    def fingerprint(self, receiver: AlertReceiver) -> str:
        """A fingerprint; the secret itself is never shown."""
        return alert_receivers.shown_secret(receiver)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Another channel is another receiver."""
        return [] if obj is None else ["channel", "place", "hears_of", "fingerprint", "created_at"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Who only reads sees where, not the whole address."""
        if obj is None:
            return ["name", "channel", "address", "secret", "kinds"]
        if self.has_change_permission(request, obj):
            return [
                "name", "channel", "address", "secret", "fingerprint", "kinds", "is_active"
            ]  # fmt: skip
        return ["name", "channel", "place", "fingerprint", "hears_of", "is_active", "created_at"]

    def perform_create(self, request: HttpRequest, form: forms.ModelForm[Any]) -> AlertReceiver:
        """Keep it for the acting tenant."""
        values = form.cleaned_data
        return alert_receivers.add_receiver(
            tenant_id=form.instance.tenant.pk,
            actor=actor_of(request),
            **{name: values[name] for name in ("name", "channel", "address", "secret", "kinds")},
        )

    def perform_update(self, request: HttpRequest, form: forms.ModelForm[Any]) -> AlertReceiver:
        """Change it."""
        values = form.cleaned_data
        return alert_receivers.change_receiver(
            receiver_pk=form.instance.pk,
            actor=actor_of(request),
            **{name: values[name] for name in ("name", "address", "secret", "kinds", "is_active")},
        )
