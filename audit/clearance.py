"""How confidential a value is, and who is cleared to read it (pure)."""

from __future__ import annotations

from enum import StrEnum


class Clearance(StrEnum):
    """The classes of the manifests' `classification`, lowest first."""

    PUBLIC = "PUBLIC"
    INTERNAL = "INTERNAL"
    CONFIDENTIAL = "CONFIDENTIAL"
    RESTRICTED = "RESTRICTED"

    def reads(self, classification: str) -> bool:
        """Whether somebody so cleared sees values of a class; an unknown class is the highest."""
        order = list(Clearance)
        return order.index(self) >= order.index(class_of(classification))


# Arguments and outputs are the tenant's business data unless something classifies them.
CLASS_OF_VALUES = Clearance.CONFIDENTIAL


def class_of(text: str) -> Clearance:
    """A class by its name; what nobody classified is treated as the most confidential."""
    try:
        return Clearance(text.upper())
    except ValueError:
        return Clearance.RESTRICTED
