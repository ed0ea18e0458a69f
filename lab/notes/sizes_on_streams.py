"""Thresholds by the cache's size where workloads take turns: what they do there, and what slower sizes would do.

    sizes_on_streams.py [--role test] [--networks]     needs the stages ingest, replay, judge_workload and judge_caching

A caching model decides by a threshold and a queue rule for its size, log2(capacity / distinct pages of the recent
window), as it is before each request. Printed for each stream of `lab.reconfigure`: the sizes that each model sees
while it decides, in octaves above the size that it was judged at (5 %, half and 95 % of the requests); and the hit
ratio of `multiple_model`, the cache emptied at each change, with

    one         the threshold and the queue rule of the judged size, whatever the size
    by size     those of the size before each request, as models are shipped
    one queue   thresholds by size, the queue rule of the judged size
    slow        those of the mean size of the last 16,384 requests
    so far      those of the mean size since the trace began
    later       those by size from the second full window of a trace on, before it those of the judged size

With `--networks`, *one* alone, by each network of the fits in its own best way: how far chance in training moves it.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Any, cast

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F32, I32, U8
from cachezoo.config.load import load_params
from cachezoo.kernels.manager_limits import lane_rules
from cachezoo.models.trained import read_fitted, read_trained
from cachezoo.models.weights import read_weights
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.simulate import count
from cachezoo.serving.requests import batch_of
from cachezoo.settings.data import Role
from cachezoo.traces.pages import PageAccesses
from cachezoo.training.fitted import read_networks
from cachezoo.zoo.caching.infer import one_teacher, serving_of
from cachezoo.zoo.caching.serve import CachingServing
from cachezoo.zoo.caching.switching import Requeue, Switched, SwitchingCache
from lab.reconfigure.bench import Bench, Models, Settings, Way
from lab.reconfigure.measure import read_models, streams_of
from lab.reconfigure.streams import Changing

QUANTILES = (0.05, 0.5, 0.95)
WINDOW = 16_384
SWITCH_VOTES = 2
Rules = tuple[F32, U8]


def mean_of_last(values: F32, count: int) -> F32:
    """float32[n, 1]: of each value of float32[n, 1] and those before it, the mean of the last `count`."""
    sums = np.concatenate([np.zeros(1), np.cumsum(values, dtype=np.float64)])
    end = np.arange(1, len(values) + 1)
    begin = np.maximum(end - count, 0)
    means: F32 = ((sums[end] - sums[begin]) / (end - begin)).astype(np.float32)[:, None]
    return means


class Remembering:
    """A model on one stream that computes its outputs, and what networks of one fit share, once."""

    def __init__(self, model: CachingServing, read: tuple[F32, F32]) -> None:
        self._model, self._read, self._seen = model, read, dict[bytes, F32]()

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - whatever the model has
        return getattr(self._model, name)

    def read(self, *_: object) -> tuple[F32, F32]:
        """As of the model, on the stream."""
        return self._read

    def outputs(self, rows: F32) -> F32:
        """As of the model."""
        key = blake2b(rows.tobytes()).digest()
        if key not in self._seen:
            self._seen[key] = self._model.outputs(rows)
        return self._seen[key]


def rules_of(model: CachingServing, ratio: F32, capacity: int, pages: PageAccesses) -> dict[str, Rules]:
    """By each way to read the size float32[n, 1]: thresholds float32[n, 1] and queue rules uint8[n, 1]."""
    sized = model.cache(capacity)
    one, by_size = lane_rules([replace(sized, by_capacity=None)], ratio), lane_rules([sized], ratio)
    late = (pages.request_start[:-1] >= 2 * model.memory.window_accesses)[:, None]
    return {
        "one": one,
        "by size": by_size,
        "one queue": (by_size[0], one[1]),
        "slow": lane_rules([sized], mean_of_last(ratio, WINDOW)),
        "so far": lane_rules([sized], mean_of_last(ratio, len(ratio))),
        "later": (np.where(late, by_size[0], one[0]), np.where(late, by_size[1], one[1])),
    }


class RuledCache(SwitchingCache):
    """Models that take turns, by other thresholds and queue rules than those of the size before each request."""

    def run_by(self, rules: Sequence[Rules], plan: I32, requeue: Requeue) -> Switched:
        """As `run`; `rules` are those of each model."""
        self._rules = list(rules)
        return self.run(plan, requeue)


@dataclass(frozen=True)
class Fit:
    """A category's caching models.

    Attributes:
        shipped: as it runs.
        judged_log2: the size that it was judged at.
        networks: all of the fit, each in its own best way at that size.
    """

    shipped: CachingServing
    judged_log2: float
    networks: list[CachingServing]

    @classmethod
    def of(cls, name: str) -> "Fit":
        """Of a model's id."""
        trained = read_trained(paths.trained(name), "caching")
        said, fitted = trained.calibration, read_fitted(paths.fitted(name), "caching")
        (size,) = [row["ratio_log2"] for row in said["by_capacity"] if row["capacity"] == said["capacity"]]
        found = []
        for place, weights in enumerate(read_networks(paths.fitted(name), fitted)):
            rows = [row for row in said["candidates"] if row["network"] == place]
            best = max(rows, key=lambda row: (row["hit_ratio"], row["threshold"]))
            rules = {"policy": {**trained.policy, "on_hit": best["on_hit"], "queues": best["queues"]}}
            model = trained.model_copy(update={**rules, "calibration": {"threshold": best["threshold"]}})
            alone = one_teacher(weights, fitted.learned["teachers"].index(best["teacher"]))
            found.append(serving_of(model, alone))
        return cls(serving_of(trained, read_weights(paths.trained(name))), size, found)


class OnStream:
    """A stream, who decides on it, and what the models of each category read of it."""

    def __init__(self, stream: Changing, models: Models, fits: Sequence[Fit], settings: Settings) -> None:
        self.stream, self.fits = stream, fits
        bench = Bench(stream, replace(models, caching=models.caching[:1]), settings)
        self.plan = bench.plan(Way("empty", "no_model", SWITCH_VOTES))
        self._batch = batch_of(stream.trace)
        self.read = [own.shipped.read(self._batch, stream.pages, [stream.capacity]) for own in fits]

    def cache(self, models: Sequence[CachingServing]) -> RuledCache:
        """The cache that a model of each category takes turns in."""
        own = [cast(CachingServing, Remembering(*pair)) for pair in zip(models, self.read, strict=True)]
        return RuledCache(own, self._batch, self.stream.pages, self.stream.capacity)

    def count(self, run: Switched) -> Simulation:
        """Where the stream counts."""
        own = self.stream
        return count(own.trace, own.pages, "models in turn", own.capacity, own.warmup, run.outcomes)


def by_each_size(on: OnStream, classes: Sequence[str]) -> dict[str, float]:
    """Print a stream's sizes and hit ratios; returns the latter."""
    pages, capacity, plan = on.stream.pages, on.stream.capacity, on.plan
    for who, (name, fit, (_, ratio)) in enumerate(zip(classes, on.fits, on.read, strict=True)):
        if (own := plan == who).any():
            low, middle, high = np.quantile(ratio[own, 0] - fit.judged_log2, QUANTILES)
            print(f"  {name}: decides on {own.mean():.0%}, size {low:+.2f} {middle:+.2f} {high:+.2f} octaves")
    shipped = [fit.shipped for fit in on.fits]
    cache, found = on.cache(shipped), dict[str, float]()
    rules = [rules_of(own, ratio, capacity, pages) for own, (_, ratio) in zip(shipped, on.read, strict=True)]
    for way in rules[0]:
        ran = on.count(cache.run_by([own[way] for own in rules], plan, "empty"))
        found[way] = ran.hit_ratio
        print(f"  {way:10} {ran.hit_ratio:.4f}, {ran.ssd_writes:,} pages written", flush=True)
    return found


def by_each_network(on: OnStream) -> dict[str, float]:
    """Hit ratios of each network of the fits."""
    found = {}
    for place in range(len(on.fits[0].networks)):
        ran = on.count(on.cache([fit.networks[place] for fit in on.fits]).run(on.plan, "empty"))
        found[f"network {place}"] = ran.hit_ratio
        print(f"  network {place} {ran.hit_ratio:.4f}, {ran.ssd_writes:,} pages written", flush=True)
    return found


def main() -> None:
    """Print every stream, and the means."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--role", choices=("validation", "test"), default="test")
    parser.add_argument("--networks", action="store_true")
    asked = parser.parse_args()
    role: Role = asked.role
    settings = Settings.of(load_params())
    models, rows = read_models(settings), []
    fits = [Fit.of(f"caching.{name}.{settings.caching}") for name in models.classes]
    for _, stream in streams_of(settings, role):
        print(f"{stream.name}: {stream.capacity:,} pages")
        on = OnStream(stream, models, fits, settings)
        rows.append(by_each_network(on) if asked.networks else by_each_size(on, models.classes))
    means = {way: float(np.mean([row[way] for row in rows])) for way in rows[0]}
    for way, mean in means.items():
        print(f"mean of {len(rows)} streams, {way}: {mean:.4f}")
    if asked.networks:
        print(f"networks: {np.mean(list(means.values())):.4f} ± {np.std(list(means.values()), ddof=1):.4f}")


if __name__ == "__main__":
    main()
