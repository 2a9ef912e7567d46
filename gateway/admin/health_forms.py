"""The forms of an adapter's health page: closing its breaker, setting its terms."""

from __future__ import annotations

from django import forms

from contextos.adminkit.confirmation import MAX_REASON
from gateway.adapter_terms import Terms
from gateway.models import AdapterTerms


class ResetForm(forms.Form):
    """Why the breaker is closed by hand."""

    reason = forms.CharField(
        label="Reason",
        max_length=MAX_REASON,
        help_text="Kept in the log: what you checked before letting calls through again.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Say why; the log keeps it."},
    )


class TermsForm(forms.ModelForm):  # type: ignore[type-arg]
    """The terms of one adapter."""

    reason = forms.CharField(
        label="Reason",
        max_length=MAX_REASON,
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
        error_messages={"required": "Say why; the log keeps it."},
    )

    class Meta:
        model = AdapterTerms
        fields = list(Terms.__dataclass_fields__)
        labels = {
            "failures": "Failures that open it",
            "failure_percent": "Share of calls, in percent",
            "window_seconds": "Counted over, in seconds",
            "open_seconds": "Rests for, in seconds",
            "probes": "Probes at once",
            "at_once": "Quick calls at once",
        }
