"""A box into which a secret goes and out of which none comes."""

from __future__ import annotations

from typing import Any

from django.forms import CharField, Textarea, Widget

from contextos.adminkit.unfold_seam import ThemedPasswordInput

LONGEST = 200


class SilentTextarea(Textarea):
    """For secrets of several lines: what was typed is not sent back, whatever else was wrong."""

    def format_value(self, value: Any) -> str:
        """Nothing."""
        return ""


def secret_field(label: str, help_text: str) -> CharField:
    """Never filled in by the page; left empty, it keeps the secret that there is."""
    kept = f"{help_text} Never shown again. Leave it empty to keep the one there is."
    return new_secret_field(label, kept, required=False, longest=LONGEST)


def new_secret_field(
    label: str, help_text: str, *, required: bool = True, longest: int = 20_000, lines: int = 1
) -> CharField:
    """The same for a secret that takes nobody's place."""
    attributes = {"autocomplete": "new-password", "spellcheck": "false"}
    widget: Widget = ThemedPasswordInput(attrs=attributes, render_value=False)
    if lines > 1:
        widget = SilentTextarea(attrs={**attributes, "rows": lines, "class": "reg-json"})
    return CharField(
        label=label, required=required, max_length=longest, widget=widget, help_text=help_text
    )
