"""Trains the cache on each test stream's first half as well, as a user would retrain on what was recorded so far.

Rows of the first half, labelled from that half alone, join those of the train traces. The caches run over the whole
stream, and what counts is what the stage evaluate_reuse judges by: the second half of what follows a full cache. So
rows here and in metrics/reuse.json compare directly, and rivals are those of the latter.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cachezoo.jobs import run_all
from cachezoo.seeds import derive_seed
from cachezoo.traces.pages import capacity_pages
from cachezoo.zoo.reuse import fit
from cachezoo.zoo.reuse.evaluate import Counted, streams_of, where_of
from cachezoo.zoo.reuse.fit import Learned, learn
from cachezoo.zoo.reuse.metrics import Where
from cachezoo.zoo.reuse.prepared import Prepared, places
from cachezoo.zoo.reuse.retrained import rows_of_part
from cachezoo.zoo.reuse.trained import Trained, serve_all
from lab.retrained.document import Retrained, RetrainedRow

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


class Source(NamedTuple):
    """A test stream: its key, canonical requests, and what of it was trained on."""

    key: str
    path: Path
    where: Where


def first_half(part: Prepared, settings: fit.Settings, seed: int) -> fit.Rows:
    """Rows of the requests in a stream's first half by page accesses, at the capacities of the whole stream."""
    start = part.pages.request_start
    return rows_of_part(part, 0, int(np.searchsorted(start, start[-1] // 2, "right")) - 1, settings, seed)


def learned_with(part: Prepared, rows: fit.Rows, model: Trained, settings: fit.Settings) -> list[Learned]:
    """Every seed's forest of the train traces' rows and the stream's first half."""
    own = first_half(part, settings, derive_seed(settings.seed, "retrained"))
    return learn(fit.joined([rows, own]), settings, model.policy, model.weight)


def measure_stream(source: Source, rows: Path, model: Trained, settings: fit.Settings) -> list[RetrainedRow]:
    """A test stream at each capacity that forests are fitted for.

    Args:
        source: the stream.
        rows: file of the train traces' rows.
        model: the trained model.
        settings: parameters.
    """
    part = Prepared.read(source.key, source.path)
    with np.load(rows) as columns:
        train = fit.Rows(*(columns[name] for name in fit.Rows._fields))
    forests = learned_with(part, train, model, settings)
    return [_row(source, part, fraction, forests, model) for fraction in settings.fit.capacities]


def _row(
    source: Source, part: Prepared, fraction: float, forests: Sequence[Learned], model: Trained
) -> RetrainedRow:  # fmt: skip
    capacity = capacity_pages(fraction, part.pages.n_pages)
    counted, runs = Counted.of(part.pages, capacity), serve_all(part, capacity, forests, model.policy)
    return RetrainedRow(
        trace=source.key,
        where=source.where,
        capacity_fraction=fraction,
        hit_ratios=[float(counted.judged(run.run.outcome).mean()) for run in runs],
    )


def retrained(params: "Params", pool: Executor, folder: Path) -> Retrained:
    """What the stage retrained of lab/dvc.yaml finds.

    Args:
        params: of the project.
        pool: what runs the jobs; no figure depends on how many at a time.
        folder: for the train traces' rows.

    Raises:
        TrainingError: no model, or nothing to train on.
        TraceError: a trace is missing or damaged.
    """
    settings = fit.Settings.of(params)
    model = Trained.read(settings.model.arch)
    train = places(settings.categories, settings.roles, settings.corpus, "train")
    rows = fit.all_rows([Prepared.read(key, path) for key, path in train.items()], settings)
    np.savez(folder / "rows.npz", **rows._asdict())
    sources = [Source(key, path, where_of(row)) for key, path, _, row in streams_of(settings.corpus)]
    jobs = [(source, folder / "rows.npz", model, settings) for source in sources]
    found = run_all("test streams, retrained", pool, measure_stream, jobs)
    return Retrained(rows=[row for rows_of_one in found for row in rows_of_one])
