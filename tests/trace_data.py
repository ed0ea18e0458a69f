"""Real samples of foreign traces, and small ways to read them."""

import os
from pathlib import Path
from typing import Any

from cachezoo.traces.read import TraceFiles, read_files
from cachezoo.traces.table import Trace


def sample(name: str) -> Path:
    """A file of the public samples; for tests that need public_traces."""
    return Path(os.environ["CACHEZOO_PUBLIC_TRACES"]) / name


def read(*paths: Path, fmt: str = "auto", skip_bad_rows: int = 0, **options: str) -> Trace:
    """Read files whole."""
    return read_files(TraceFiles(list(paths), fmt, options=options, skip_bad_rows=skip_bad_rows))


def texts(column: Any) -> list[str]:
    """A coded column's values."""
    return [column.names[code] for code in column.codes]
