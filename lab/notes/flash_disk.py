"""What the flash cache gains from labels by a model of the disk, and loses by larger blocks, on validation.

    flash_disk.py [CATEGORY …] [--seeds 5]      needs the pipeline's requests

Figures are the mean read disk-head time by the model of the disk, in disk-head seconds per second. Geometries have the
same bytes of cache and of writes, those of 256 KiB blocks of 4 KiB segments; of blob there is Tectonic's alone. The
second one is twice that, or what a rule allows where that is more: the largest with 1,000 read blocks and at most 1.1
times the bytes of 4 KiB segments on the train traces. The first line says what it allows. *Without a model* and OPT are
at the budget on the trace itself. *Forest* learns from the train traces' labels, made with the disk that the row names,
and has the prefetch mode and the threshold of validation: the mean over seeds, lowest and highest.
"""

import argparse
import tempfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from cachezoo.config.load import load_params
from cachezoo.flash_cache.load import load_curve, load_windows
from cachezoo.flash_cache.policies import best_without_model
from cachezoo.flash_cache.problem import DISKS, FlashProblem, flash_problem, label_of
from cachezoo.kernels.flash import FlashRun
from cachezoo.kernels.segments import Geometry
from cachezoo.labels.episode_file import footprint, write_episode_labels
from cachezoo.labels.episode_rows import read_episode_labels
from cachezoo.labels.episodes import label_problem
from cachezoo.models.forest import forest_scorer
from cachezoo.params import traces_of
from cachezoo.settings.flash import DiskName, EpisodeLabel
from cachezoo.settings.params import Params
from cachezoo.traces.clock import time_scale
from cachezoo.traces.table import Trace
from cachezoo.training.episodes import Prepared, read_traces
from cachezoo.zoo.admission.fit import Settings, fit_prepared
from cachezoo.zoo.admission.judge import plain_settings
from cachezoo.zoo.admission.serve import history_of, serve_trace

FLOOR = Geometry()
DOUBLINGS = 5  # of the floor, up to 8 MiB / 128 KiB
LEAST_BLOCKS, MOST_INFLATION = 1000, 1.1


def doubled(times: int) -> Geometry:
    """The floor, doubled so often."""
    return Geometry(FLOOR.block_bytes << times, FLOOR.segment_bytes << times)


def allowed(traces: Sequence[Trace]) -> int:
    """Doublings that the rule allows on every one of some traces."""

    def fits(trace: Trace, times: int) -> bool:
        blocks, inflation = footprint(trace, doubled(times))
        return blocks >= LEAST_BLOCKS and inflation <= MOST_INFLATION

    return next((k for k in range(DOUBLINGS, 0, -1) if all(fits(trace, k) for trace in traces)), 0)


class Part:
    """A trace with a cache of some geometry, of the bytes and the writes that another geometry has."""

    def __init__(self, params: Params, trace: Trace, label: EpisodeLabel, geometry: Geometry) -> None:
        """Set up; `label` has the other geometry."""
        self.trace, self._flash = trace, params.policy.flash
        base = flash_problem(trace, label, self._flash)
        own = {"block_bytes": geometry.block_bytes, "segment_bytes": geometry.segment_bytes}
        whole = label.model_copy(update={**own, "cache_fraction": 1.0, "write_budget": 1.0})
        times = geometry.segment_bytes / base.geometry.segment_bytes
        part = base.capacity / times / flash_problem(trace, whole, self._flash).accesses.n_segments
        sized = whole.model_copy(update={"cache_fraction": part})
        written = flash_problem(trace, sized, self._flash).accept_all.segment_writes
        self.label = sized.model_copy(update={"write_budget": base.budget / times / written})
        self.problem = flash_problem(trace, self.label, self._flash)

    def load(self, run: FlashRun) -> float:
        """Mean over the windows."""
        windows = load_windows(self.trace.time_us, self.problem, self._flash, time_scale(self.trace))
        return float(load_curve(self.problem.dt_seconds(run), windows).mean())

    def by(self, disk: DiskName) -> FlashProblem:
        """The problem with another disk."""
        return replace(self.problem, disk=DISKS[disk])

    def prepared(self, disk: DiskName) -> Prepared:
        """Labels made with a disk."""
        flash = self._flash.model_copy(update={"disk": disk})
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "labels.parquet"
            write_episode_labels(self.trace, self.label, flash, path)
            return Prepared(self.trace.meta.trace_id, self.trace, read_episode_labels(path))


def forests(
    params: Params, name: str, train: list[Prepared], label: EpisodeLabel, held: Sequence[Part], seeds: int
) -> list[float]:
    """Mean load over validation of forests by seed, each in the plain mode and at the threshold of validation."""
    found = []
    for seed in range(seeds):
        settings = replace(Settings.of(params, name), seed=seed, label=label)
        model, forest = fit_prepared(name, train, settings, {})
        score = forest_scorer(forest.text)
        scores = [score(serve_trace(history_of(model), part.trace)) for part in held]
        best = plain_settings([part.problem for part in held], scores)[0]
        found.append(float(np.mean([part.load(run) for part, run in zip(held, best.runs, strict=True)])))
    return found


def rows(params: Params, name: str, seeds: int) -> None:
    """Print a category's."""
    label = label_of(params.label.episodes, name).model_copy(update={"geometry": {}})
    train, held = (
        [part.trace for part in read_traces(name, traces_of(params, name, role))[0]] for role in ("train", "validation")
    )
    base, rule = Geometry(label.block_bytes, label.segment_bytes), allowed(train)
    print(f"{name}: the rule allows blocks of {doubled(rule).block_bytes >> 10} KiB")
    for geometry in (base,) if base != FLOOR else (base, doubled(max(1, rule))):
        own = label.model_copy(update={"block_bytes": geometry.block_bytes, "segment_bytes": geometry.segment_bytes})
        learns, parts = ([Part(params, trace, label, geometry) for trace in traces] for traces in (train, held))
        best = best_without_model([part.problem for part in parts], [one.meta.trace_id for one in held], params.seed)
        loads = [part.load(run) for part, run in zip(parts, best.runs, strict=True)]
        size = f"{geometry.block_bytes >> 10}/{geometry.segment_bytes >> 10} KiB"
        print(f"{name} {size}: without a model {np.mean(loads):.4f} ({best})")
        for disk in DISKS:
            runs = [label_problem(part.by(disk), part.label, label.opt_prefetch).choice.run for part in parts]
            opt = np.mean([part.load(run) for part, run in zip(parts, runs, strict=True)])
            found = forests(params, name, [part.prepared(disk) for part in learns], own, parts, seeds)
            spread = f"{np.mean(found):.4f} ({min(found):.4f} to {max(found):.4f})"
            print(f"  labels by {disk}: OPT {opt:.4f}, forest {spread}", flush=True)


def main() -> None:
    """Print a paragraph for each category."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("categories", nargs="*", default=["database", "fileserver", "mail", "web", "blob"])
    parser.add_argument("--seeds", type=int, default=5)
    args = parser.parse_args()
    params = load_params()
    for name in args.categories:
        rows(params, name, args.seeds)


if __name__ == "__main__":
    main()
