"""Curves of several policies on one trace: exact where it is short enough, else from a sample."""

from collections.abc import Sequence

from cachezoo.arrays import I64
from cachezoo.console import Advance
from cachezoo.contest.counting import SECOND_HALF, Count, first_accesses
from cachezoo.curves.curve import LRU, Curve, long_curve, lru_curve, rising, simulated_curve
from cachezoo.curves.sampling import Sample, draw, first_sampled, sample_of, sampled_curve
from cachezoo.errors import ConfigError
from cachezoo.policies.long import LongSimulator
from cachezoo.policies.registry import policy
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.sampling import SampledTrace


def curves(
    pages: PageAccesses | SampledTrace | LongSimulator, policies: Sequence[str], capacities: Sequence[int] | I64, *,
    most_accesses: int | None = None, rate: float | None = None, count: Count = SECOND_HALF, seed: int = 0,
    advance: Advance | None = None,
) -> list[Curve]:  # fmt: skip
    """Page hit ratios of policies over the size of the cache, each size counted after its own warm-up.

    Args:
        pages: page accesses of a trace; or a sample of it, on which all policies are simulated, LRU too; or one that is
            longer than memory, of which no sample is taken.
        policies: ids or compositions without prefetch, bounds too; ``belady_bypass`` is the optimum.
        capacities: int[k] pages of the whole trace, in any order.
        most_accesses: of a longer trace, policies are simulated on a sample of about so many page accesses; LRU stays
            exact, and what the others differ from it is what the sample measures. None simulates all accesses.
        rate: take a sample of this part of the pages for all policies, LRU too, whatever the length; above 0, below 1.
        count: from where on it counts.
        seed: another seed, another sample.
        advance: called with (points done, the policy at work); there are policies times capacities.

    Returns:
        A curve a policy, in the order given.

    Raises:
        ConfigError: an unknown policy, one that prefetches, or one that no sample can stand for; a capacity or a rate
            that cannot be.
    """
    sizes, entries = rising(capacities), [policy(policy_id) for policy_id in policies]
    read = pages if isinstance(pages, PageAccesses) else None
    share = 0.0 if isinstance(pages, SampledTrace) else 1.0
    if read is not None:
        share = rate or min(1.0, (most_accesses or len(read.page_ids)) / max(1, len(read.page_ids)))
    for entry in entries:
        if entry.spec and entry.spec.prefetch.id != "none":
            raise ConfigError(f"policy {entry.id}: a curve is of page accesses alone; leave the prefetch out")
        if share < 1 and entry.spec and entry.spec.is_virtual:  # the positions of its queue are all pages'
            raise ConfigError(f"policy {entry.id}: no sample of the pages stands for its queue; ask for --sample exact")
    sample: Sample | None
    if isinstance(pages, LongSimulator):
        sample, first = None, pages.firsts(count, sizes.tolist())
    elif isinstance(pages, SampledTrace):
        sample, first = sample_of(pages), first_sampled(pages, count, sizes)
    else:
        sample, first = draw(pages, share, seed) if share < 1 else None, first_accesses(pages, count, sizes)
    wanted = sample is not None or any(entry.id == LRU for entry in entries)
    exact_lru = lru_curve(read, sizes, count) if read is not None and rate is None and wanted else None
    found = []
    for k, entry in enumerate(entries):

        def report(done: float, note: str = "", begun: int = k * len(sizes), name: str = entry.id) -> None:
            if advance is not None:
                advance(begun + done, note or name)

        report(0)
        if entry.id == LRU and exact_lru is not None:
            found.append(exact_lru)
        elif sample is not None:
            found.append(sampled_curve(sample, entry, sizes, first, exact_lru, report))
        elif isinstance(pages, LongSimulator):
            found.append(long_curve(entry, pages, sizes, count, report))
        else:
            assert read is not None
            found.append(simulated_curve(entry, read, sizes, count, report))
    return found
