"""What stands on the pages: lines of facts, figures, bars, columns, the table."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from audit.export.columns import Column
from audit.export.pdf_page import (
    ACCENT,
    BOLD,
    INK,
    LINE,
    MARGIN,
    PLAIN,
    QUIET,
    TINT,
    Sheet,
    drawable,
    width_of,
    wrapped,
)

_LABEL = 118.0
_CELL, _LEADING, _CELL_LINES = 6.3, 8.0, 8
_FIGURES_A_ROW = 4
_LOOKED_AT, _WIDEST = 200, 130.0


class Bar(NamedTuple):
    """One number with its name."""

    name: str
    number: int


def draw_lines(sheet: Sheet, lines: Sequence[tuple[str, str]]) -> None:
    """Labels on the left, what they say on the right."""
    for label, said in lines:
        room = sheet.width - _LABEL
        parts = wrapped(said, font=PLAIN, size=8.5, width=room, lines=3)
        sheet.need(13 * len(parts) + 4)
        sheet.canvas.setFillColor(QUIET)
        sheet.canvas.setFont(PLAIN, 8.5)
        sheet.canvas.drawString(MARGIN, sheet.y - 10, drawable(label))
        sheet.canvas.setFillColor(INK)
        for part in parts:
            sheet.y -= 13
            sheet.canvas.drawString(MARGIN + _LABEL, sheet.y + 3, part)
        sheet.y -= 2


def draw_figures(sheet: Sheet, figures: Sequence[tuple[str, int]]) -> None:
    """Boxes, a few side by side."""
    gap = 8.0
    width = (sheet.width - gap * (_FIGURES_A_ROW - 1)) / _FIGURES_A_ROW
    for number, (label, value) in enumerate(figures):
        place = number % _FIGURES_A_ROW
        if place == 0:
            sheet.need(54)
            sheet.y -= 50
        left = MARGIN + place * (width + gap)
        sheet.canvas.setFillColor(TINT)
        sheet.canvas.roundRect(left, sheet.y, width, 44, 4, stroke=0, fill=1)
        sheet.canvas.setFillColor(INK)
        sheet.canvas.setFont(BOLD, 14)
        sheet.canvas.drawString(left + 10, sheet.y + 22, f"{value:,}")
        sheet.canvas.setFillColor(QUIET)
        sheet.canvas.setFont(PLAIN, 7.5)
        sheet.canvas.drawString(left + 10, sheet.y + 10, drawable(label))
    sheet.y -= 6


def draw_bars(sheet: Sheet, bars: Sequence[Bar]) -> None:
    """From the left, the longest as wide as there is room."""
    most = max((bar.number for bar in bars), default=0) or 1
    room = sheet.width - 170 - 60
    for bar in bars:
        sheet.need(18)
        sheet.y -= 15
        name = wrapped(bar.name, font=PLAIN, size=7.5, width=160, lines=1)[0]
        sheet.canvas.setFillColor(INK)
        sheet.canvas.setFont(PLAIN, 7.5)
        sheet.canvas.drawString(MARGIN, sheet.y + 2, name)
        long = max(1.5, room * bar.number / most) if bar.number else 0
        sheet.canvas.setFillColor(ACCENT)
        sheet.canvas.rect(MARGIN + 170, sheet.y, long, 9, stroke=0, fill=1)
        sheet.canvas.setFillColor(INK)
        sheet.canvas.drawString(MARGIN + 170 + long + 6, sheet.y + 2, f"{bar.number:,}")
    sheet.y -= 4


def draw_columns(sheet: Sheet, bars: Sequence[Bar]) -> None:
    """Side by side over a line; only so many names that they can be read."""
    high = 70.0
    sheet.need(high + 40)
    floor = sheet.y - high - 14
    most = max(bar.number for bar in bars)
    step = min(sheet.width / len(bars), 48)
    every = -(-len(bars) * 50 // int(sheet.width)) or 1
    for number, bar in enumerate(bars):
        left = MARGIN + number * step
        tall = max(1.0, high * bar.number / most)
        sheet.canvas.setFillColor(ACCENT)
        sheet.canvas.rect(left + 1, floor, max(1.5, step - 3), tall, stroke=0, fill=1)
        if number % every == 0:
            sheet.canvas.setFillColor(QUIET)
            sheet.canvas.setFont(PLAIN, 6)
            sheet.canvas.drawString(left + 1, floor - 9, drawable(bar.name))
    sheet.canvas.setFillColor(QUIET)
    sheet.canvas.setFont(PLAIN, 6)
    sheet.canvas.drawString(MARGIN, floor + high + 4, f"at most {most:,}")
    sheet.canvas.setStrokeColor(LINE)
    sheet.canvas.line(MARGIN, floor, MARGIN + sheet.width, floor)
    sheet.y = floor - 16


def draw_table(sheet: Sheet, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> None:
    """Every page begins with the titles of the columns."""
    widths = _widths(sheet, columns, rows)
    _draw_titles(sheet, columns, widths)
    for number, row in enumerate(rows):
        cells = [
            wrapped(cell, font=PLAIN, size=_CELL, width=width - 6, lines=_CELL_LINES)
            for cell, width in zip(row, widths, strict=True)
        ]
        high = _LEADING * max(map(len, cells)) + 4
        if sheet.need(high + 2):
            _draw_titles(sheet, columns, widths)
        sheet.y -= high
        if number % 2:
            sheet.canvas.setFillColor(TINT)
            sheet.canvas.rect(MARGIN, sheet.y, sheet.width, high, stroke=0, fill=1)
        _draw_cells(sheet, cells, widths, high, font=PLAIN, color=INK)


def _draw_titles(sheet: Sheet, columns: Sequence[Column], widths: Sequence[float]) -> None:
    sheet.y -= 16
    titles = [
        wrapped(column.title, font=BOLD, size=_CELL, width=width - 6, lines=1)
        for column, width in zip(columns, widths, strict=True)
    ]
    _draw_cells(sheet, titles, widths, 14, font=BOLD, color=QUIET)
    sheet.canvas.setStrokeColor(LINE)
    sheet.canvas.line(MARGIN, sheet.y, MARGIN + sheet.width, sheet.y)


def _draw_cells(
    sheet: Sheet,
    cells: Sequence[Sequence[str]],
    widths: Sequence[float],
    high: float,
    *,
    font: str,
    color: str,
) -> None:
    left = MARGIN
    sheet.canvas.setFillColor(color)
    sheet.canvas.setFont(font, _CELL)
    for lines, width in zip(cells, widths, strict=True):
        for number, line in enumerate(lines):
            sheet.canvas.drawString(left + 3, sheet.y + high - 8 - _LEADING * number, line)
        left += width


def _widths(sheet: Sheet, columns: Sequence[Column], rows: Sequence[Sequence[str]]) -> list[float]:
    """As wide as the titles and most of the values, as far as there is room."""
    wanted = []
    for place, column in enumerate(columns):
        lengths = sorted(width_of(drawable(row[place]), PLAIN, _CELL) for row in rows[:_LOOKED_AT])
        usual = lengths[len(lengths) * 8 // 10]
        wanted.append(max(width_of(column.title, BOLD, _CELL), min(usual, _WIDEST)) + 10)
    return [sheet.width * each / sum(wanted) for each in wanted]
