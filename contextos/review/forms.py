"""What a reviewer, a publisher or an author fills in."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django import forms

from contextos.review.states import Verdict

MAX_WORDS = 4000


def _area(**attributes: str) -> forms.Textarea:
    return forms.Textarea(attrs={"rows": "3", **attributes})


class DecisionForm(forms.Form):
    """A verdict on exactly the document that was shown, with each warning ticked."""

    verdict = forms.ChoiceField(choices=Verdict.choices)
    digest = forms.CharField(max_length=71)
    reason = forms.CharField(
        label="Your reason",
        max_length=MAX_WORDS,
        widget=_area(),
        error_messages={"required": "Say in a sentence why; author and auditors will read it."},
    )
    tick = forms.MultipleChoiceField(required=False, choices=())

    def __init__(self, *args: Any, ticks: Iterable[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.ticks = list(ticks)
        field = self.fields["tick"]
        if isinstance(field, forms.MultipleChoiceField):
            field.choices = [(tick, tick) for tick in self.ticks]

    def clean(self) -> dict[str, Any]:
        """Approving means having looked at every warning."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        missing = set(self.ticks) - set(values.get("tick") or ())
        if values.get("verdict") == Verdict.APPROVE and missing:
            self.add_error(
                "tick",
                f"{len(missing)} of {len(self.ticks)} warnings are not ticked. "
                "Tick each one that you accept, or ask for changes.",
            )
        return values


class CommentForm(forms.Form):
    """A remark in the thread."""

    text = forms.CharField(label="Comment", max_length=MAX_WORDS, widget=_area())


class PublishForm(forms.Form):
    """Notes for those who roll it out."""

    notes = forms.CharField(
        label="Rollout notes",
        required=False,
        max_length=MAX_WORDS,
        help_text="What changes for the people who run agents. Kept with the publication.",
        widget=_area(),
    )


class ReasonForm(forms.Form):
    """Why something is done."""

    reason = forms.CharField(
        label="Reason",
        max_length=MAX_WORDS,
        help_text="Kept in the log for whoever asks later.",
        widget=_area(),
    )


class NothingForm(forms.Form):
    """Nothing has to be said."""
