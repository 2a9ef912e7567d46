"""Template filter for capability classes."""

from __future__ import annotations

from django import template
from django.utils.safestring import SafeString

from registry.labels import class_badge

register = template.Library()


@register.filter
def class_label(value: str) -> SafeString:
    """One of the five capability classes."""
    return class_badge(value)
