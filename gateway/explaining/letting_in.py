"""Calls that the far side did not let in: credentials, tokens, and consents of people."""

from __future__ import annotations

from contextos.core.errors import catalogue
from gateway.credentials import error_codes  # noqa: F401  declares what is listed below
from gateway.explaining.table import explains
from gateway.explaining.types import Explanation, Refused, Step, Today
from gateway.explaining.wording import ADMIN, DEVELOPER, again, remedy, said, titled

_CREDENTIALS = tuple(spec.code for spec in catalogue() if spec.code.startswith("credential."))
_CONSENTS = tuple(spec.code for spec in catalogue() if spec.code.startswith("consent."))


@explains(*_CREDENTIALS)
def explain_credential(refused: Refused, today: Today) -> Explanation:
    """Nothing was called, or the far side turned the call away before doing anything."""
    return Explanation(
        step=Step.INVOKE,
        headline=titled(refused),
        because=[
            *said(refused),
            "Nothing was done at the far side: without a credential it takes, nothing is asked.",
        ],
        ways=[
            remedy(refused, ADMIN),
            *again(refused),
        ],
        involved=[refused.capability],
    )


@explains(*_CONSENTS)
def explain_consent(refused: Refused, today: Today) -> Explanation:
    """The person it was for did not let it happen in their name."""
    return Explanation(
        step=Step.INVOKE,
        headline=titled(refused),
        because=[
            *said(refused),
            "The adapter is called in a person's name, and only that person can allow it.",
        ],
        ways=[remedy(refused, DEVELOPER)],
        involved=[refused.capability],
    )
