"""The themed site and its forms without any knowledge of identity; others add the guard."""

from contextos.adminkit.unfold_seam import ThemedPasswordForm, ThemedSite

__all__ = ["ThemedPasswordForm", "ThemedSite"]
