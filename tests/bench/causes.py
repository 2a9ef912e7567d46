"""Why a figure misses its aim: written by people who looked, printed beside every miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NOT_KNOWN = "**nobody has written down why**"
# By the name of the row. What no row misses any more is not printed; take it out then.
CAUSES: Mapping[str, str] = {}


def misses_aim(row: Mapping[str, object]) -> bool:
    """An aim beyond the must says which way is better."""
    value, must, aim = (float(str(row[name])) for name in ("value", "must", "aim"))
    return value < aim if aim > must else value > aim


def missed_of(rows: Sequence[Mapping[str, object]], causes: Mapping[str, str] | None = None) -> str:
    """The rows that miss their aim, each with its cause, in Markdown."""
    known = CAUSES if causes is None else causes
    missed = [row for row in rows if misses_aim(row)]
    if not missed:
        return "## Aims\nEvery aim is met.\n"
    lines = ["## Aims that are missed", "| what | value | aim | why |", "|---|---|---|---|"]
    lines += [
        f"| {row['name']} | {row['value']} | {row['aim']} | "
        f"{known.get(str(row['name']), NOT_KNOWN)} |"
        for row in missed
    ]
    return "\n".join(lines) + "\n"
