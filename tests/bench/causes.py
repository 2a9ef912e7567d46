"""Why a figure misses its aim: written by people who looked, printed beside every miss."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

NOT_KNOWN = "**nobody has written down why**"
# By the name of the row. What no row misses any more is not printed; take it out then.
_PYTHON = (
    "Interpreted Python: some 2,750 calls of functions a governed read for records, hashes, "
    "encrypted values and envelopes, no part above a tenth. Run without a pause they take 1.4 ms; "
    "the process sleeps four times a call and finds its caches cold each time."
)
_CORES = (
    "Two cores for everybody: a call takes some 3 ms of the gateway, 1.5 of PostgreSQL (two "
    "commits, some fifteen rows) and 0.5 of runner and load tool."
)
_THE_HOUR = (
    "The machine at this hour: nearly the same code gave {} in a whole run where a probe cost "
    "0.337 ms."
)
CAUSES: Mapping[str, str] = {
    "manifest_compile_1000_ms": _THE_HOUR.format("3.1 ms"),
    "export_jsonl_rows_per_s": _THE_HOUR.format("123 k"),
    "read_only_added_p50_ms": "Two commits wait for the disk, about 1 ms each; the rest is CPU "
    "time, see `gateway_cpu_ms_per_call`.",
    "gateway_cpu_ms_per_call": _PYTHON,
    "gateway_cpu_in_probes": _PYTHON,
    "machine_probe_cpu_ms": "The machine was slower at this hour than where the bars were set.",
    "throughput_8_per_s": _CORES,
    "throughput_32_per_s": _CORES,
    "mcp_added_p50_ms": "Beside what every read costs: the hop to the one event loop and back, a "
    "signed word to the server, and the SDK's own work, as many calls of functions again. "
    + _THE_HOUR.format("3.6 ms"),
    "contextforge_cpu_ratio_rest": "Each of our calls writes two records, five encrypted values "
    "and a call, theirs none; ours counts the runner in which our function asks the far side.",
    "contextforge_cpu_ratio_mcp": "As for REST; the SDK's work on the session is the same in both.",
    "verify_rows_per_s": "Two SHA-256, the reading of a text and the comparison of its columns "
    "take some 13 us of Python a row, PostgreSQL's part some 6: both cores are busy.",
}


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
