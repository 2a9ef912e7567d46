"""Decorators for buttons and columns, so that no app needs to know the theme."""

from contextos.adminkit.unfold_seam import action, display

__all__ = ["action", "display"]
