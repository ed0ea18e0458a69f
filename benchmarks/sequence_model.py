"""A gated recurrent network on the inputs of the next-use forest: does the order of accesses say more than the inputs?

The network reads the 26 inputs of every page access of the train traces, in order, and learns the forest's target. Its
gates depend on the inputs alone (minGRU: Feng et al., "Were RNNs all we needed?", 2024), so a layer's states are a
linear recurrence, which training solves by a parallel scan. `no memory` is the same network whose layers forget each
access at once: what it lacks is the order and nothing else. Forest and networks see the same traces at the same
capacity; classes, quantiles and counts of the cache are made from each one's own scores, and no follower stands beside.

Judged on the validation traces, or with --without on train traces of programs that no fit saw. No test trace is read.
"""

import argparse
import math
import time
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from rich.table import Table
from torch import Tensor, nn

from cachezoo.config.load import load_params
from cachezoo.console import out, progress
from cachezoo.kernels.outcome import HIT
from cachezoo.kernels.reuse.past import WIDTH
from cachezoo.labels.reuse import HORIZON, NextUse, next_use
from cachezoo.models.forest import forest_scorer
from cachezoo.policies.engine import simulate
from cachezoo.seeds import derive_seed
from cachezoo.systems.reuse import fit
from cachezoo.systems.reuse.cache import Plan, classes_of, forest_cache, shadow_bits
from cachezoo.systems.reuse.plan import counts_and_cuts, plan_of
from cachezoo.systems.reuse.prepared import Prepared, places
from cachezoo.traces.pages import capacity_pages
from cachezoo.traces.warmup import auto_warmup
from lab.carry_over.run import Settings, Source, sources_of

F32 = npt.NDArray[np.float32]
I64 = npt.NDArray[np.int64]
Bool = npt.NDArray[np.bool_]
UNITS, LAYERS = 48, 2
SPAN, BURN, BATCH = 640, 128, 12  # accesses a sequence, those at its begin that only fill the state, sequences a step
RATE, DECAY, CLIP, WARM = 4e-3, 1e-2, 1.0, 0.05
FARTHEST = 5.0  # standard deviations at which inputs are clipped
SCORED = 8192  # accesses scored at a time
HOME_WEIGHT = 4.0  # rows of a home trace for each of the corpus's, as `fit.reuse` draws them
WAYS = ("forest", "network", "no memory", "mean of both")


def scan(keep: Tensor, add: Tensor) -> Tensor:
    """States s[t] = keep[t] * s[t - 1] + add[t] from s[-1] = 0, along the first axis, in log2(T) parallel steps."""
    steps = len(keep)
    if steps == 1:
        return add
    even = 2 * (steps // 2)
    first, second = slice(0, even, 2), slice(1, even, 2)
    odd = scan(keep[second] * keep[first], torch.addcmul(add[second], keep[second], add[first]))
    later = torch.addcmul(add[2::2], keep[2::2], odd[: (steps - 1) // 2])
    states = torch.empty_like(add)
    states[0], states[2::2], states[1::2] = add[0], later, odd
    return states


class Layer(nn.Module):
    """One recurrent layer beside a residual: states (1 - z) * before + z * candidate, both of the input alone."""

    def __init__(self, memory: bool) -> None:
        super().__init__()
        self.memory = memory
        self.norm, self.gate = nn.LayerNorm(UNITS), nn.Linear(UNITS, UNITS)
        self.candidate, self.back = nn.Linear(UNITS, UNITS), nn.Linear(UNITS, UNITS)
        with torch.no_grad():
            self.gate.bias.copy_(torch.linspace(0, -6, UNITS))  # memories of 2 to 400 accesses to begin with

    def forward(self, rows: Tensor, before: Tensor | None) -> tuple[Tensor, Tensor]:
        """Rows float32[T, B, UNITS] and the state before them; the same rows with what is remembered, and the state."""
        normed = self.norm(rows)
        gate = torch.sigmoid(self.gate(normed))
        states = gate * self.candidate(normed)
        if self.memory:
            if before is not None:
                states = torch.cat([states[:1] + (1 - gate[:1]) * before, states[1:]])
            states = scan(1 - gate, states)
        return rows + self.back(nn.functional.silu(states)), states[-1:].detach()


class Network(nn.Module):
    """Inputs float32[T, B, WIDTH] to scores float32[T, B], in octaves of the capacity."""

    def __init__(self, memory: bool) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, UNITS)
        self.layers = nn.ModuleList(Layer(memory) for _ in range(LAYERS))
        self.last = nn.Sequential(nn.LayerNorm(UNITS), nn.Linear(UNITS, UNITS), nn.SiLU(), nn.Linear(UNITS, 1))

    def forward(self, inputs: Tensor, before: Sequence[Tensor | None]) -> tuple[Tensor, list[Tensor]]:
        """Scores, and the layers' states after them."""
        rows, after = nn.functional.silu(self.first(inputs)), []
        for layer, own in zip(self.layers, before, strict=True):
            rows, state = layer(rows, own)
            after.append(state)
        return self.last(rows)[..., 0], after


class Example(NamedTuple):
    """A train trace: all accesses with a settled next use, in order, rows drawn of them, and as many in one stretch.

    Forests and the networks' scales are fitted on the rows, and networks on all; counts are made from the stretch.
    """

    rows: fit.Rows
    drawn: I64
    stretch: slice
    weight: float


class Judged(NamedTuple):
    """A trace to judge on: inputs of all accesses, their labels, and the shadows' bits."""

    part: Prepared
    capacity: int
    inputs: F32
    label: NextUse
    bits: npt.NDArray[np.uint8]


class Figures(NamedTuple):
    """Of one trace or the mean of several: error in octaves, R2, areas under the curve of C and 4 C, page hit ratio."""

    error: float
    explained: float
    within_one: float
    within_four: float
    hit_ratio: float


Scorer = Callable[[F32], F32]


def example(source: Source, settings: Settings) -> Example:
    """Read a train trace; at one capacity as many rows are drawn as the fit draws at all of its capacities."""
    part = Prepared.read(source.key, source.path)
    capacity = capacity_pages(settings.judge.capacity, part.pages.n_pages)
    open_ = settings.fit.model_copy(update={"hidden": 0.0})
    every = fit.Settings(settings.model, open_, settings.categories, settings.roles, settings.corpus, settings.seed)
    rows = fit.trace_rows(part, capacity, len(part.pages.page_ids), every, 0)
    each = (settings.fit.corpus_rows if source.setup else settings.fit.rows) * len(settings.fit.capacities)
    each = min(each, len(rows.target))
    rng = np.random.default_rng(derive_seed(settings.seed, "sequence", source.key))
    drawn = np.sort(rng.choice(len(rows.target), each, replace=False))
    start = int(rng.integers(0, len(rows.target) - each + 1))
    return Example(rows, drawn, slice(start, start + each), 1.0 if source.setup else HOME_WEIGHT)


def judged(part: Prepared, settings: Settings) -> Judged:
    """Prepare a trace to judge on."""
    capacity = capacity_pages(settings.judge.capacity, part.pages.n_pages)
    bits = shadow_bits(part.stream, capacity, settings.model.shadows)
    return Judged(part, capacity, part.inputs(capacity), next_use(part.pages, capacity), bits)


def train(examples: Sequence[Example], seed: int, steps: int, memory: bool) -> Scorer:
    """Train a network on sequences drawn of the examples; returns its scores of a whole trace's inputs."""
    torch.manual_seed(seed)
    rng, network = np.random.default_rng(seed), Network(memory)
    sample = np.concatenate([own.rows.inputs[own.drawn] for own in examples])
    mean, spread = sample.mean(axis=0), sample.std(axis=0) + 1e-3

    def scaled(inputs: F32) -> F32:
        found: F32 = ((inputs - mean) / spread).clip(-FARTHEST, FARTHEST).astype(np.float32)
        return found

    long = [own for own in examples if len(own.rows.target) >= SPAN]
    weights = np.array([own.weight for own in long])
    optimizer = torch.optim.AdamW(network.parameters(), RATE, weight_decay=DECAY)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / (WARM * steps)) * (1 + math.cos(math.pi * step / steps)) / 2
    )
    for _ in range(steps):
        places = rng.choice(len(long), BATCH, p=weights / weights.sum())
        starts = [int(rng.integers(0, len(long[k].rows.target) - SPAN + 1)) for k in places]
        spans = [(long[k].rows, slice(start, start + SPAN)) for k, start in zip(places, starts, strict=True)]
        inputs = torch.from_numpy(np.stack([scaled(rows.inputs[span]) for rows, span in spans], axis=1))
        target = torch.from_numpy(np.stack([rows.target[span] for rows, span in spans], axis=1))
        scores, _ = network(inputs, [None] * LAYERS)
        loss = (scores[BURN:] - target[BURN:]).square().mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(network.parameters(), CLIP)
        optimizer.step()
        schedule.step()

    @torch.no_grad()
    def score(inputs: F32) -> F32:
        found, states = np.empty(len(inputs), np.float32), [None] * LAYERS
        for start in range(0, len(inputs), SCORED):
            rows = torch.from_numpy(scaled(inputs[start : start + SCORED]))[:, None]
            scores, states = network(rows, states)
            found[start : start + SCORED] = scores[:, 0].numpy()
        return found

    return score


def area(scores: F32, truth: Bool) -> float:
    """Area under the curve where low scores stand for `truth`; ties count half."""
    _, place, counts = np.unique(-scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2)[place]
    yes = int(truth.sum())
    return float((ranks[truth].sum() - yes * (yes + 1) / 2) / (yes * (len(truth) - yes)))


def plan_for(rows: fit.Rows, scores: F32, settings: Settings, seed: int) -> Plan:
    """The plan of a cache whose classes are cut from these scores of the rows."""
    model = settings.model
    cuts = np.quantile(scores, np.arange(1, model.quantiles) / model.quantiles).astype(np.float32)
    classes = classes_of(scores, cuts, rows.bits, len(model.shadows))
    counts = fit.counts_of(rows, classes, model.quantiles << len(model.shadows))
    learned = {"quantiles": cuts, "events": counts[0], "risks": counts[1]}
    return plan_of({**model.model_dump(), "seed": seed}, counts_and_cuts(learned, settings.weight))


def figures(trace: Judged, scores: F32, plan: Plan) -> Figures:
    """How good scores are as predictions, and what the cache that is run by them hits."""
    settled, capacity = trace.label.settled, trace.capacity
    error = float(np.square(scores[settled] - trace.label.target[settled]).mean())
    distance = trace.label.distance[settled]
    one, four = ((distance > 0) & (distance <= h * capacity) for h in (1, HORIZON))
    classes = classes_of(scores, plan.quantiles, trace.bits, len(plan.shadows))
    run = simulate(forest_cache(classes, plan), trace.part.stream, capacity)
    hits = float((run.outcome[auto_warmup(trace.part.pages, capacity) :] == HIT).mean())
    explained = 1 - error / float(trace.label.target[settled].var())
    return Figures(error**0.5, explained, area(scores[settled], one), area(scores[settled], four), hits)


def one_seed(
    examples: Sequence[Example], traces: Sequence[Judged], settings: Settings, seed: int, steps: int
) -> tuple[dict[str, list[Figures]], dict[str, float]]:
    """Figures of every way on each trace, and processor seconds of each fit."""
    drawn = fit.joined(fit.Rows(*(column[own.drawn] for column in own.rows)) for own in examples)
    counted = fit.joined(fit.Rows(*(column[own.stretch] for column in own.rows)) for own in examples)
    seconds: dict[str, float] = {}

    def timed(name: str, make: Callable[[], Scorer]) -> Scorer:
        start = time.process_time()
        scorer = make()
        seconds[name] = time.process_time() - start
        return scorer

    def forest() -> Scorer:
        text = fit.fit_seed(drawn, settings, seed)[0].text
        score = forest_scorer(text, settings.fit.threads)
        return lambda inputs: score(inputs).astype(np.float32)

    scorers = {
        "forest": timed("forest", forest),
        "network": timed("network", lambda: train(examples, seed, steps, memory=True)),
        "no memory": timed("no memory", lambda: train(examples, seed, steps, memory=False)),
    }
    known = {
        name: np.concatenate([score(own.rows.inputs[own.stretch]) for own in examples])
        for name, score in scorers.items()
    }  # fmt: skip
    scores = {name: [score(trace.inputs) for trace in traces] for name, score in scorers.items()}
    known[WAYS[3]] = (known["forest"] + known["network"]) / 2
    scores[WAYS[3]] = [(one + other) / 2 for one, other in zip(scores["forest"], scores["network"], strict=True)]
    plans = {name: plan_for(counted, known[name], settings, seed) for name in WAYS}
    found = {
        name: [figures(trace, own, plans[name]) for trace, own in zip(traces, scores[name], strict=True)]
        for name in WAYS
    }  # fmt: skip
    return found, seconds


def shown(values: Iterable[float], digits: int) -> str:
    """Mean and standard deviation over the seeds."""
    own = np.array(list(values))
    return f"{own.mean():.{digits}f}" + (f" ± {own.std(ddof=1):.{digits}f}" if len(own) > 1 else "")


def main() -> None:
    """Print a row for each trace and way, and one for the mean of the traces."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=3, help="networks and forests of each kind")
    parser.add_argument("--steps", type=int, default=2000, help=f"training steps of {BATCH * SPAN} accesses")
    parser.add_argument("--without", nargs="*", default=[], metavar="PROGRAM", help="judge on these, unseen")
    asked = parser.parse_args()
    torch.set_num_threads(1)
    settings = Settings.of(load_params())
    sources = sources_of(settings)
    away = [source for source in sources if source.program in asked.without]
    validation = places(settings.categories, settings.roles, {}, "validation")
    own = {source.key: source.path for source in away} if asked.without else validation
    traces = [judged(Prepared.read(key, path), settings) for key, path in own.items()]
    examples = [example(source, settings) for source in sources if source not in away]
    runs, seconds = [], []
    with progress("seeds", asked.seeds) as advance:
        for k in range(asked.seeds):
            found, spent = one_seed(examples, traces, settings, derive_seed(settings.seed, "sequence", k), asked.steps)
            runs.append(found)
            seconds.append(spent)
            advance(k + 1)
    table = Table("trace", "way", "error, octaves", "R2", "AUC within C", "within 4 C", "page hit ratio")
    for k, key in enumerate([*own, "mean"]):
        for way in WAYS:
            each = [run[way][k] if key in own else Figures(*np.mean(run[way], axis=0)) for run in runs]
            cells = [shown(values, 4 if name == "hit_ratio" else 3) for name, values in zip(
                Figures._fields, zip(*each, strict=True), strict=True
            )]  # fmt: skip
            table.add_row(key, way, *cells)
    out().print(table)
    for name in seconds[0]:
        out().print(f"{name}: {shown((spent[name] for spent in seconds), 0)} s of processor time a fit")


if __name__ == "__main__":
    main()
