"""Stage ingest@trace: a raw trace to canonical requests with dense page ids, cut to its part."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.stage import stage
from cachezoo.traces.readers import read_any
from cachezoo.traces.table import expand_pages, write_trace

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


@stage
def main(params: "Params", key: str) -> None:
    """Ingest trace `key`."""
    entry = params.traces[key]
    whole = read_any(Path(entry.path), entry.format, entry.category)
    part = whole.rows(int(entry.part[0] * len(whole)), int(entry.part[1] * len(whole)))
    trace = replace(part, meta=replace(part.meta, trace_id=key, category=entry.category))
    write_trace(trace, paths.requests(entry.category, key), expand_pages(trace))


if __name__ == "__main__":
    main()
