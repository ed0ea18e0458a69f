"""Stage ingest: every raw trace to canonical requests with dense page ids, cut to its part."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.kept import Each, all_traces
from cachezoo.params import entry_of, requests_of
from cachezoo.stage import stage
from cachezoo.traces.ingest import ingest
from cachezoo.traces.read import TraceFiles

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

EACH = Each(
    all_traces,
    ["data.{table}.{key}"],
    ["{path}"],
    ["{folder}/{category}/{key}.parquet"],
    roots=["data/requests", "data/writes"],
)


def main(params: "Params", key: str) -> None:
    """Ingest trace `key`."""
    entry = entry_of(params, key)
    files = TraceFiles([Path(entry.path)], entry.format, entry.category, key, entry.options, entry.skip_bad_rows)
    ingest(files, requests_of(params, key), entry.part)


if __name__ == "__main__":
    stage(main, EACH)()
