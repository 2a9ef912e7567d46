"""The rows that a whole run owes its readers; one that could not be measured is named."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

PROMISED = (
    "read_only_added_p50_ms",
    "gateway_cpu_ms_per_call",
    "mcp_added_p50_ms",
    "throughput_8_per_s",
    "throughput_32_per_s",
    "errors",
    "contextforge_cpu_ratio_rest",
    "contextforge_cpu_ratio_mcp",
    "policy_1000_rules_ms",
    "plan_check_100_steps_ms",
    "manifest_compile_1000_ms",
    "insert_cost_ratio",
    "verify_rows_per_s",
    "export_jsonl_rows_per_s",
    "export_csv_rows_per_s",
    "queue_page_p95_ms",
    "decide_p95_ms",
)


def missing_of(rows: Sequence[Mapping[str, object]]) -> list[str]:
    """What was promised and not measured."""
    measured = {row["name"] for row in rows}
    return [name for name in PROMISED if name not in measured]


def said_of(missing: Sequence[str]) -> str:
    """The same in Markdown; nothing where nothing is missing."""
    listed = ", ".join(f"`{name}`" for name in missing)
    return f"**Not measured in this run:** {listed}\n\n" if missing else ""
