"""What an approver says when they are away."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django import forms

from approvals.services import delegations
from contextos.core.clock import utcnow
from contextos.identity.models import User


class AwayForm(forms.Form):
    """To whom, from, until, at which gates, why. Times are UTC, as everywhere in the product."""

    giver = forms.ChoiceField(label="Who is away")
    stand_in = forms.ChoiceField(label="Who votes for them")
    starts_at = forms.DateTimeField(
        label="From (UTC)", widget=forms.DateTimeInput(attrs={"type": "datetime-local"})
    )
    ends_at = forms.DateTimeField(
        label="Until (UTC)",
        widget=forms.DateTimeInput(attrs={"type": "datetime-local"}),
        help_text=f"At most {delegations.LONGEST.days} days after the start.",
    )
    gates = forms.MultipleChoiceField(
        label="At which gates",
        required=False,
        widget=forms.CheckboxSelectMultiple,
        help_text="None ticked means all of them.",
    )
    reason = forms.CharField(label="Why", max_length=500, help_text="Such as: holiday until 3 May.")

    def __init__(
        self,
        *args: Any,
        givers: Sequence[User],
        others: Sequence[User],
        gates: Sequence[str],
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self._offer("giver", [(user.user_id, _named(user)) for user in givers])
        self._offer("stand_in", [("", "Choose somebody"), *_choices(others)])
        self._offer("gates", [(name, name) for name in gates])
        self.is_own = len(givers) == 1
        if self.is_own:
            self.fields["giver"].widget = forms.HiddenInput()
            self.fields["stand_in"].label = "Who votes for you"
        if not gates:
            del self.fields["gates"]

    def _offer(self, name: str, choices: list[tuple[str, str]]) -> None:
        field = self.fields[name]
        if isinstance(field, forms.ChoiceField):
            field.choices = choices

    def clean(self) -> dict[str, Any]:
        """Dates in order; the service asks the rest."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        start, end = values.get("starts_at"), values.get("ends_at")
        if start and end and start >= end:
            self.add_error("ends_at", "The end lies before the start.")
        if end and end <= utcnow():
            self.add_error("ends_at", "The end is past already.")
        if values.get("giver") and values.get("giver") == values.get("stand_in"):
            self.add_error("stand_in", "Nobody stands in for themselves.")
        return values


def _choices(people: Sequence[User]) -> list[tuple[str, str]]:
    return [(user.user_id, _named(user)) for user in people]


def _named(user: User) -> str:
    return f"{user} ({user.username})" if str(user) != user.username else user.username
