"""Pages of a PDF: where the pen stands, letters that can be shown, page numbers at the end."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import reportlab
from reportlab.lib.pagesizes import A4, landscape
from reportlab.pdfbase import pdfmetrics
from reportlab.pdfbase.ttfonts import TTFont
from reportlab.pdfgen.canvas import Canvas

from contextos.core.text import reveal_invisible

INK, QUIET, LINE, TINT, ACCENT = "#131a27", "#5d6b80", "#cbd4e1", "#f1f4f8", "#3d55cf"
PLAIN, BOLD = "CosPlain", "CosBold"
MARGIN = 42.0
_FONTS = {PLAIN: "Vera.ttf", BOLD: "VeraBd.ttf"}


@cache
def _faces() -> frozenset[int]:
    """Makes the fonts known, once a process; the characters that they can draw."""
    folder = Path(str(reportlab.__file__)).parent / "fonts"
    for name, file in _FONTS.items():
        pdfmetrics.registerFont(TTFont(name, str(folder / file)))
    return frozenset(pdfmetrics.getFont(PLAIN).face.charToGlyph)


def drawable(text: str) -> str:
    """The text on one line; what the font can't draw, or nobody could see, is spelt out."""
    known = _faces()
    spelled = []
    for character in reveal_invisible(" ".join(text.split())):
        replaced = {"⟨": "<", "⟩": ">"}.get(character, character)
        spelled.append(replaced if ord(replaced) in known else f"<U+{ord(replaced):04X}>")
    return "".join(spelled)


def width_of(text: str, font: str, size: float) -> float:
    """How wide a drawable text is."""
    return float(pdfmetrics.stringWidth(text, font, size))


def wrapped(text: str, *, font: str, size: float, width: float, lines: int) -> list[str]:
    """The text in so many lines at most, cut where it does not fit."""
    found: list[str] = []
    rest = drawable(text)
    while rest and len(found) < lines:
        end = _fitting(rest, font, size, width)
        if end < len(rest) and len(found) == lines - 1:
            found.append(rest[: max(1, end - 1)] + "…")
            return found
        space = rest.rfind(" ", 1, end + 1) if end < len(rest) else -1
        end = space if space > end // 2 else end
        found.append(rest[:end])
        rest = rest[end:].lstrip()
    return found or [""]


def _fitting(text: str, font: str, size: float, width: float) -> int:
    if width_of(text, font, size) <= width:
        return len(text)
    low, high = 1, len(text)
    while low < high:
        middle = (low + high + 1) // 2
        if width_of(text[:middle], font, size) <= width:
            low = middle
        else:
            high = middle - 1
    return low


class _NumberedCanvas(Canvas):  # type: ignore[misc]
    """Keeps pages until their number is known."""

    def __init__(self, *args: object, footer: str, **how: object) -> None:
        super().__init__(*args, **how)
        self._footer = footer
        self._kept: list[dict[str, object]] = []

    def showPage(self) -> None:  # noqa: N802  the library's name
        """Set the page aside."""
        self._kept.append(dict(self.__dict__))
        self._startPage()

    def save(self) -> None:
        """Write each page with its number and the number of them all."""
        for number, kept in enumerate(self._kept, start=1):
            self.__dict__.update(kept)
            width, _ = self._pagesize
            self.setFillColor(QUIET)
            self.setFont(PLAIN, 6.5)
            self.drawString(MARGIN, 24, self._footer)
            self.drawRightString(width - MARGIN, 24, f"Page {number} of {len(self._kept)}")
            super().showPage()
        super().save()


class Sheet:
    """A document with one column, drawn from the top; `y` is where the pen stands."""

    def __init__(self, path: Path, *, title: str, footer: str) -> None:
        _faces()
        self.canvas = _NumberedCanvas(
            str(path), pagesize=A4, footer=drawable(footer), pageCompression=1, lang="en-GB"
        )
        self.canvas.setTitle(drawable(title)[:200])
        self.canvas.setAuthor("ContextOS")
        self._size = A4
        self.y = A4[1] - MARGIN

    @property
    def width(self) -> float:
        """Between the margins."""
        return float(self._size[0]) - 2 * MARGIN

    def band(self, title: str, below: str) -> None:
        """The head of the first page."""
        width, height = self._size
        lines = wrapped(title, font=BOLD, size=20, width=self.width, lines=2)
        deep = 62 + 24 * len(lines)
        self.canvas.setFillColor(ACCENT)
        self.canvas.rect(0, height - deep, width, deep, stroke=0, fill=1)
        self.canvas.setFillColor("#ffffff")
        self.canvas.setFont(PLAIN, 9)
        self.canvas.drawString(MARGIN, height - 32, "ContextOS")
        self.canvas.setFont(BOLD, 20)
        for number, line in enumerate(lines):
            self.canvas.drawString(MARGIN, height - 58 - 24 * number, line)
        self.canvas.setFont(PLAIN, 9)
        shown = wrapped(below, font=PLAIN, size=9, width=self.width, lines=1)
        self.canvas.drawString(MARGIN, height - deep + 14, shown[0])
        self.y = height - deep - 22

    def heading(self, text: str, *, room: float = 90) -> None:
        """A heading, with so much room below it on the same page."""
        self.need(room)
        self.y -= 16
        self.canvas.setFillColor(INK)
        self.canvas.setFont(BOLD, 11)
        self.canvas.drawString(MARGIN, self.y, drawable(text))
        self.y -= 10

    def note(self, text: str) -> None:
        """A quiet paragraph."""
        for line in wrapped(text, font=PLAIN, size=7.5, width=self.width, lines=5):
            self.need(12)
            self.y -= 11
            self.canvas.setFillColor(QUIET)
            self.canvas.setFont(PLAIN, 7.5)
            self.canvas.drawString(MARGIN, self.y, line)
        self.y -= 6

    def need(self, height: float) -> bool:
        """Go on to a new page unless there is so much room; whether one was begun."""
        if self.y - height >= MARGIN:
            return False
        self.canvas.showPage()
        self.canvas.setPageSize(self._size)
        self.y = self._size[1] - MARGIN
        return True

    def turn(self) -> None:
        """From the next page on, wide instead of high."""
        self.canvas.showPage()
        self._size = landscape(A4)
        self.canvas.setPageSize(self._size)
        self.y = self._size[1] - MARGIN

    def save(self) -> None:
        """The last page, then the file."""
        self.canvas.showPage()
        self.canvas.save()
