"""The corpus, traces of many programs and set-ups: a category's raw traces to canonical requests."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.console import progress
from cachezoo.errors import ConfigError
from cachezoo.io import atomic_dir
from cachezoo.traces.ingest import ingest
from cachezoo.traces.read import TraceFiles

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


def ingest_corpus(params: "Params", category: str) -> None:
    """Write the canonical requests of a category's corpus, a file each, in the order of the keys.

    Args:
        params: params.yaml.
        category: of workload.

    Raises:
        ConfigError: the corpus has no such category.
        TraceError: a trace cannot be read.
    """
    rows = params.data.corpus.get(category)
    if not rows:
        raise ConfigError(f"params.yaml: holds no data.corpus.{category}; run `dvc repro compose`")
    with progress(f"corpus of {category}", len(rows)) as advance, atomic_dir(paths.corpus(category)) as folder:
        for done, (key, row) in enumerate(sorted(rows.items())):
            advance(done, key)
            ingest(TraceFiles([Path(row.path)], row.format, category, key), folder / f"{key}.parquet")
        advance(len(rows))
