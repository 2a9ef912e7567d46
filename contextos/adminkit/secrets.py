"""A box into which a secret goes and out of which none comes."""

from __future__ import annotations

from django.forms import CharField

from contextos.adminkit.unfold_seam import ThemedPasswordInput

LONGEST = 200


def secret_field(label: str, help_text: str) -> CharField:
    """Never filled in by the page; left empty, it keeps the secret that there is."""
    return CharField(
        label=label,
        required=False,
        max_length=LONGEST,
        widget=ThemedPasswordInput(attrs={"autocomplete": "new-password"}, render_value=False),
        help_text=f"{help_text} Never shown again. Leave it empty to keep the one there is.",
    )
