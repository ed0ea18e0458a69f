"""A forest that says, when a page is written, how long that version will live; and the stream that follows from it.

The forest predicts the base-2 logarithm of the lifetime in page writes of the host, from `cachezoo.kernels.deaths`
alone. Lifetimes above a horizon count as the horizon, which is how many distinct pages the train cycle writes, but at
most half of what it writes: to know which versions live on for longer, only page writes whose horizon lies within the
cycle are learned from, so that early deaths are not learned from more often than late ones. All lifetimes are those of
the train cycle alone.

Predictions are cut into classes of equal width, from low ones of the train cycle to its highest. The class that lives
longest, to which most of what the drive holds belongs, is cut further into parts by address: what lies together is
often given up together. How many classes and parts there are, the judge chooses by write amplification.

Page ids and chunks that the train cycle never wrote need no dictionary: their inputs are unknown, which is a value too.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cachezoo.arrays import F32, F64, I64, U8
from cachezoo.errors import TrainingError
from cachezoo.flash_drive.writes import NEVER, DriveWrites
from cachezoo.io import read_json, write_json
from cachezoo.kernels.deaths import NAMES, Requests, describe_writes, new_state
from cachezoo.models.forest import fit_regression, read_forest_text
from cachezoo.seeds import derive_seed
from cachezoo.serving.forest import read_forest
from cachezoo.zoo.streams.serve import MEMORY, PLACED_BY_LIFETIME, PLACEMENT, streams_of
from cachezoo.zoo.streams.settings import Lifetime

FOLDER, NUMBERS, SUFFIX = "lifetime", "lifetime.json", ".lgb.txt"
CONTEXT = "fit_deaths"
LOW = 0.01  # quantile of the train cycle's predictions at which the classes begin
MOST_PARTS = 16
FEWEST = 20  # page writes to learn from
AT_ONCE = 1 << 18  # page writes whose inputs are in memory at a time, about


def inputs_of(writes: DriveWrites, until: int | None = None) -> Iterator[tuple[int, F32]]:
    """The inputs of each page write, see `cachezoo.kernels.deaths`; none depends on what is written later.

    Args:
        writes: of all cycles.
        until: page writes that are described, at least; None for all.

    Yields:
        Of some whole requests at a time the first page write, and float32[m, inputs] of all.
    """
    state, low, last_us = new_state(), 0, 0
    stop = len(writes) if until is None else until
    while low < stop:
        high = low + AT_ONCE
        while high < len(writes) and not writes.begins[high]:
            high += 1
        first = low + np.flatnonzero(writes.begins[low:high])
        time_us = writes.time_us[first]
        gap = np.diff(time_us, prepend=last_us)
        gap[np.isin(first, writes.starts[:-1])] = -1
        number = writes.address[writes.pages[first]] // writes.page_bytes
        high = min(high, len(writes))
        yield low, describe_writes(Requests(number, np.diff(first, append=high), gap), state)
        low, last_us = high, int(time_us[-1])
        writes.passed()


class Rows(NamedTuple):
    """What a forest learns from."""

    inputs: F32  # [r, inputs]
    targets: F32  # [r] base-2 logarithm of the lifetime, or of the horizon if that is less
    horizon: int  # page writes


def horizon_of(writes: DriveWrites) -> int:
    """Lifetimes of at least so many page writes are not told apart."""
    return max(1, min(writes.footprint, len(writes) // 2))


def rows_of(writes: DriveWrites, chosen: I64 | None = None) -> Rows:
    """The settled page writes of the train cycles, whose writes are all that there are: no lifetime ends later.

    Args:
        writes: of the train cycles.
        chosen: int64[r] which of them, rising; None for all. They are the first ones.
    """
    horizon = horizon_of(writes)
    own = np.arange(len(writes) - horizon) if chosen is None else chosen
    life = writes.lifetimes[own]
    life = np.where(life == NEVER, horizon, np.minimum(life, horizon))
    inputs = np.empty((len(own), len(NAMES)), np.float32)
    for low, rows in inputs_of(writes, int(own[-1]) + 1 if len(own) else 0):
        first, end = np.searchsorted(own, [low, low + len(rows)])
        inputs[first:end] = rows[own[first:end] - low]
    return Rows(inputs, np.log2(life).astype(np.float32), horizon)


@dataclass(frozen=True)
class Deaths:
    """A forest and the range of what it predicts."""

    text: str  # LightGBM's model text
    low: float  # prediction on the train cycle at which the classes begin
    high: float  # and at which they end

    def predict(self, inputs: F32) -> F64:
        """float64[n] base-2 logarithm of the lifetime of each row of float32[n, inputs]."""
        return read_forest(self.text.encode(), len(NAMES)).scores(inputs)

    def cuts(self, count: int) -> list[float]:
        """Predictions that cut into so many classes of equal width, rising."""
        return [self.low + (self.high - self.low) * k / count for k in range(1, count)]


@dataclass
class Lifetimes:
    """Forests of one train cycle, which differ by their seeds."""

    forests: Sequence[Deaths]  # one at least
    addresses: I64  # [MOST_PARTS - 1] bytes that cut the pages which the train cycle wrote into equally many
    horizon: int  # lifetimes of at least so many page writes are not told apart
    rows: int  # page writes that there were to learn from
    _predicted: dict[tuple[int, str, int], F64] = field(default_factory=dict, repr=False)

    @property
    def varies(self) -> bool:
        """Whether predictions can be cut into classes."""
        return all(forest.low < forest.high for forest in self.forests)

    def streams_of(self, seed: int, writes: DriveWrites, since: int, classes: int, parts: int) -> U8:
        """The stream of each page write: uint8[n].

        Args:
            seed: which of the forests.
            writes: of all cycles.
            since: the first page write that is served; those before go to stream 0.
            classes: of death.
            parts: by address, that the longest-lived class is cut into; a divisor of `MOST_PARTS`.
        """
        predicted = self._predict(seed, writes, since)
        found: U8 = writes.room(np.uint8, len(writes))
        for part in writes.spans(since):
            own, address = predicted[part.start - since : part.stop - since], writes.address[writes.pages[part]]
            found[part] = streams_of(own, address, self.forests[seed].cuts(classes), self.starts(parts))
        return found

    def starts(self, parts: int) -> list[int]:
        """Bytes at which so many parts by address begin, but the first; a divisor of `MOST_PARTS`."""
        cuts: list[int] = np.unique(self.addresses[MOST_PARTS // parts - 1 :: MOST_PARTS // parts]).tolist()
        return cuts

    def policy(self, seed: int, classes: int, parts: int) -> dict[str, Any]:
        """What a runtime places by, beside the forest: `policy` of train.json; arguments as of `streams_of`."""
        return {
            "type": PLACED_BY_LIFETIME,
            "memory": dict(MEMORY),
            "life_cuts": self.forests[seed].cuts(classes),
            "part_starts": self.starts(parts),
            "placement": PLACEMENT,
        }

    def _predict(self, seed: int, writes: DriveWrites, since: int) -> F64:
        """Predictions from a page write on, made once for each drive's writes whatever the drive's size."""
        key = writes.digest, since
        if (seed, *key) not in self._predicted:
            each = [writes.room(np.float64, len(writes) - since) for _ in self.forests]
            for low, inputs in inputs_of(writes):
                begin, end = max(low, since), low + len(inputs)
                for one, found in zip(self.forests, each, strict=True) if begin < end else ():
                    found[begin - since : end - since] = one.predict(inputs[begin - low :])
            self._predicted |= {(k, *key): found for k, found in enumerate(each)}
        return self._predicted[seed, *key]

    def write(self, folder: Path) -> None:
        """Write the forests, and what belongs to them, into `folder`/lifetime."""
        own = folder / FOLDER
        own.mkdir()
        for number, forest in enumerate(self.forests):
            (own / f"{number}{SUFFIX}").write_text(forest.text, encoding="utf-8")
        numbers = {
            "horizon": self.horizon,
            "rows": self.rows,
            "addresses": self.addresses.tolist(),
            "ranges": [[forest.low, forest.high] for forest in self.forests],
        }
        write_json(own / NUMBERS, numbers)


def fit_lifetimes(writes: DriveWrites, settings: Lifetime, seed: int, category: str) -> Lifetimes | None:
    """Learn from the train cycles; None where they write too little.

    Args:
        writes: of them all, in pages of the drive that will be served.
        settings: section `fit.streams.lifetime`.
        seed: of params.yaml.
        category: of the model.
    """
    horizon = horizon_of(writes)
    count = len(writes) - horizon
    if count < FEWEST:
        return None
    seeds = [derive_seed(seed, CONTEXT, category, number) for number in range(settings.seeds)]
    drawn = [_drawn(count, settings.rows, own) for own in seeds]
    known = np.unique(np.concatenate(drawn))
    rows = rows_of(writes, known)
    forests = [
        _fit_one(rows, np.searchsorted(known, chosen), settings, own) for own, chosen in zip(seeds, drawn, strict=True)
    ]
    addresses = writes.address[np.arange(1, MOST_PARTS) * writes.footprint // MOST_PARTS]
    return Lifetimes(forests, addresses, horizon, count)


def _drawn(count: int, most: int, seed: int) -> I64:
    """Which of so many rows a forest learns from, rising: all, or a draw of the most that it may."""
    if count <= most:
        return np.arange(count)
    return np.sort(np.random.default_rng(seed).choice(count, most, replace=False))


def _fit_one(rows: Rows, chosen: I64, settings: Lifetime, seed: int) -> Deaths:
    shape = {
        "num_leaves": settings.leaves,
        "learning_rate": settings.learning_rate,
        "min_data_in_leaf": settings.min_rows_in_leaf,
        "feature_fraction": settings.input_fraction,
        "bagging_fraction": settings.row_fraction,
        "bagging_freq": 1,
    }
    inputs = rows.inputs[chosen]
    forest = fit_regression(inputs, rows.targets[chosen], list(NAMES), settings.trees, shape, 1, seed)
    predicted = read_forest(forest.text.encode(), len(NAMES)).scores(inputs)
    return Deaths(forest.text, float(np.quantile(predicted, LOW)), float(predicted.max()))


def read_lifetimes(folder: Path) -> Lifetimes | None:
    """The forests of a fitted model's folder; None where it has none.

    Raises:
        TrainingError: a file is damaged.
    """
    own = folder / FOLDER
    if not own.is_dir():
        return None
    numbers: Mapping[str, Any] = read_json(own / NUMBERS)
    try:
        forests = [
            Deaths(read_forest_text(own / f"{number}{SUFFIX}"), float(low), float(high))
            for number, (low, high) in enumerate(numbers["ranges"])
        ]
        addresses = np.array(numbers["addresses"], np.int64)
        return Lifetimes(forests, addresses, int(numbers["horizon"]), int(numbers["rows"]))
    except (KeyError, TypeError, ValueError) as error:
        raise TrainingError(f"{own / NUMBERS}: not as this release writes it ({error}); fit the model again") from error
