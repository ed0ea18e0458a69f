"""Stage ingest_writes@trace: a raw trace of overwrites, for streams alone, to canonical requests, cut to its part."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.stage import stage
from cachezoo.systems.streams.cycles import entry_of, requests_of
from cachezoo.traces.ingest import ingest
from cachezoo.traces.read import TraceFiles

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params", key: str) -> None:
    """Ingest trace `key`."""
    entry = entry_of(params, key)
    files = TraceFiles([Path(entry.path)], entry.format, entry.category, key, entry.options, entry.skip_bad_rows)
    ingest(files, requests_of(params, key), entry.part)


if __name__ == "__main__":
    stage(main)()
