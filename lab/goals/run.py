"""Runs the trained cache, and one that is fitted on each test stream's first half as well, at three capacities.

*Trained*: every seed's forest of the stage fit_reuse, with the weight that the judge chose, on the whole of each test
stream at home and away. *Retrained*: rows of the stream's first half, labelled from that half alone, join those of the
train traces, as a user would retrain on what was recorded so far; caches run over the whole stream, and the second half
counts, for ours and for the classics alike.

The rivals are all ways to run a classic: the best in hindsight, and the one that the validation traces of the stream's
category would have chosen at that capacity. No test stream chooses anything.
"""

from collections.abc import Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np

from cachezoo import paths
from cachezoo.contest.counting import first_access
from cachezoo.jobs import run_all
from cachezoo.kernels.outcome import HIT
from cachezoo.models.forest import forest_scorer, read_forest_text
from cachezoo.models.trained import read_fitted, read_trained
from cachezoo.params import At
from cachezoo.policies.accounting import account
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.policies.tuned import tuned_classics
from cachezoo.seeds import derive_seed
from cachezoo.settings.data import TraceEntry
from cachezoo.settings.page_cache import ClassicsPolicy
from cachezoo.traces.pages import PageAccesses, capacity_pages
from cachezoo.zoo.reuse import fit
from cachezoo.zoo.reuse.cache import Seen, plan_of
from cachezoo.zoo.reuse.evaluate import streams_of, where_of
from cachezoo.zoo.reuse.fit import Learned, learn
from cachezoo.zoo.reuse.judge import base_policy, calibration_of
from cachezoo.zoo.reuse.metrics import Where
from cachezoo.zoo.reuse.prepared import Prepared, places
from lab.goals.document import GoalRow, Goals, Protocol, summaries

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

Hits = dict[str, float]


@dataclass(frozen=True)
class Settings(fit.Settings):
    """What the stage reads of params.yaml: what the fit reads, the matrix, and how classics are tuned."""

    traces: Annotated[dict[str, TraceEntry], At("data.traces")]
    classics: Annotated[ClassicsPolicy, At("policy.classics")]


class Source(NamedTuple):
    """A trace: its key, canonical requests, category, and what of it was trained on."""

    key: str
    path: Path
    category: str
    where: Where


class Trained(NamedTuple):
    """The trained model: its policy, the weight of its counts, and every seed's forest."""

    policy: dict[str, Any]
    weight: float
    seeds: list[Learned]


def trained_of(settings: Settings) -> Trained:
    """Read what fit_reuse and judge_reuse wrote.

    Raises:
        TrainingError: it is missing or damaged.
    """
    name = fit.model_id(settings.model.arch)
    folder = paths.fitted(name)
    fitted, weight = (
        read_fitted(folder, "reuse"),
        float(read_trained(paths.trained(name), "reuse").calibration["weight"]),
    )
    policy = base_policy(fitted)
    seeds = [
        Learned(read_forest_text(folder / fit.forest_file(k)), plan_of(policy, calibration_of(fitted, k, weight)))
        for k in range(len(fitted.learned["seeds"]))
    ]
    return Trained(policy, weight, seeds)


def ways(settings: Settings) -> list[str]:
    """All ways to run a classic."""
    return [*classics(), *tuned_classics(settings.classics)]


def validated(source: Source, settings: Settings) -> list[Hits]:
    """Hit ratios of all ways to run a classic on a validation trace, at each capacity."""
    part, found = Prepared.read(source.key, source.path), []
    simulator = Simulator(part.trace, part.pages)
    for fraction in settings.fit.capacities:
        capacity = capacity_pages(fraction, part.pages.n_pages)
        warmup = first_access(part.pages)
        found.append({name: simulator.run(name, capacity, warmup).hit_ratio for name in ways(settings)})
    return found


def first_half(part: Prepared, settings: Settings, seed: int) -> fit.Rows:
    """Rows of a trace's first half, labelled from it alone, at the capacities of the whole trace."""
    requests = len(part.trace) // 2
    start = part.pages.request_start[: requests + 1]
    pages = PageAccesses(start, part.pages.page_ids[: start[-1]], part.pages.n_pages)
    half = Prepared(part.key, part.path, part.trace.rows(0, requests), pages)
    return fit.joined(
        fit.trace_rows(
            half, capacity_pages(fraction, part.pages.n_pages), settings.fit.rows, settings,
            derive_seed(seed, part.key, str(fraction)),
        )
        for fraction in settings.fit.capacities
    )  # fmt: skip


def retrained(part: Prepared, rows: fit.Rows, model: Trained, settings: Settings) -> list[Learned]:
    """Every seed's forest of the train traces' rows and the trace's first half."""
    own = first_half(part, settings, derive_seed(settings.seed, "retrained"))
    return learn(fit.joined([rows, own]), settings, model.policy, model.weight)


@dataclass(frozen=True)
class _Counted:
    """A trace at one capacity: from which access each protocol counts, and which classic validation chose."""

    source: Source
    part: Prepared
    fraction: float
    capacity: int
    chosen: str

    def rows(self, names: Sequence[str], forests: Mapping[Protocol, Sequence[Learned]], seen: Seen) -> list[GoalRow]:
        """A row of each protocol."""
        low: dict[Protocol, int] = {
            "trained": first_access(self.part.pages),
            "retrained": int(self.part.pages.request_start[len(self.part.trace) // 2]),
        }
        simulator = Simulator(self.part.trace, self.part.pages)
        hits: dict[Protocol, Hits] = {protocol: {} for protocol in forests}
        for name in (*names, OPTIMUM):
            hit = simulator.run(name, self.capacity, 0).outcome == HIT
            for protocol in forests:
                hits[protocol][name] = float(hit[low[protocol] :].mean())
        return [
            self._row(protocol, learned, hits[protocol], seen, low[protocol], simulator)
            for protocol, learned in forests.items()
        ]

    def _row(
        self, protocol: Protocol, learned: Sequence[Learned], hits: Hits, seen: Seen, low: int, simulator: Simulator
    ) -> GoalRow:  # fmt: skip
        optimum = hits.pop(OPTIMUM)
        best = max(sorted(hits), key=lambda name: hits[name])
        runs = []
        for text, plan in learned:
            run = seen.serve(forest_scorer(text)(seen.inputs), plan).run
            runs.append(account("reuse", self.part.stream, run, self.capacity, low, 0.0))
        written = simulator.run(best, self.capacity, low).ssd_writes
        return GoalRow(
            trace=self.source.key,
            where=self.source.where,
            protocol=protocol,
            capacity_fraction=self.fraction,
            capacity=self.capacity,
            counted=len(self.part.pages.page_ids) - low,
            hit_ratios=[run.hit_ratio for run in runs],
            rivals=len(hits),
            best_classic=best,
            best_classic_hit_ratio=hits[best],
            chosen=self.chosen,
            chosen_hit_ratio=hits[self.chosen],
            optimum_hit_ratio=optimum,
            ssd_writes_ratio=float(np.mean([run.ssd_writes for run in runs])) / written if written else None,
        )


def measure_trace(
    source: Source, rows: Path, chosen: Sequence[str], model: Trained, settings: Settings
) -> list[GoalRow]:  # fmt: skip
    """Both protocols on a test trace, at each capacity.

    Args:
        source: the trace.
        rows: file of the train traces' rows.
        chosen: the way to run a classic that validation chose, for each capacity.
        model: the trained model.
        settings: parameters.
    """
    part = Prepared.read(source.key, source.path)
    with np.load(rows) as columns:
        train = fit.Rows(*(columns[name] for name in fit.Rows._fields))
    forests: dict[Protocol, list[Learned]] = {
        "trained": model.seeds,
        "retrained": retrained(part, train, model, settings),
    }
    found = []
    for fraction, choice in zip(settings.fit.capacities, chosen, strict=True):
        capacity = capacity_pages(fraction, part.pages.n_pages)
        one = _Counted(source, part, fraction, capacity, choice)
        found += one.rows(ways(settings), forests, part.look(capacity, model.policy))
    return found


def sources_of(settings: Settings) -> tuple[list[Source], list[Source]]:
    """Test streams, and validation traces."""
    tests = [Source(key, path, category, where_of(row)) for key, path, category, row in streams_of(settings.corpus)]
    validation = [
        Source(key, path, settings.traces[key].category, "home")
        for key, path in places(settings.categories, settings.roles, {}, "validation").items()
    ]
    return tests, validation


def chosen_of(category: str, validation: Sequence[Source], found: Sequence[list[Hits]]) -> list[str]:
    """For each capacity the way to run a classic with the most hits on the category's validation traces.

    Of a category without one, those of all categories choose.
    """
    own = [hits for source, hits in zip(validation, found, strict=True) if source.category == category] or found
    chosen = []
    for each in zip(*own, strict=True):
        means = {name: float(np.mean([hits[name] for hits in each])) for name in sorted(each[0])}
        chosen.append(max(means, key=means.__getitem__))
    return chosen


def goals(params: "Params", pool: Executor, folder: Path) -> Goals:
    """What the stage goals of lab/dvc.yaml finds.

    Args:
        params: of the project.
        pool: what runs the jobs; no figure depends on how many at a time.
        folder: for the train traces' rows.

    Raises:
        TrainingError: no model, or nothing to train on.
        TraceError: a trace is missing or damaged.
    """
    settings = Settings.of(params)
    model, (tests, validation) = trained_of(settings), sources_of(settings)
    train = places(settings.categories, settings.roles, settings.corpus, "train")
    rows = fit.all_rows([Prepared.read(key, path) for key, path in train.items()], settings)
    np.savez(folder / "rows.npz", **rows._asdict())
    found = run_all("classics on validation", pool, validated, [(source, settings) for source in validation])
    jobs = [
        (source, folder / "rows.npz", chosen_of(source.category, validation, found), model, settings)
        for source in tests
    ]
    each = run_all("test traces, trained and retrained", pool, measure_trace, jobs)
    all_rows = [row for rows_of_one in each for row in rows_of_one]
    return Goals(rows=all_rows, summary=summaries(all_rows))
