"""A write rate that is kept: the admission threshold follows what was written and what could have been.

A threshold that was chosen on one trace writes more or less on another. The controller sets it anew after every few
reads that miss. It remembers the scores of the latest of these in a histogram with exponential decay, each weighted by
the segments that it missed. What may be written for each such read in the near future is the rate times the mean time
between two of them; more where the disks are busier than usual, by the square root of how much; and a share of what is
left of the rate, or was overspent, so that the balance would be even after `horizon`. The threshold is the one that
would have written that, of the reads remembered. How much was really written, over what the histogram promised, is
remembered too: prefetch writes more than was missed, and what is admitted does not miss again.

All is float64 in one order of operations, with no call but the square root, so that every runtime has the same bits.
The controller is ours.
"""

import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from cachezoo.arrays import F64
from cachezoo.errors import ConfigError
from cachezoo.kernels.jit import njit

MOST_BINS, MOST_MISSES = 4096, 1 << 30
RATE, HORIZON, CREDIT, LOW, WIDTH, STEP, KEEP, KEEP_RECENT, HOLD, FOLLOWS = range(10)
# COUNT and SPAN are the reads in the histogram, each by its weight, and the time that they took; RECENT and RECENT_SPAN
# the same of the latest. PROMISED is what the histogram said would be written, WROTE what was; AHEAD is what it says of
# the next step.
THRESHOLD, START, LAST, WRITTEN, MISSES, SINCE, COUNT, SPAN, RECENT, RECENT_SPAN, PROMISED, WROTE, AHEAD = range(13)
LEAST_RATIO, LEAST_LOAD, MOST_LOAD = 0.25, 0.5, 2.0
MOST_DEBT = 4.0  # horizons that may be overspent before nothing is admitted
AGES = 32  # ages that tell scores apart are below 2 to this


@dataclass(frozen=True)
class Controller:
    """How the threshold follows the writes; what a bundle holds as `calibration.controller`.

    Chosen on validation traces, for all categories alike: `lab/notes/write_budget.py` repeats it.
    """

    low: float = -8.0  # score at which the first bin begins; lower scores are in it
    width: float = 0.0625  # of a bin, in scores
    bins: int = 256  # higher scores are in the last one
    step_misses: int = 32  # reads that miss between two thresholds
    window_misses: int = 4096  # by so many reads that miss, weights in the histogram fall to 1 / e
    recent_misses: int = 256  # the same of what the load is now
    hold_misses: int = 256  # reads that miss before the first threshold of its own
    horizon_s: float = 1800.0  # seconds after which the balance would be even
    credit_horizons: float = 48.0  # what was not written for longer is lost
    follows_load: bool = True  # writes more where the disks are busier than usual

    def __post_init__(self) -> None:
        counts = self.step_misses, self.window_misses, self.recent_misses
        fits = all(1 <= count <= MOST_MISSES for count in counts) and 0 <= self.hold_misses <= MOST_MISSES
        numbers = self.low, self.width, self.horizon_s, self.credit_horizons
        positive = self.width > 0 and self.horizon_s > 0 and self.credit_horizons > 0
        if not (fits and positive and 1 <= self.bins <= MOST_BINS and all(map(math.isfinite, numbers))):
            raise ConfigError(f"controller {asdict(self)}: counts are 1 to {MOST_MISSES}, bins to {MOST_BINS}, no 0")
        if self.step_misses > min(self.window_misses, self.recent_misses):
            raise ConfigError(f"controller {asdict(self)}: a step is longer than what it remembers")

    def document(self) -> dict[str, Any]:
        """As a bundle holds it."""
        return asdict(self)

    @property
    def middle(self) -> float:
        """The score in the middle of the bins: what begins where nothing is known."""
        return self.low + self.width * self.bins / 2

    def spread(self, shares: F64) -> F64:
        """Scores float64[n] of shares in [0, 1), evenly over all bins, the smallest share with the highest score."""
        return self.low + self.width * self.bins * (1.0 - shares)

    def per_us(self, bytes_s: float, segment_bytes: int) -> tuple[float, float]:
        """Segments a microsecond of a rate in bytes a second, and the horizon in microseconds."""
        return bytes_s / segment_bytes / 1e6, self.horizon_s * 1e6

    def rules(self, rate: float, horizon: float) -> F64:
        """For `missed`: segments that may be written in a unit of time, and the horizon in such units."""
        keep, recent = 1.0 - self.step_misses / self.window_misses, 1.0 - self.step_misses / self.recent_misses
        steps = float(self.step_misses), keep, recent, float(self.hold_misses), float(self.follows_load)
        return np.array([rate, horizon, self.credit_horizons, self.low, self.width, *steps])


def fresh_state(threshold: float) -> F64:
    """A controller that begins with a threshold."""
    state = np.zeros(AHEAD + 1)
    state[THRESHOLD] = threshold
    return state


@njit
def score_of_age(rules: F64, bins: int, age: int) -> float:
    """The later, the higher: ages from 1 on over all bins by their logarithm, which is straight within an octave."""
    fraction, exponent = math.frexp(float(age))
    return float(score_of_share(rules, bins, (exponent - 2 + 2.0 * fraction) / AGES))


@njit
def score_of_share(rules: F64, bins: int, share: float) -> float:
    """`Controller.spread` of one share."""
    return float(rules[LOW] + rules[WIDTH] * bins * (1.0 - share))


@njit
def missed(rules: F64, state: F64, mass: F64, time: int, score: float, missing: int, written: int) -> None:
    """A read has missed, and was admitted if its score was at least `state[THRESHOLD]`; afterwards that may be another.

    Args:
        rules: `Controller.rules`.
        state: of `fresh_state`, changed.
        mass: float64[bins], zeros at first, changed.
        time: of the read, never falling.
        score: of the read.
        missing: segments that it missed.
        written: segments that were written for it, prefetched ones included.
    """
    remember(rules, state, mass, score, missing)
    settle(rules, state, mass, time, written)


@njit
def remember(rules: F64, state: F64, mass: F64, score: float, missing: int) -> None:
    """Of a read that misses some segments have this score; `settle` follows when all are known."""
    place = (score - rules[LOW]) / rules[WIDTH]
    bins = len(mass)
    b = 0
    if place >= bins:
        b = bins - 1
    elif place > 0:
        b = int(place)
    mass[b] += missing
    if state[MISSES] < rules[HOLD] and score >= state[THRESHOLD]:
        state[PROMISED] += missing


@njit
def settle(rules: F64, state: F64, mass: F64, time: int, written: int) -> None:
    """A read has missed what was remembered of it, and so many segments were written for it."""
    now = float(time)
    if state[MISSES] == 0.0:
        state[START] = now
        state[LAST] = now
    state[MISSES] += 1.0
    state[SINCE] += 1.0
    state[WRITTEN] += written
    state[WROTE] += written
    if state[SINCE] >= rules[STEP]:
        _step(rules, state, mass, now)


@njit
def _step(rules: F64, state: F64, mass: F64, now: float) -> None:
    elapsed = now - state[LAST]
    state[LAST] = now
    state[SINCE] = 0.0
    state[COUNT] += rules[STEP]
    state[SPAN] += elapsed
    state[RECENT] += rules[STEP]
    state[RECENT_SPAN] += elapsed
    state[PROMISED] += state[AHEAD]
    balance = rules[RATE] * (now - state[START]) - state[WRITTEN]
    most = rules[RATE] * rules[HORIZON] * rules[CREDIT]
    if balance > most:
        state[WRITTEN] += balance - most
        balance = most
    if state[MISSES] >= rules[HOLD]:
        overdrawn = balance < -rules[RATE] * rules[HORIZON] * MOST_DEBT
        _set_threshold(rules, state, mass, 0.0 if overdrawn else _allowed(rules, state, balance))
    for b in range(len(mass)):
        mass[b] *= rules[KEEP]
    for place in (COUNT, SPAN, PROMISED, WROTE):
        state[place] *= rules[KEEP]
    state[RECENT] *= rules[KEEP_RECENT]
    state[RECENT_SPAN] *= rules[KEEP_RECENT]


@njit
def _allowed(rules: F64, state: F64, balance: float) -> float:
    """Segments that the reads in the histogram should have been admitted with."""
    load = 1.0
    if rules[FOLLOWS] != 0.0 and state[RECENT_SPAN] > 0.0:
        load = math.sqrt((state[SPAN] * state[RECENT]) / (state[COUNT] * state[RECENT_SPAN]))
        load = min(max(load, LEAST_LOAD), MOST_LOAD)
    share = state[RECENT_SPAN] / state[RECENT] / rules[HORIZON]
    if share > 1.0:
        share = 1.0
    ratio = 1.0
    if state[PROMISED] > 0.0:
        ratio = max(state[WROTE] / state[PROMISED], LEAST_RATIO)
    each = rules[RATE] * state[SPAN] / state[COUNT] * load + balance * share
    return float(each * state[COUNT] / ratio)


@njit
def _set_threshold(rules: F64, state: F64, mass: F64, allowed: float) -> None:
    left = allowed
    state[THRESHOLD] = math.inf
    if left > 0.0:
        state[THRESHOLD] = -math.inf
        for b in range(len(mass) - 1, -1, -1):
            if mass[b] > left:
                state[THRESHOLD] = rules[LOW] + rules[WIDTH] * (b + 1) - rules[WIDTH] * (left / mass[b])
                left = 0.0
                break
            left -= mass[b]
    state[AHEAD] = 0.0
    if allowed > 0.0:
        state[AHEAD] = (allowed - left) / state[COUNT] * rules[STEP]
