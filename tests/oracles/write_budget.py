"""Naive write budget: every read that missed is kept, and all sums are made anew at each step."""

import itertools
import math
from dataclasses import dataclass, field

from cachezoo.kernels.write_budget import Controller


@dataclass
class NaiveBudget:
    """A controller at a rate of segments in a unit of time."""

    rules: Controller
    rate: float
    horizon: float
    threshold: float
    # time, what was missed (bin, segments, admitted), written
    reads: list[tuple[int, list[tuple[int, int, bool]], int]] = field(default_factory=list)
    promises: list[float] = field(default_factory=list)  # of each step, what is written until the next one
    lost: float = 0.0
    near: bool = False  # what may be written is a sum of whole bins but for last digits, which decide then

    def missed(self, time: int, missed: list[tuple[float, int]], written: int) -> None:
        """The next read that missed so many segments of each score."""
        parts = [(self._bin(score), missing, score >= self.threshold) for score, missing in missed]
        self.reads.append((time, parts, written))
        if len(self.reads) % self.rules.step_misses == 0:
            self._step()

    def _bin(self, score: float) -> int:
        return int(min(max((score - self.rules.low) / self.rules.width, 0.0), self.rules.bins - 1.0))

    def _weighed(self, values: list[float], remembered: int) -> float:
        """The sum of one value a step, the last one whole, those before by their age."""
        keep = 1 - self.rules.step_misses / remembered
        return sum(value * keep ** (len(values) - 1 - k) for k, value in enumerate(values))

    def _step(self) -> None:
        own, width = self.rules, self.rules.step_misses
        steps = [self.reads[k : k + width] for k in range(0, len(self.reads), width)]
        ends = [self.reads[0][0], *(step[-1][0] for step in steps)]
        gaps = [float(late - early) for early, late in itertools.pairwise(ends)]
        held = [max(0, min(width, own.hold_misses - k * width)) for k in range(len(steps))]
        promised = [
            sum(missing for _, parts, _ in step[:first] for _, missing, admitted in parts if admitted) + promise
            for step, first, promise in zip(steps, held, [0.0, *self.promises], strict=True)
        ]
        wrote = [float(sum(written for *_, written in step)) for step in steps]
        balance = self.rate * (ends[-1] - ends[0]) - sum(wrote) - self.lost
        self.lost += max(0.0, balance - own.credit_horizons * self.horizon * self.rate)
        balance = min(balance, own.credit_horizons * self.horizon * self.rate)
        mass = [
            self._weighed(
                [float(sum(m for _, parts, _ in step for b, m, _ in parts if b == place)) for step in steps],
                own.window_misses,
            )
            for place in range(own.bins)
        ]
        count = self._weighed([float(width)] * len(steps), own.window_misses)
        recent = self._weighed([float(width)] * len(steps), own.recent_misses)
        mean_gap = self._weighed(gaps, own.window_misses) / count
        now_gap = self._weighed(gaps, own.recent_misses) / recent
        if len(self.reads) < own.hold_misses:
            self.promises.append(0.0)
            return
        busier = mean_gap / now_gap if own.follows_load and now_gap > 0 else 1.0
        load = min(max(math.sqrt(busier), 0.5), 2.0)
        kept = self._weighed(promised, own.window_misses)
        ratio = max(self._weighed(wrote, own.window_misses) / kept, 0.25) if kept > 0 else 1.0
        allowed = (self.rate * mean_gap * load + balance * min(1.0, now_gap / self.horizon)) * count / ratio
        if balance < -4 * self.horizon * self.rate:
            allowed = 0.0
        self.threshold = self._quantile(mass, allowed)
        self.promises.append(max(0.0, min(allowed, sum(mass))) / count * width)

    def _quantile(self, mass: list[float], allowed: float) -> float:
        """The score above which the histogram has so much."""
        edges = [0.0, *(sum(mass[place:]) for place in range(len(mass)))]
        self.near = min(abs(allowed - edge) for edge in edges) < 1e-9 * (1 + sum(mass))
        if allowed <= 0:
            return math.inf
        for place in range(len(mass)):
            above = sum(mass[place + 1 :])
            if above <= allowed < above + mass[place]:
                return self.rules.low + self.rules.width * (place + 1 - (allowed - above) / mass[place])
        return -math.inf
