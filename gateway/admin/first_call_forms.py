"""The small forms of the first-call page."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django import forms
from django.core.validators import RegexValidator

from contextos.identity.durations import parse_duration
from contextos.identity.models import Membership, Tenant, User
from contextos.identity.models.agents import agent_id_shape

_name_shape = RegexValidator(
    r"\A[a-z][a-z0-9_.]{1,99}\Z", "Use lowercase letters, digits, dots and underscores."
)


class AgentForm(forms.Form):
    """A new agent that may read; the agent's own page can raise that later."""

    agent_id = forms.CharField(
        label="Id", max_length=100, validators=[agent_id_shape], help_text="Stands in every record."
    )
    name = forms.CharField(max_length=200)
    role = forms.CharField(
        max_length=64,
        validators=[_name_shape],
        help_text="Context Packs permit things to roles, such as support_agent.",
    )
    owner = forms.ModelChoiceField(
        User.objects.none(), empty_label=None, help_text="The person who answers for it."
    )

    def __init__(self, *args: Any, tenant: Tenant, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        people = Membership.objects.current().filter(tenant=tenant).values("user")
        field: Any = self.fields["owner"]
        field.queryset = User.objects.filter(pk__in=people, is_active=True).order_by("username")


class TokenForm(forms.Form):
    """How long the token lasts."""

    lifetime = forms.CharField(initial="1h", help_text="Such as 15m, 1h or 7d; at most 30d.")

    def clean_lifetime(self) -> timedelta:
        """As typed on the command line."""
        try:
            return parse_duration(self.cleaned_data["lifetime"])
        except ValueError as fault:
            raise forms.ValidationError(f"{str(fault).capitalize()}.") from fault


class PackForm(forms.Form):
    """What the pack is called, and what runs are opened for."""

    pack_id = forms.CharField(
        label="Pack", max_length=100, initial="first_call", validators=[_name_shape]
    )
    intent = forms.CharField(
        max_length=100,
        initial="first.call",
        validators=[_name_shape],
        help_text="What the agent says it is doing when it opens a run.",
    )


class PolicyForm(forms.Form):
    """Nothing to fill in: the chosen read says it all."""
