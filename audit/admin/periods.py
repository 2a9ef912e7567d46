"""The period of a report, as a form asks for it."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms

from contextos.core.clock import utcnow

DAYS = 30
LONGEST = timedelta(days=366)
_DAY = {"type": "date"}


class PeriodForm(forms.Form):
    """The days a report is about, both included, in UTC."""

    since = forms.DateField(label="From", required=False, widget=forms.DateInput(attrs=_DAY))
    until = forms.DateField(label="To", required=False, widget=forms.DateInput(attrs=_DAY))

    def clean(self) -> dict[str, Any]:
        """A start before the end, not more than a year apart."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        start, end = values.get("since"), values.get("until") or utcnow().date()
        if start and start > end:
            self.add_error("until", "The end lies before the start.")
        elif start and end - start > LONGEST:
            self.add_error("until", "Choose a year at most.")
        return values

    def moments(self) -> tuple[datetime, datetime]:
        """From the beginning of the first day to the end of the last."""
        values = self.cleaned_data
        last: date = values.get("until") or utcnow().date()
        first: date = values.get("since") or last - timedelta(days=DAYS - 1)
        until = datetime.combine(last, time.min, tzinfo=UTC) + timedelta(days=1)
        return datetime.combine(first, time.min, tzinfo=UTC), until


def usual_period() -> dict[str, Any]:
    """The last days, where nobody has chosen any."""
    today = utcnow().date()
    return {"since": f"{today - timedelta(days=DAYS - 1)}", "until": f"{today}"}
