"""The closing table of a run: policies by test traces."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cachezoo.io import read_json

if TYPE_CHECKING:
    from rich.table import Table


def rows_of_tests(files: list[Path]) -> list[dict[str, Any]]:
    """Rows of every test trace in the evaluate stages' outputs, with the trace's name in each."""
    return [
        {"trace": key, "promoted": result["models"].get(row["policy"], {}).get("promoted"), **row}
        for result in map(read_json, files)
        for key, trace in result["traces"].items()
        if trace["role"] == "test"
        for row in trace["rows"]
    ]


def results_table(rows: list[dict[str, Any]]) -> "Table":
    """Page hit ratio of each policy (rows) on each test trace (columns), `gap_closed` beside the models'."""
    from rich.table import Table

    traces = list(dict.fromkeys(row["trace"] for row in rows))
    policies = list(dict.fromkeys(row["policy"] for row in sorted(rows, key=lambda row: -row["hit_ratio"])))
    table = Table(
        title="page hit ratio on the test traces",
        caption="models: share of the gap from the best classic to the optimum; * promoted on validation",
    )
    table.add_column("policy")
    for trace in traces:
        table.add_column(trace, justify="right")
    found = {(row["policy"], row["trace"]): row for row in rows}
    for policy_id in policies:
        cells = [_cell(found.get((policy_id, trace))) for trace in traces]
        kind = next(row["kind"] for row in rows if row["policy"] == policy_id)
        table.add_row(f"{policy_id} ({kind})" if kind != "classic" else policy_id, *cells)
    return table


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return "-"
    text = f"{row['hit_ratio']:.4f}"
    if row["kind"] != "model":
        return text
    closed = "gap below 0.02" if row["gap_closed"] is None else f"{100 * row['gap_closed']:+.0f} %"
    return f"{text} ({closed}){' *' if row['promoted'] else ''}"
