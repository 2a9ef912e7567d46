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
