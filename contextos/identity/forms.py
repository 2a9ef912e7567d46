"""Forms of the sign-in pages."""

from __future__ import annotations

from typing import Any

from django import forms

from contextos.adminkit.site import ThemedPasswordForm
from contextos.identity.actors import person
from contextos.identity.models import User
from contextos.identity.services import set_password

LONGEST_CODE = 40


class CodeForm(forms.Form):
    """A code from the authenticator app, or a recovery code."""

    code = forms.CharField(
        label="Code",
        max_length=LONGEST_CODE,
        error_messages={"required": "Enter the code."},
        widget=forms.TextInput(
            attrs={
                "autocomplete": "one-time-code",
                "autofocus": True,
                "autocapitalize": "off",
                "spellcheck": "false",
            }
        ),
    )

    def __init__(self, *args: object, recovery: bool = False, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        field = self.fields["code"]
        if recovery:
            field.label = "Recovery code"
            field.widget.attrs |= {"autocomplete": "off"}
        else:
            field.label = "6-digit code"
            field.widget.attrs |= {"inputmode": "numeric"}

    def refuse(self, reason: str) -> None:
        """Say at the field why the code was not taken."""
        self.add_error("code", reason)
        self.fields["code"].widget.attrs |= {
            "aria-invalid": "true",
            "aria-describedby": "code-error",
        }


class OwnPasswordForm(ThemedPasswordForm):
    """Changing one's own password through the service, so that it is recorded."""

    user: User

    def save(self, commit: bool = True) -> Any:
        """Set it; the open session goes on with the new one, all others end."""
        stored = set_password(
            user_id=self.user.user_id,
            password=self.cleaned_data["new_password1"],
            actor=person(self.user, self.user.acting_tenant_id),
        )
        self.user.password = stored.password
        return self.user
