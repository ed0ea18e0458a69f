"""Fits the next-use forest on the train traces of all page categories and of the corpus, several times.

Rows are drawn of every trace at several capacities; inputs and targets are counted in capacities, so one forest serves
any. Part of the rows hide process and flags, as traces that do not record them do. Part of them are of two traces that
take turns, so that the forest has seen workloads change. From the same rows come the counts of classes by age that a
cache starts from. Seeds differ in the rows and columns that trees see. What becomes of the
forest's score, and the verdict, are the judge's: `cachezoo.zoo.reuse.judge`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.arrays import F32, F64, I64, U8
from cachezoo.console import progress
from cachezoo.errors import TrainingError
from cachezoo.io import sha256_file
from cachezoo.jobs import spread
from cachezoo.kernels.reuse.hazards import BINS, FIRST_EDGE, edges_of
from cachezoo.kernels.reuse.past import NAMES
from cachezoo.labels.reuse import next_use, settled_accesses
from cachezoo.models.forest import Forest, fit_regression, forest_scorer, write_forests
from cachezoo.models.trained import Feature, FittedModel, trace_uses
from cachezoo.params import At, Picked
from cachezoo.seeds import derive_seed
from cachezoo.settings.data import Corpus, Roles
from cachezoo.traces.pages import capacity_pages
from cachezoo.traces.table import PAGE_BYTES
from cachezoo.zoo.reuse.cache import Plan, classes_of, counts_and_cuts, plan_of, shadow_bits
from cachezoo.zoo.reuse.prepared import Prepared, in_turns, places
from cachezoo.zoo.reuse.settings import Fit, Model

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

CONTEXT = "train_reuse"
SHAPE = ("num_leaves", "learning_rate", "feature_fraction", "bagging_fraction", "min_data_in_leaf", "max_bin")


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    model: Annotated[Model, At("model.reuse")]
    fit: Annotated[Fit, At("fit.reuse")]
    categories: Annotated[list[str], At("data.page_categories")]
    roles: Annotated[dict[str, Roles], At("data.roles")]
    corpus: Annotated[Corpus, At("data.corpus")]
    seed: Annotated[int, At("seed")]


class Rows(NamedTuple):
    """Accesses drawn to learn from."""

    inputs: F32  # float32[r, F]
    target: F32  # float32[r], as `cachezoo.labels.reuse` says
    bits: U8  # uint8[r] of the shadows
    events: npt.NDArray[np.int16]  # int16[r], the age bin in which the page was used again, -1 where it was not
    risks: npt.NDArray[np.int16]  # int16[r], age bins that were reached and ended with a use or a leaving


def model_id(arch: str) -> str:
    """Id of the model, which is of all categories."""
    return f"reuse.{arch}"


def forest_file(seed: int) -> str:
    """The forest of a seed in the folder of a fitted model."""
    return f"seed{seed}.lgb.txt"


def _ages(distance: I64, remaining: I64, capacity: int) -> tuple[npt.NDArray[np.int16], npt.NDArray[np.int16]]:
    """The bin of each next use, and the bins passed; `remaining` accesses follow in the trace."""
    bins = np.ceil(2 * np.log2(np.maximum(distance, 1) * FIRST_EDGE / capacity)).clip(0, BINS - 1)
    events = np.where(distance > 0, bins, -1).astype(np.int16)
    passed = np.searchsorted(edges_of(capacity)[1:BINS], remaining)
    return events, np.where(distance > 0, events + 1, passed).astype(np.int16)


def trace_rows(part: Prepared, capacity: int, count: int, settings: Settings, seed: int) -> Rows:
    """Draw rows of a trace at one capacity; none where it is so short that no target is settled.

    At most `count` rows.
    """
    rng, m = np.random.default_rng(seed), len(part.pages.page_ids)
    settled = settled_accesses(m, capacity)
    drawn = np.sort(rng.choice(settled, min(count, settled), replace=False))
    hidden = rng.random(len(drawn)) < settings.fit.hidden
    inputs, label = part.inputs(capacity, of=drawn), next_use(part.pages, capacity, drawn)
    if hidden.any():
        inputs[hidden] = part.inputs(capacity, hidden=True, of=drawn[hidden])
    bits = shadow_bits(part.stream, capacity, settings.model.shadows)[drawn]
    return Rows(inputs, label.target, bits, *_ages(label.distance, m - drawn, capacity))


def joined(rows: Iterable[Rows]) -> Rows:
    """Rows one after the other."""
    return Rows(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def _at_all(part: Prepared, share: float, key: str, settings: Settings) -> Rows:
    """Rows at all capacities, so many as a share of those that the trace with this key gives at each."""
    of_corpus = any(key in rows for rows in settings.corpus.values())
    count = round(share * (settings.fit.corpus_rows if of_corpus else settings.fit.rows))
    seed, found = derive_seed(settings.seed, CONTEXT, "rows"), []
    for fraction in settings.fit.capacities:
        own = derive_seed(seed, part.key, str(fraction))
        found.append(trace_rows(part, capacity_pages(fraction, part.pages.n_pages), count, settings, own))
    return joined(found)


def rows_at_all(part: Prepared, settings: Settings) -> Rows:
    """Rows of a trace alone at all capacities; of one of the corpus as many as `corpus_rows` says."""
    return _at_all(part, 1 - settings.fit.turns, part.key, settings)


def rows_in_turns(first: Prepared, second: Prepared, settings: Settings) -> Rows:
    """Rows of two traces that take turns at all capacities, as many as the first gives less alone."""
    return _at_all(in_turns(first, second), settings.fit.turns, first.key, settings)


def pairs_of(keys: Sequence[str], settings: Settings) -> list[tuple[str, str]]:
    """Which traces take turns: each with the next of a drawn order, the last with the first.

    The order of two traces does not depend on which others there are. Without turns, or of one trace, there is no pair.
    """
    if len(keys) < 2 or not settings.fit.turns:
        return []
    drawn = sorted(keys, key=lambda key: (derive_seed(settings.seed, CONTEXT, "order", key), key))
    return list(zip(drawn, [*drawn[1:], drawn[0]], strict=True))


def all_rows(parts: Sequence[Prepared], settings: Settings) -> Rows:
    """Rows of all traces at all capacities, alone and in turns."""
    of = {part.key: part for part in parts}
    alone = spread("rows of the next-use forest", rows_at_all, [(part, settings) for part in parts])
    pairs = [(of[first], of[second], settings) for first, second in pairs_of(list(of), settings)]
    return joined([*alone, *spread("rows of traces in turns", rows_in_turns, pairs)])


def seeds_of(settings: Settings) -> list[int]:
    """Seeds of the forests."""
    return [derive_seed(settings.seed, CONTEXT, str(k)) for k in range(settings.fit.seeds)]


def counts_of(rows: Rows, classes: U8, kinds: int) -> tuple[F64, F64]:
    """Events and risks float64[K, BINS] of rows in these classes."""
    events, reached = np.zeros((kinds, BINS)), np.zeros((kinds, BINS + 1))
    used = rows.events >= 0
    np.add.at(events, (classes[used], rows.events[used]), 1)
    np.add.at(reached, (classes, rows.risks), 1)
    risks = reached[:, ::-1].cumsum(axis=1)[:, ::-1][:, 1:]
    return events, np.ascontiguousarray(risks)


def fit_seed(rows: Rows, settings: Settings, seed: int) -> tuple[Forest, dict[str, Any]]:
    """One forest, and what follows from its scores: quantiles, and the counts of its classes."""
    model = settings.model
    shape = {name: getattr(model, name) for name in SHAPE} | {"bagging_freq": 1}
    forest = fit_regression(
        rows.inputs, rows.target, list(NAMES), model.max_trees, shape, settings.fit.threads, seed
    )  # fmt: skip
    scores = forest_scorer(forest.text)(rows.inputs).astype(np.float32)
    cuts = np.quantile(scores, np.arange(1, model.quantiles) / model.quantiles).astype(np.float32)
    kinds = model.quantiles << len(model.shadows)
    events, risks = counts_of(rows, classes_of(scores, cuts, rows.bits, len(model.shadows)), kinds)
    learned = {"quantiles": [float(cut) for cut in cuts], "events": events.tolist(), "risks": risks.tolist()}
    return forest, learned


class Learned(NamedTuple):
    """A seed's forest, LightGBM's text, and the plan of its cache."""

    text: str
    plan: Plan


def learn(rows: Rows, settings: Settings, policy: Mapping[str, Any], weight: float) -> list[Learned]:
    """Fit every seed's forest of some rows, whose counts have a weight, for a policy of `policy_of`."""
    found = []
    for seed in seeds_of(settings):
        forest, learned = fit_seed(rows, settings, seed)
        found.append(Learned(forest.text, plan_of(policy, counts_and_cuts(learned, weight))))
    return found


def fit_prepared(
    parts: Sequence[Prepared], settings: Settings, inputs: dict[str, str]
) -> tuple[FittedModel, dict[str, Forest]]:
    """Fit on train traces.

    `inputs` are the sha256 of what was read, by path.

    Raises:
        TrainingError: there is no train trace, or none long enough for a settled target.
    """
    name = model_id(settings.model.arch)
    rows = all_rows(parts, settings) if parts else None
    if rows is None or not len(rows.target):
        raise TrainingError(f"{name}: no train trace has an access whose next use is settled; give longer train traces")
    seeds = seeds_of(settings)
    with progress(f"{name}: forests", len(seeds)) as advance:
        fits = []
        for k, seed in enumerate(seeds):
            fits.append(fit_seed(rows, settings, seed))
            advance(k + 1)
    forests = {forest_file(k): forest for k, (forest, _) in enumerate(fits)}
    splits = min(forest.splits for forest in forests.values())
    fitted = FittedModel(
        model_id=name,
        kind="reuse",
        category=None,
        arch={**settings.model.model_dump(), "threads": settings.fit.threads, "splits": splits},
        features=[Feature(name=column, formula=column, unit="as its formula says") for column in NAMES],
        geometry={"page_bytes": PAGE_BYTES},
        traces=trace_uses(parts, []),
        inputs=inputs,
        seeds={f"{CONTEXT}.{k}": seed for k, seed in enumerate(seeds)},
        trained=splits > 0,
        learned={"seeds": [learned for _, learned in fits], "capacities": settings.fit.capacities},
        figures={"rows": float(len(rows.target)), "rows_variance": float(rows.target.var())},
        reason="" if splits else "training never moved a forest: no split lowers the error",
    )
    return fitted, forests


def fit_reuse(params: "Params") -> None:
    """Stage fit_reuse: write `models/fitted/reuse/reuse.<arch>/`.

    Raises:
        TrainingError: nothing to train on.
        TraceError: a trace is missing or damaged.
    """
    settings = Settings.of(params)
    own = places(settings.categories, settings.roles, settings.corpus, "train")
    parts = [Prepared.read(key, path) for key, path in own.items()]
    fitted, forests = fit_prepared(parts, settings, {str(path): sha256_file(path) for path in own.values()})
    write_forests(paths.fitted(fitted.model_id), fitted, forests)
