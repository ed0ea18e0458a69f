"""Several partitioners on one mix and one cache."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cachezoo.console import Advance
from cachezoo.devices.analytic import t_hdd_us
from cachezoo.errors import ConfigError
from cachezoo.questions.share.bench import Bench
from cachezoo.questions.share.counting import Counting, counting
from cachezoo.questions.share.judged import Judged, Times, judge
from cachezoo.questions.share.mix import Mix
from cachezoo.questions.share.partition import Asked, TooSmall
from cachezoo.settings.device import AnalyticDevice
from cachezoo.sizes import human_pages

CACHE_US = 0.1  # a page of 4 KiB in RAM, as tiers have it; a test holds both together


@dataclass(frozen=True)
class Contest:
    """Partitioners with the same cache.

    Attributes:
        mix: the applications.
        pages: of the cache as it was asked for; each partitioner uses its whole fragments.
        counting: which references count.
        times: of a page.
        rows: of each partitioner, in the order asked.
        left_out: partitioners that cannot have so small a cache, and why, a line for each reason.
    """

    mix: Mix
    pages: int
    counting: Counting
    times: Times
    rows: tuple[Judged, ...]
    left_out: tuple[str, ...] = ()


def usual_times(mix: Mix, device: AnalyticDevice) -> Times:
    """Times of a page where nothing waits: from the disk the mean over requests of each application by itself.

    Args:
        mix: of traces.
        device: whose disk.
    """
    disk = [float(t_hdd_us(one.trace, device.hdd).mean()) if one.trace else 0.0 for one in mix.applications]
    return Times(CACHE_US, np.array(disk))


def contest(
    mix: Mix, asked: Sequence[Asked], pages: int, count: str, device: AnalyticDevice, advance: Advance,
    leave_out: bool = False,
) -> Contest:  # fmt: skip
    """Run partitioners on the same mix and cache.

    Args:
        mix: the applications, with their traces.
        asked: the partitioners.
        pages: of the whole cache.
        count: as `counting` takes it.
        device: whose disk holds the pages.
        advance: told the partitioners done.
        leave_out: leave out partitioners that cannot have so small a cache, while others can.

    Raises:
        ConfigError: the cache holds more than all pages, is too small or too large for a partitioner, nothing
            counts, or fragments of partitioners differ.
    """
    _check(mix, asked, pages)
    bench, counted, times = Bench(mix), counting(mix, count, pages), usual_times(mix, device)
    rows, small = list[Judged](), dict[Asked, TooSmall]()
    for done, one in enumerate(asked):
        advance(done, str(one))
        try:
            shared = one.run(bench, pages, counted.counted)
        except TooSmall as error:
            small[one] = error
            if leave_out:
                continue
            raise
        fragment = one.options.whole("fragment")
        rows.append(judge(one, shared, bench, pages // fragment * fragment, counted, times))
    advance(len(asked))
    if small and not rows:
        raise next(iter(small.values()))
    return Contest(mix, pages, counted, times, tuple(rows), _left_out(small))


def _left_out(small: Mapping[Asked, TooSmall]) -> tuple[str, ...]:
    """A line for each reason: who is left out for it."""
    reasons = dict[str, list[str]]()
    for one, error in small.items():
        reasons.setdefault(str(error.__cause__), []).append(str(one))
    return tuple(f"left out: {', '.join(names)}: {reason}" for reason, names in reasons.items())


def _check(mix: Mix, asked: Sequence[Asked], pages: int) -> None:
    """Refuse partitioners that could not be compared, and a cache that nothing is gained by splitting."""
    if len(sizes := {one.options.whole("fragment") for one in asked}) > 1:
        listed = " and ".join(str(size) for size in sorted(sizes))
        message = (
            f"fragments of {listed} pages: partitioners would get caches of different sizes; give all of them the "
            "same, with --fragment, or with fragment= in each"
        )
        raise ConfigError(message)
    if pages > mix.n_pages:
        message = (
            f"a cache of {human_pages(pages)} is more than the {human_pages(mix.n_pages)} that the applications touch, "
            "so that there is nothing to split; give --cache 100% or less"
        )
        raise ConfigError(message)
