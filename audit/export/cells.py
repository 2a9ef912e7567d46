"""Text for tables: nothing in a cell is taken for a formula, nothing in it is invisible."""

from __future__ import annotations

from contextos.core.text import reveal_invisible

# ASVS 1.2.10 names = + - @ TAB and NUL; CR and LF start a cell anew in some readers, and some take
# the full-width forms for the plain ones.
RISKY = frozenset("=+-@\t\r\n\x00\uff1d\uff0b\uff0d\uff20")
_GUARD = "'"
_BLANKS = " \u00a0\u3000"


def shown(text: str) -> str:
    """The text with invisible and direction-changing characters spelt out."""
    if text.isascii() and text.isprintable():
        return text
    return reveal_invisible(text)


def is_risky(text: str) -> bool:
    """Whether a spreadsheet could take the text for something to carry out."""
    if not text:
        return False
    if text[0] in RISKY:
        return True
    # Leading blanks are dropped by some readers before they look.
    return text[0] in _BLANKS and text.lstrip(_BLANKS)[:1] in RISKY


def guarded(text: str) -> str:
    """Visible, and with an apostrophe before what could be carried out."""
    visible = shown(text)
    return f"{_GUARD}{visible}" if is_risky(visible) or is_risky(text) else visible
