"""The form that asks for the replay of a period: what it is held against, from when to when."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django import forms

from contextos.core.clock import utcnow
from contextos.review.states import VersionState
from gateway.models import ReplayAgainst
from gateway.replaying.jobs import ChosenDraft
from gateway.replaying.periods import Period
from registry.models import AdapterVersion, PolicyBundleVersion

LAST_WEEK = timedelta(days=7)
MOST_OFFERED = 100
_DAY = "%Y-%m-%d"  # the only form that a browser's own date field takes
_NEWEST_FIRST = {
    VersionState.DRAFT: 0,
    VersionState.CHANGES_REQUESTED: 1,
    VersionState.IN_REVIEW: 2,
    VersionState.APPROVED: 3,
    VersionState.PUBLISHED: 4,
}


class PeriodForm(forms.Form):
    """Against what, and which days; both days are part of the period."""

    against = forms.ChoiceField(
        label="Hold the decisions against",
        help_text="A draft shows what it would have changed. The record itself shows whether "
        "every decision comes out the same again.",
    )
    first_day = forms.DateField(
        label="From day",
        widget=forms.DateInput(attrs={"type": "date"}, format=_DAY),
        input_formats=[_DAY],
        error_messages={"required": "Choose the first day.", "invalid": "Give a day."},
    )
    last_day = forms.DateField(
        label="To day",
        help_text="Included. Days are in UTC.",
        widget=forms.DateInput(attrs={"type": "date"}, format=_DAY),
        input_formats=[_DAY],
        error_messages={"required": "Choose the last day.", "invalid": "Give a day."},
    )

    def __init__(
        self, posted: Any = None, *, tenant_id: str, reads_records: bool, chosen: str = ""
    ) -> None:
        today = utcnow().date()
        usual = {"against": chosen, "first_day": today - LAST_WEEK, "last_day": today}
        super().__init__(posted, initial=usual)
        self.tenant_id = tenant_id
        field = self.fields["against"]
        if isinstance(field, forms.ChoiceField):
            field.choices = offered(tenant_id, reads_records=reads_records)

    def clean(self) -> dict[str, Any]:
        """A period that ends after it has begun."""
        values: dict[str, Any] = super().clean() or self.cleaned_data
        first, last = values.get("first_day"), values.get("last_day")
        if first and last and last < first:
            self.add_error("last_day", "The last day lies before the first.")
        return values

    @property
    def period(self) -> Period:
        """Both days, from midnight to midnight."""
        first, last = self.cleaned_data["first_day"], self.cleaned_data["last_day"]
        return Period(_midnight(first), _midnight(last) + timedelta(days=1))

    @property
    def draft(self) -> ChosenDraft | None:
        """What was chosen; None for the record itself."""
        kind, _, version_id = self.cleaned_data["against"].partition(":")
        if kind == ReplayAgainst.POLICY:
            return ChosenDraft.policy(tenant_id=self.tenant_id, version_id=version_id)
        if kind == ReplayAgainst.MANIFEST:
            return ChosenDraft.manifest(tenant_id=self.tenant_id, version_id=version_id)
        return None


def offered(tenant_id: str, *, reads_records: bool) -> list[tuple[str, Any]]:
    """The drafts first, then what is published; the record for those who may read it."""
    choices: list[tuple[str, Any]] = []
    if reads_records:
        choices.append((ReplayAgainst.RECORD.value, "the record itself"))
    policies = PolicyBundleVersion.objects.filter(tenant_id=tenant_id, state__in=_NEWEST_FIRST)
    manifests = AdapterVersion.objects.filter(tenant_id=tenant_id, state__in=_NEWEST_FIRST)
    groups = (
        ("Policies", ReplayAgainst.POLICY, policies),
        ("Manifests", ReplayAgainst.MANIFEST, manifests.select_related("adapter")),
    )
    for title, kind, rows in groups:
        named = [(f"{kind.value}:{row.pk}", _name(row)) for row in _ordered(rows)]
        choices += [(title, named)] if named else []
    return choices


def _ordered(rows: Any) -> list[Any]:
    found = list(rows.order_by("-version_id")[:MOST_OFFERED])
    return sorted(found, key=lambda row: _NEWEST_FIRST[row.state])


def _name(row: Any) -> str:
    ref = row.ref if isinstance(row, PolicyBundleVersion) else _adapter_ref(row)
    return f"{ref} ({row.get_state_display().lower()})"


def _adapter_ref(row: AdapterVersion) -> str:
    return f"{row.adapter.adapter_id}@{row.version}, {row.environment}"


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), tzinfo=UTC)
