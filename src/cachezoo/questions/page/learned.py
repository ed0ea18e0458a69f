"""Is a learned cache worth it on a trace: it is run there, and held against what would be recommended without it.

Its rival is no classic in hindsight, but the policy that the first half of this trace chose. Long traces are sampled by
blocks of their volume, with as small a part of the cache; the rival then runs on the same sample.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachezoo.contest.choice import Goal, choose
from cachezoo.contest.counting import AUTO, Count
from cachezoo.contest.lead import Lead
from cachezoo.contest.verdict import LEAST_HITS, Worth, worth
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.accounting import Simulation
from cachezoo.questions.page.bench import Run
from cachezoo.questions.page.bundle import simulate_bundle
from cachezoo.questions.page.candidates import Halves
from cachezoo.settings.device import AnalyticDevice
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.sampling import sample

MOST_LEARNED = 1_000_000
"""Page accesses above which a sample is run: a learned cache takes some microseconds for each."""
SEED = 1


@dataclass(frozen=True)
class Learned:
    """A learned cache against the recommended policy, at the same size."""

    bundle: str  # its folder
    ran: Run
    rival: Run
    rate: float  # part of the trace's pages that both ran on; 1: all
    page_us: float  # that an access took here: of this run, and so in no file

    @property
    def lead(self) -> Lead:
        """Over the rival, in hit ratio on the second half."""
        return self.ran.lead(self.rival, Goal.GAIN)

    @property
    def worth(self) -> Worth:
        """Whether to run it in place of the rival."""
        return worth(self.lead.value, self.lead.interval, LEAST_HITS)

    def values(self) -> dict[str, Any]:
        """As JSON values."""
        return {
            "bundle": self.bundle,
            "policy": self.ran.policy,
            "hit_ratio": self.ran.hit_ratio,
            "rival": self.rival.policy,
            "rival_hit_ratio": self.rival.hit_ratio,
            "lead": self.lead.values(),
            "worth": self.worth,
            "sampled": self.rate,
            "ssd_pages_written": self.ran.ssd_writes,
        }


def measure(
    bench: Halves, device: AnalyticDevice, rival: Run, bundles: Sequence[Path], most: int = MOST_LEARNED
) -> Learned | None:
    """Run learned caches at the size of the recommended one; of several the first half chooses one.

    Args:
        bench: the trace.
        device: models of the disk and the SSD, for the bench of a sample.
        rival: what would be recommended.
        bundles: of the learned caches, folders or archives; at least one.
        most: page accesses that are run, about, by all together.

    Returns:
        None where a sample of so many accesses has no page.

    Raises:
        BundleError: one is damaged.
    """
    own, rate, capacity, most = bench, 1.0, rival.capacity, most // len(bundles)
    accesses = len(bench.pages.page_ids)
    if accesses > most or bench.sample is not None:
        part = sample(bench.trace, min(1.0, most / accesses), SEED)
        if not len(part):
            return None
        own = Halves(part, expand_pages(part), device)
        rate = own.pages.n_pages / bench.n_pages
        capacity = max(1, round(rival.capacity * rate))
        rival = own.run(rival.policy, capacity)
    full, runs, seconds = int(own.firsts(Count(AUTO), [capacity])[0]), dict[Path, Simulation](), dict[Path, float]()
    for bundle in bundles:
        start = time.process_time()
        runs[bundle] = simulate_bundle(bundle, own.trace, own.pages, capacity, own.half)
        # Other work on the machine is in the first, loading the bundle in the second.
        seconds[bundle] = min(runs[bundle].kernel_s, time.process_time() - start)
    means = {
        bundle: [float((run.outcome[full : own.half] == HIT).mean()) if full < own.half else None]
        for bundle, run in runs.items()
    }
    choice = choose(means, Goal.GAIN)
    chosen = bundles[0] if choice is None else choice.chosen
    page_us = 1e6 * seconds[chosen] / len(own.pages.page_ids)
    return Learned(str(chosen), own.counted_run(runs[chosen], "model"), rival, rate, page_us)
