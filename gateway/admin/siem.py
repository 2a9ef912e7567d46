"""Streams to a SIEM: where the log is sent, how far it has come, and what went wrong (E7)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import admin
from django.http import Http404, HttpRequest, HttpResponse
from django.utils.safestring import SafeString

from contextos.adminkit.actions import action, display
from contextos.adminkit.base import TenantScopedAdmin
from contextos.adminkit.confirmation import Question, ReasonForm, confirm
from contextos.adminkit.display import badge, when
from contextos.adminkit.secrets import secret_field
from contextos.core.text import reveal_invisible
from contextos.identity.actors import actor_of
from contextos.net.signed_posts import SHORTEST_SECRET
from gateway.models import SiemStream
from gateway.siem import services
from gateway.siem.lag import StreamLag, lags_of
from gateway.siem.sending import shown_receiver

if TYPE_CHECKING:  # Django's form classes are generic to the type checker only
    _ModelForm = forms.ModelForm[SiemStream]
else:
    _ModelForm = forms.ModelForm

LATE_SECONDS = 60


class StreamForm(_ModelForm):
    """Where, how, and two boxes into which secrets go and out of which none comes."""

    address = forms.CharField(
        max_length=500,
        help_text="Webhook: its https address. Syslog: host or host:port (514; TLS 6514).",
    )
    secret = secret_field(
        "New signing secret",
        f"For webhooks: at least {SHORTEST_SECRET} random characters, the same at the receiver.",
    )
    authorization = secret_field(
        "New Authorization header",
        "For webhooks that ask for one: the whole value, scheme and token.",
    )
    authority = forms.CharField(
        required=False,
        widget=forms.Textarea(attrs={"rows": 4, "spellcheck": "false"}),
        help_text="For syslog over TLS: the PEM of your own authority, if it is not a public one.",
    )
    from_beginning = forms.BooleanField(
        label="Send what is in the log already",
        required=False,
        help_text="Else the stream begins with the next record.",
    )


class AgainForm(ReasonForm):
    """From where, and why."""

    from_index = forms.IntegerField(
        label="From place in the log", min_value=0, help_text="0 is the first record."
    )


@admin.register(SiemStream)
class SiemStreamAdmin(TenantScopedAdmin):
    """Every record and event, in the order of the log, at least once."""

    form = StreamForm
    list_display = ["name", "receiver", "form_of", "state", "behind", "last_taken"]
    list_filter = ["transport", "format", "is_active"]
    search_fields = ["name"]
    actions_detail = ["send_test", "pause", "resume", "again"]
    nav_title = "SIEM streams"
    nav_icon = "stream"
    nav_order = 80
    empty_title = "The log is sent nowhere yet"
    empty_text = (
        "Send every decision and event to your SIEM as JSON or CEF, by webhook or syslog: in the "
        "order of the log, at least once, each with an id that stays the same. Values stay here."
    )
    empty_action = ("Add a stream", "admin:gateway_siemstream_add")

    @display(description="Receiver")
    def receiver(self, stream: SiemStream) -> str:
        """Of a webhook the origin alone: its path may be a key."""
        return shown_receiver(stream)

    @display(description="Format")
    def form_of(self, stream: SiemStream) -> str:
        """How and what."""
        return f"{stream.format.upper()}, {stream.get_contents_display().lower()}"

    @display(description="State", ordering="is_active")
    def state(self, stream: SiemStream) -> SafeString:
        """Whether it sends, and what keeps it from that."""
        if not stream.is_active:
            return badge("paused", "neutral")
        if stream.failures:
            return badge(f"failing, {stream.failures} in a row", "danger")
        return badge("sending", "success")

    @display(description="Behind")
    def behind(self, stream: SiemStream) -> SafeString:
        """Sealed records that it has not taken, and how old the oldest is."""
        lag = _lag(stream)
        if not lag.records:
            return badge("nothing waits", "success")
        said = f"{lag.records:,} records, {lag.seconds:,.0f} s"
        return badge(said, "warning" if lag.seconds > LATE_SECONDS else "info")

    @display(description="Last taken", ordering="last_sent_at")
    def last_taken(self, stream: SiemStream) -> SafeString:
        """When a receiver last took something."""
        return when(stream.last_sent_at) if stream.last_sent_at else badge("never", "neutral")

    @display(description="Place in the log")
    def place(self, stream: SiemStream) -> str:
        """The next record to be sent."""
        return f"next is {stream.next_index:,}; {stream.sent:,} taken so far"

    @display(description="Last error")
    def trouble(self, stream: SiemStream) -> str:
        """What the last failed send said."""
        return reveal_invisible(stream.last_error) or "none"

    @display(description="Secrets")
    def fingerprints(self, stream: SiemStream) -> str:
        """Fingerprints; the secrets themselves are never shown."""
        return services.shown_secrets(stream)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        """Another transport is another stream."""
        told = ["state", "behind", "place", "last_taken", "trouble", "receiver", "fingerprints"]
        return [] if obj is None else ["transport", *told]

    def get_fields(self, request: HttpRequest, obj: Any = None) -> list[Any]:
        """Who only reads sees where, not the whole address."""
        settled = ["format", "contents"]
        if obj is None:
            entered = ["secret", "authorization", "authority", "from_beginning"]
            return ["name", "transport", "address", *settled, *entered]
        told = ["state", "behind", "place", "last_taken", "trouble"]
        if self.has_change_permission(request, obj):
            entered = ["secret", "authorization", "fingerprints", "authority"]
            return [*told, "name", "transport", "address", *settled, *entered]
        return [*told, "name", "transport", "receiver", *settled, "fingerprints"]

    # --- changes ------------------------------------------------------------------------------
    def perform_create(self, request: HttpRequest, form: forms.ModelForm[Any]) -> SiemStream:
        """Keep it for the acting tenant."""
        names = (
            "name", "transport", "address", "format", "contents", "secret", "authorization",
            "authority", "from_beginning",
        )  # fmt: skip
        return services.create_stream(
            tenant_id=form.instance.tenant.pk,
            actor=actor_of(request),
            **{name: form.cleaned_data[name] for name in names},
        )

    def perform_update(self, request: HttpRequest, form: forms.ModelForm[Any]) -> SiemStream:
        """Change it."""
        names = ("name", "address", "format", "contents", "secret", "authorization", "authority")
        return services.change_stream(
            stream_pk=form.instance.pk,
            actor=actor_of(request),
            **{name: form.cleaned_data[name] for name in names},
        )

    def perform_delete(self, request: HttpRequest, obj: Any) -> None:
        """Send nothing there any more."""
        services.delete_stream(stream_pk=obj.pk, actor=actor_of(request))

    @action(description="Send a test", permissions=["change"])
    def send_test(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """One record that says it is a test, sent at once."""
        question = Question(
            title="Send a test",
            text="A record that says it is a test is sent now; what comes of it is shown to you.",
            button="Send it",
            done="The receiver took the test.",
            form_class=forms.Form,
        )
        return self._asked(request, object_id, question, services.send_test)

    @action(description="Pause", permissions=["change"])
    def pause(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Send nothing for a while."""
        question = Question(
            title="Pause the stream",
            text="Nothing is sent until it is resumed. Its place in the log stays: none is lost.",
            button="Pause it",
            done="Paused.",
        )
        return self._asked(request, object_id, question, services.pause_stream)

    @action(description="Resume", permissions=["change"])
    def resume(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Go on where it stood."""
        question = Question(
            title="Resume the stream",
            text="Everything since it was paused is sent, in order.",
            button="Resume it",
            done="It sends again.",
            form_class=forms.Form,
        )
        return self._asked(request, object_id, question, services.resume_stream)

    @action(description="Send again from…", permissions=["change"])
    def again(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """For a receiver that lost what it had taken."""
        question = Question(
            title="Send again from an earlier place",
            text=f"The stream stands at {self._stream(request, object_id).next_index}. Records "
            "from the place you give on are sent once more, with the ids they had.",
            button="Send them again",
            done="They are sent again.",
            form_class=AgainForm,
        )
        return self._asked(request, object_id, question, services.send_again)

    def _asked(
        self, request: HttpRequest, object_id: str, question: Question, act: Callable[..., object]
    ) -> HttpResponse:
        stream, actor = self._stream(request, object_id), actor_of(request)
        return confirm(
            self,
            request,
            stream,
            question,
            lambda values: act(stream_pk=stream.pk, actor=actor, **values),
        )

    def _stream(self, request: HttpRequest, object_id: str) -> SiemStream:
        stream = self.get_object(request, object_id)
        if not isinstance(stream, SiemStream):
            raise Http404
        return stream


def _lag(stream: SiemStream) -> StreamLag:
    return lags_of([stream])[stream.pk]
