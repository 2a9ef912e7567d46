"""Fields of request bodies."""

from __future__ import annotations

from typing import Any

from rest_framework import serializers


class StrictTextField(serializers.CharField):
    """A text: a number or a truth value is none, though DRF would turn it into one."""

    def to_internal_value(self, data: Any) -> str:
        """Refuse what was not sent as text."""
        if not isinstance(data, str):
            self.fail("invalid")
        return str(super().to_internal_value(data))


class StrictTruthField(serializers.BooleanField):
    """True or false: the word "true" is a text, though DRF would take it."""

    def to_internal_value(self, data: Any) -> bool:
        """Refuse what was not sent as a truth value."""
        if not isinstance(data, bool):
            self.fail("invalid", input=data)
        return data
