"""What the pages of erasures, holds and retention share: frame, filter, people."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import admin
from django.http import HttpRequest

from audit.actions import title_of
from audit.erasing import decision_behind
from audit.models import AuditEvent
from audit.selections import Selection
from audit.selectors import EventFilter, events_of, told_by
from contextos.adminkit.links import admin_url
from contextos.identity.models import Membership, User

MOST_PEOPLE = 500
MOST_EVENTS = 50


def frame(
    request: HttpRequest, title: str, *, above: tuple[str, str] | None = None, **more: Any
) -> dict[str, Any]:
    """The context of a page; `above` is the page that leads here, as (address, name)."""
    trail = [above, ("", title)] if above else [("", title)]
    back = above[0] if above else ""
    return {
        **admin.site.each_context(request),
        "title": title,
        "trail": trail,
        "back": back,
        **more,
    }


def told_of(tenant_id: str, subject_kind: str, subject_id: str) -> list[dict[str, Any]]:
    """What the log says about one thing, newest first, with people by the name they had."""
    wanted = EventFilter(subject_kind=subject_kind, subject_id=subject_id)
    return [
        {
            "at": event.created_at,
            "title": title_of(event.action),
            "who": told_by(event).who,
            "url": admin_url(AuditEvent, "change", event.pk),
        }
        for event in events_of(tenant_id, wanted)[:MOST_EVENTS]
    ]


def _moment(label: str, help_text: str = "") -> forms.DateTimeField:
    return forms.DateTimeField(
        label=label,
        required=False,
        help_text=help_text,
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
    )


class SelectionForm(forms.Form):
    """Which decisions are meant; everything that is filled in must hold."""

    reference = forms.CharField(
        label="Decision or call",
        required=False,
        max_length=64,
        help_text="dec_… or tool_…, for one decision alone.",
    )
    user_id = forms.ChoiceField(label="Person", required=False)
    agent_id = forms.CharField(label="Agent", required=False, max_length=150)
    capability_id = forms.CharField(
        label="Capability", required=False, max_length=200, help_text="payments.issue_refund, say."
    )
    run_id = forms.CharField(label="Run", required=False, max_length=40)
    since = _moment("From (UTC)")
    until = _moment("Until (UTC)")

    def __init__(self, *args: Any, tenant_id: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.tenant_id = tenant_id
        people = self.fields["user_id"]
        if isinstance(people, forms.ChoiceField):
            people.choices = [("", "Anybody"), *_people(tenant_id)]

    def clean_reference(self) -> str:
        """The decision behind it."""
        given = self.cleaned_data["reference"].strip()
        if not given:
            return ""
        decision_id = decision_behind(self.tenant_id, given)
        if not decision_id:
            raise forms.ValidationError("No call or decision of this tenant has that id.")
        return decision_id

    def selection(self) -> Selection:
        """What was filled in."""
        given = self.cleaned_data
        return Selection(
            tenant_id=self.tenant_id,
            decision_id=given["reference"],
            run_id=given["run_id"].strip(),
            user_id=given["user_id"],
            agent_id=given["agent_id"].strip(),
            capability_id=given["capability_id"].strip(),
            since=given["since"],
            until=given["until"],
        )


def _people(tenant_id: str) -> list[tuple[str, str]]:
    """Everybody who has or had a part in the tenant: erasing is asked for after they left."""
    members = Membership.objects.filter(tenant_id=tenant_id).values("user_id")
    rows = User.objects.filter(pk__in=members).order_by("username")[:MOST_PEOPLE]
    return [(user.user_id, str(user)) for user in rows]
