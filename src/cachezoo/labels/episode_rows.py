"""Episode labels as training reads them: one entry a request."""

from dataclasses import dataclass
from pathlib import Path

from pydantic import ValidationError

from cachezoo.arrays import F32, I32, Bool
from cachezoo.errors import TraceError
from cachezoo.io import read_rows
from cachezoo.metrics.episodes import EpisodeFigures

METADATA_KEY = "cachezoo.episodes"
COLUMNS = ("episode", "access_index", "opt", "worth", "settled", "open")


@dataclass(frozen=True)
class EpisodeRows:
    """Labels of a trace: one entry a request, columns as in `labels.episode_file`, and the age that OPT assumes."""

    episode: I32
    access_index: I32
    opt: Bool
    worth: F32
    settled: Bool
    open: Bool
    eviction_age: int  # requests


def read_episode_labels(path: Path, requests: int | None = None) -> EpisodeRows:
    """Read what `write_episode_labels` wrote.

    Raises:
        TraceError: the file is missing, damaged, or holds no episode labels, or not one for each of the `requests`.
    """
    table, metadata = read_rows(path, "label_episodes", requests, list(COLUMNS))
    if METADATA_KEY not in metadata:
        raise TraceError(f"{path}: holds no episode labels; run the stage label_episodes")
    columns = {name: table.column(name).to_numpy() for name in COLUMNS}
    try:
        figures = EpisodeFigures.model_validate_json(metadata[METADATA_KEY])
    except ValidationError as error:
        raise TraceError(f"{path}: its figures are not of this release; run the stage label_episodes again") from error
    return EpisodeRows(**columns, eviction_age=figures.eviction_age)
