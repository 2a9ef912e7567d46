"""Untrusted text made safe to look at: nothing in it is invisible or out of place."""

import unicodedata

# Letters and marks that print as nothing although Unicode does not class them as controls.
_BLANKS = frozenset("\u115f\u1160\u17b4\u17b5\u3164\uffa0\u2800\u034f")
_PLAIN_WHITESPACE = frozenset("\t\n\r")
_HIDDEN_CATEGORIES = frozenset({"Cc", "Cf", "Co", "Cs", "Cn", "Zl", "Zp"})


def _is_variation_selector(character: str) -> bool:
    return "\ufe00" <= character <= "\ufe0f" or "\U000e0100" <= character <= "\U000e01ef"


def _is_invisible(character: str) -> bool:
    if character in _PLAIN_WHITESPACE:
        return False
    return (
        character in _BLANKS
        or _is_variation_selector(character)
        or unicodedata.category(character) in _HIDDEN_CATEGORIES
    )


def has_invisible(text: str) -> bool:
    """Whether a reader would not see everything that is there."""
    return any(map(_is_invisible, text))


def reveal_invisible(text: str) -> str:
    """The text with every invisible or direction-changing character spelt out: `⟨U+202E⟩`."""
    return "".join(f"⟨U+{ord(c):04X}⟩" if _is_invisible(c) else c for c in text)


def single_line(text: str, *, limit: int = 200) -> str:
    """The text on one line, revealed and shortened, for lists, subjects and log lines."""
    line = " ".join(reveal_invisible(text).split())
    return line if len(line) <= limit else f"{line[: limit - 1]}…"
