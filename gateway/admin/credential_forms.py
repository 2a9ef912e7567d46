"""Forms of credentials: per kind only what it needs; secrets go in and never come out."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from django import forms
from django.db.models import Model

from contextos.adminkit.secrets import new_secret_field
from contextos.identity.models import Environment
from gateway.credentials.shape import DEFAULT_HEADER, OAUTH
from gateway.models import AdapterCredential, CredentialKind
from registry.models import Adapter, Capability

if TYPE_CHECKING:  # Django's form classes are generic to the type checker only
    _ModelForm = forms.ModelForm[AdapterCredential]
else:
    _ModelForm = forms.ModelForm

# What the page that chooses a kind says of each.
KIND_WORDS = {
    CredentialKind.CLIENT_CREDENTIALS: (
        "robot_2",
        "The adapter knows ContextOS as a client. Tokens are fetched with the scopes of each call.",
    ),
    CredentialKind.TOKEN_EXCHANGE: (
        "swap_horiz",
        "As above, but each token is for the person of the call, with the agent as actor.",
    ),
    CredentialKind.AUTHORIZATION_CODE: (
        "how_to_reg",
        "People allow it themselves: a call waits until its person has consented.",
    ),
    CredentialKind.API_KEY: ("key", "A fixed key in a header."),
    CredentialKind.BEARER: ("badge", "A fixed token, sent as Authorization: Bearer."),
    CredentialKind.MTLS: ("verified_user", "A certificate with its key, shown when connecting."),
    CredentialKind.WORKLOAD_JWT: (
        "signature",
        "A token that ContextOS signs itself; the adapter trusts our published keys. No secret.",
    ),
}
_PLACE = ["name", "environment", "adapter_id", "capability_id"]
_CLIENT = ["issuer", "token_endpoint", "client_id", "client_auth"]
_TRIP = ["authorization_endpoint", "redirect_address", "revocation_endpoint", "sends_issuer"]


def fields_of(kind: str) -> list[tuple[str, list[str]]]:
    """What has to be entered for a kind, under its headings."""
    sections = [("Where it is used", _PLACE)]
    if kind in OAUTH:
        trip = _TRIP if kind == CredentialKind.AUTHORIZATION_CODE else []
        sections.append(("Authorization server", [*_CLIENT, *trip, "authority"]))
    elif kind == CredentialKind.API_KEY:
        sections.append(("API key", ["header_name"]))
    elif kind == CredentialKind.MTLS:
        sections.append(("Server", ["authority"]))
    if kind != CredentialKind.WORKLOAD_JWT:
        sections.append(("Secret", ["secret"]))
    return sections


def secret_of(kind: str, *, required: bool = True) -> forms.CharField:
    """The box a kind's secret goes into; only a client that signs instead may leave it empty."""
    if kind == CredentialKind.MTLS:
        words = "PEM: the certificate, then its chain, then the key without a password."
        return new_secret_field("Certificate and key", words, lines=8, required=required)
    words = "Encrypted at once and never shown again; a fingerprint is."
    if not required:
        words = f"{words} Empty only where the client proves itself by an assertion."
    return new_secret_field("Secret", words, required=required)


class CredentialForm(_ModelForm):
    """For a new credential; the places are those of the tenant."""

    environment = forms.ChoiceField(help_text="Used by runs in this environment alone.")
    adapter_id = forms.ChoiceField(label="Adapter")
    capability_id = forms.ChoiceField(
        label="Capability",
        required=False,
        help_text="Empty: every capability of the adapter that has no credential of its own.",
    )
    secret = secret_of("")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if "header_name" in self.fields and not self.instance.pk:
            self.fields["header_name"].initial = DEFAULT_HEADER


def place_choices(tenant: Model | None) -> dict[str, list[tuple[str, str]]]:
    """What a credential of this tenant can be for."""
    mine = {"tenant_id": tenant.pk if tenant else None}
    environments = Environment.objects.filter(**mine).values_list("name", flat=True)
    adapters = Adapter.objects.filter(**mine).values_list("adapter_id", "name")
    known = Capability.objects.filter(**mine).values_list("capability_id", flat=True)
    return {
        "environment": [(name, name) for name in environments],
        "adapter_id": [(key, f"{name} ({key})") for key, name in adapters],
        "capability_id": [("", "All"), *((name, name) for name in sorted(set(known)))],
    }


_OVERLAPS = [
    ("0", "none: the old secret is forgotten at once"),
    ("1", "1 hour"),
    ("24", "1 day"),
    ("168", "1 week"),
    ("720", "30 days"),
]


class RotationForm(forms.Form):
    """A new secret, and how long the old one may still help out."""

    overlap = forms.ChoiceField(
        label="Overlap",
        choices=_OVERLAPS,
        initial="24",
        help_text="The new secret is used first. Where the far side refuses it, the old one is, "
        "until this is over.",
    )
    reason = forms.CharField(label="Reason", max_length=500, help_text="Kept in the log.")

    def __init__(self, *args: Any, kind: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields = {"secret": secret_of(kind), **self.fields}

    def clean_overlap(self) -> timedelta:
        """As a span of time."""
        return timedelta(hours=int(self.cleaned_data["overlap"]))
