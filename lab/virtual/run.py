"""Runs what the figures of the virtual I/O cache are made of: each application alone, then workloads of several.

Applications are those of Table 2, made anew, and the captured traces: the page categories' test traces and the corpus.
Nothing is fitted or chosen: the paper's f, alpha, q and queue stand for all, so no trace has to be held back.
"""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated

import numpy as np
import numpy.typing as npt

from cachezoo.jobs import run_all
from cachezoo.params import At, Picked
from cachezoo.settings.data import REQUESTS, Corpus, Roles
from lab.virtual.alone import HEATED, PARTS, SWEEPS, SWEPT_MB, Alone, Measured, Source, alone, loop
from lab.virtual.document import QUEUES, Kind, Part, Point, Swept, VirtualFigure, figure_of
from lab.virtual.paper import APPLICATIONS, SIZES_MB, WORKLOADS
from lab.virtual.shared import shared

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

CAPTURED = "C4"
"""The workload of captured traces: of each page category the test trace that is called after it."""


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    categories: Annotated[list[str], At("data.page_categories")]
    roles: Annotated[dict[str, Roles], At("data.roles")]
    corpus: Annotated[Corpus, At("data.corpus")]
    seed: Annotated[int, At("seed")]


def sources(settings: Settings) -> list[Source]:
    """Table 2's, then the test traces, then the corpus without its long ones, which are of the same programs."""
    found = [Source(name, "made", None, settings.seed, swept=True) for name in APPLICATIONS]
    for category in settings.categories:
        for key in settings.roles[category].get("test", []):
            path = Path(f"{REQUESTS}/{category}/{key}.parquet")
            found.append(Source(key, "captured", path, settings.seed, swept=True))
    for category, rows in sorted(settings.corpus.items()):
        keys = (key for key, row in sorted(rows.items()) if not row.long)
        paths = ((key, Path(f"data/corpus/{category}/{key}.parquet")) for key in keys)
        found += [Source(key, "captured", path, settings.seed, swept=False) for key, path in paths]
    return found


def workloads(settings: Settings, found: Sequence[Source]) -> dict[str, tuple[Source, ...]]:
    """Table 3's, the largest first, and the captured one."""
    by_name = {one.name: one for one in found}
    own = {name: tuple(by_name[each] for each in names) for name, names in reversed(WORKLOADS.items())}
    return {**own, CAPTURED: tuple(by_name[f"{category}_test"] for category in settings.categories)}


def half_width(values: npt.NDArray[np.float64]) -> float:
    """Half of the 95 % interval of a mean over applications, by Student's t; 0 of one alone."""
    from scipy.stats import t

    n = len(values)
    return float(t.ppf(0.975, n - 1) * np.std(values, ddof=1) / np.sqrt(n)) if n > 1 else 0.0


def points(kind: Kind, found: Sequence[Alone]) -> list[Point]:
    """Fig. 3: means over the applications of a kind."""
    rows = []
    for queue in QUEUES:
        for size in SIZES_MB:
            own = [one.sizes[queue, size] for one in found if one.source.kind == kind]
            columns = np.array(own, np.float64)
            plain, hits = columns[:, 0], columns[:, 1]
            rows.append(
                Point(kind=kind, queue=queue, megabytes=size, plain_half=half_width(plain), hits_half=half_width(hits),
                      gain_half=half_width(hits - plain), **_means(own))
            )  # fmt: skip
    return rows


def parts(kind: Kind, found: Sequence[Alone]) -> list[Part]:
    """Fig. 3 by parts of each application's pages."""
    rows = []
    for part in PARTS:
        own = [one.parts[part] for one in found if one.source.kind == kind]
        rows.append(Part(kind=kind, part=part, **_means(own)))
    return rows


def _means(own: Sequence[Measured]) -> dict[str, float]:
    return dict(zip(Measured._fields, np.array(own, np.float64).mean(axis=0).tolist(), strict=True))


def swept(kind: Kind, found: Sequence[Alone]) -> list[Swept]:
    """Fig. 8: means over the applications of a kind that are swept."""
    rows = []
    for parameter, values in SWEEPS.items():
        for value in values:
            for size in SWEPT_MB:
                own = [one.sweeps[parameter, value, size] for one in found if one.source.kind == kind and one.sweeps]
                rows.append(Swept(kind=kind, parameter=parameter, value=value, megabytes=size, **_means(own)))
    return rows


def virtual(params: "Params", pool: Executor) -> VirtualFigure:
    """Run everything.

    Args:
        params: as read.
        pool: an application, or a workload, is a job.

    Raises:
        CachezooError: a trace is missing or damaged.
    """
    settings = Settings.of(params)
    every = sources(settings)
    mixes = workloads(settings, every)
    with TemporaryDirectory(prefix="cachezoo_") as text:
        folder = Path(text)
        kept = {one.name for own in mixes.values() for one in own}
        jobs = [(one, folder, one.name in kept) for one in every]
        found = run_all("Figs. 2 to 5, 8, 9", pool, _alone, jobs)
        own = [(name, parts[0].kind, parts, folder) for name, parts in mixes.items()]
        mixed = run_all("Figs. 6, 7", pool, shared, own)
    kinds: tuple[Kind, ...] = ("made", "captured")
    order = list(HEATED)
    return figure_of(
        loop(),
        sorted((one.heat for one in found if one.heat is not None), key=lambda one: order.index(one.application)),
        [row for kind in kinds for row in points(kind, found)],
        [row for kind in kinds for row in parts(kind, found)],
        [row for one in found for row in one.profiles()],
        [row for rows in mixed for row in rows],
        [row for kind in kinds for row in swept(kind, found)],
        [row for one in found for row in one.disk],
    )


def _alone(source: Source, folder: Path, keep: bool) -> Alone:
    return alone(source, folder, keep=keep)
