"""Admin pages of webhooks and chats: where a tenant wants to be told of requests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from approvals import webhooks
from approvals.models import Gate, Webhook
from contextos.adminkit.actions import action, display
from contextos.adminkit.base import TenantScopedAdmin
from contextos.adminkit.confirmation import Question, confirm
from contextos.adminkit.secrets import secret_field
from contextos.adminkit.tenancy import acting_tenant
from contextos.identity.actors import actor_of
from contextos.identity.admin.tenants import active_badge
from contextos.net.signed_posts import SHORTEST_SECRET
from contextos.net.targets import parse_target

if TYPE_CHECKING:  # Django's form classes are generic to the type checker only
    _ModelForm = forms.ModelForm[Webhook]
else:
    _ModelForm = forms.ModelForm


class WebhookForm(_ModelForm):
    """A box into which a new secret goes and out of which none comes; gates are ticked."""

    url = forms.CharField(
        label="Address",
        max_length=500,
        help_text="https in production. A chat's address is a key in itself: keep it to yourself.",
    )
    secret = secret_field(
        "New secret",
        f"For signed webhooks: at least {SHORTEST_SECRET} random characters, the same at the "
        "receiver.",
    )
    gates = forms.MultipleChoiceField(
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None ticked means all gates.",
    )


@admin.register(Webhook)
class WebhookAdmin(TenantScopedAdmin):
    """Signed webhooks, and chats that take a message with a link."""

    form = WebhookForm
    list_display = ["name", "kind", "place", "covers", "state"]
    list_filter = ["is_active", "kind"]
    search_fields = ["name"]
    actions_detail = ["send_test"]
    nav_icon = "webhook"
    nav_order = 70
    empty_title = "No webhooks yet"
    empty_text = (
        "Have your own program or your chat told when a request waits and how it ended. "
        "Messages hold a link and no values."
    )
    empty_action = ("Add a webhook", "admin:approvals_webhook_add")

    @display(description="Host")
    def place(self, hook: Webhook) -> str:
        """The host alone: the path of a chat's address is its key."""
        return parse_target(hook.url).origin

    @display(description="Gates")
    def covers(self, hook: Webhook) -> str:
        """Which gates it hears of."""
        return ", ".join(hook.gates) or "all"

    @display(description="State", ordering="is_active")
    def state(self, hook: Webhook) -> SafeString:
        """Whether anything is sent."""
        return active_badge(hook.is_active)

    @display(description="Secret")
    def fingerprint(self, hook: Webhook) -> str:
        """A fingerprint; the secret itself is never shown."""
        return webhooks.shown_secret(hook)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Another kind is another webhook."""
        return [] if obj is None else ["kind", "place", "covers", "fingerprint", "created_at"]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Who only reads sees the host, not the address."""
        if obj is None:
            return ["name", "kind", "url", "secret", "gates"]
        if self.has_change_permission(request, obj):
            return [
                "name", "kind", "url", "secret", "fingerprint", "gates", "is_active", "created_at"
            ]  # fmt: skip
        return ["name", "kind", "place", "fingerprint", "covers", "is_active", "created_at"]

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        """The gates of this tenant to tick, and those it names that are gone."""
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        if "gates" in form.base_fields:
            tenant = acting_tenant(request)
            known = Gate.objects.filter(tenant_id=str(tenant.pk)) if tenant else Gate.objects.none()
            names = {*known.values_list("gate_id", flat=True), *(obj.gates if obj else ())}
            form.base_fields["gates"].choices = [(name, name) for name in sorted(names)]
        return form

    def perform_create(self, request: HttpRequest, form: forms.ModelForm[Any]) -> Webhook:
        """Keep it for the acting tenant."""
        values = form.cleaned_data
        return webhooks.create_webhook(
            tenant_id=form.instance.tenant.pk,
            actor=actor_of(request),
            **{name: values[name] for name in ("name", "kind", "url", "secret", "gates")},
        )

    def perform_update(self, request: HttpRequest, form: forms.ModelForm[Any]) -> Webhook:
        """Change it."""
        values = form.cleaned_data
        return webhooks.update_webhook(
            webhook_pk=form.instance.pk,
            actor=actor_of(request),
            **{name: values[name] for name in ("name", "url", "secret", "gates", "is_active")},
        )

    def perform_delete(self, request: HttpRequest, obj: Any) -> None:
        """Stop telling it."""
        webhooks.delete_webhook(webhook_pk=obj.pk, actor=actor_of(request))

    @action(description="Send a test", permissions=["change"])
    def send_test(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """One message that says it is a test, sent at once."""
        hook = self.get_object(request, object_id)
        if hook is None:
            raise Http404
        question = Question(
            title="Send a test",
            text="A message that says it is a test is sent now; the answer is shown to you.",
            button="Send it",
            done="The receiver took the test.",
            form_class=forms.Form,
        )
        actor = actor_of(request)
        return confirm(
            self,
            request,
            hook,
            question,
            lambda _: webhooks.send_test(webhook_pk=hook.pk, tenant_id=hook.tenant_id, actor=actor),
        )
