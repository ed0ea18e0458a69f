"""What caching a page is worth: RC-RNN's benefit (Eq. 3), and the time that its next use saves.

The horizon counts page accesses: an access at position p sees the accesses at p … p + horizon, itself included. Both
are found a span of requests at a time, so that of a long trace a span alone is in memory.
"""

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8
from cachezoo.errors import ConfigError
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import WRITE


@njit
def _benefit(
    start: I64, page_ids: I32, flags: U8, counts: tuple[I32, I32], entered: int, horizon: int, leaves: bool,
    ratio: F64, benefit: F64
) -> int:  # fmt: skip
    accesses, reads = counts
    m = page_ids.size
    for i in range(start.size - 1):
        for p in range(start[i], start[i + 1]):
            while entered < m and entered - p <= horizon:
                page = page_ids[entered]
                accesses[page] += 1
                reads[page] += (flags[entered] & WRITE) == 0
                entered += 1
            page = page_ids[p]
            uses = accesses[page]
            benefit[p - start[0]] = ratio[i] * (uses - 1) * (1.0 + reads[page] / uses)
            if leaves:
                accesses[page] -= 1
                reads[page] -= (flags[p] & WRITE) == 0
    return entered


class Benefit:
    """The benefit of each page access, Eq. 3 of RC-RNN (Sec. 4.1), a span of requests after the other.

    `T_HDD / T_SSD · (N_acc - 1) · (1 / Req_size) · (1 + N_reads / N_acc)`, the request's size in pages. N_acc and
    N_reads count the page's accesses within the horizon, those that have entered it and not passed yet.
    """

    def __init__(self, page_ids: I32, flags: U8, n_pages: int, horizon: int | None) -> None:
        """Begin.

        Args:
            page_ids: int32[m], values in [0, n_pages).
            flags: uint8[m], of which `WRITE` matters.
            n_pages: distinct pages.
            horizon: page accesses looked ahead; None counts the page's uses in the whole trace, the past ones too.

        Raises:
            ConfigError: a horizon below 1.
        """
        if horizon is not None and horizon < 1:
            raise ConfigError(f"horizon {horizon}: look at least one page access ahead")
        self._accesses = page_ids, flags
        self._counts = np.zeros(n_pages, np.int32), np.zeros(n_pages, np.int32)
        self._horizon, self._leaves = horizon or len(page_ids), horizon is not None
        self._entered = 0

    def serve(self, start: I64, ratio: F64) -> F64:
        """The next requests' benefits.

        Args:
            start: int64[k + 1] bounds of the page accesses of each of them.
            ratio: float64[k] T_HDD / T_SSD / Req_size.

        Returns:
            float64, one a page access: 0 where the page is not used again within the horizon, or only once in the whole
            trace.
        """
        benefit = np.empty(int(start[-1] - start[0]), np.float64)
        self._entered = int(
            _benefit(
                start, *self._accesses, self._counts, self._entered, self._horizon, self._leaves, ratio, benefit
            )
        )  # fmt: skip
        return benefit


def page_benefit(
    request_start: I64, page_ids: I32, op: U8, t_hdd_us: F64, t_ssd_us: F64, n_pages: int, horizon: int | None
) -> F64:
    """Benefit of caching each accessed page of a whole trace, see `Benefit`.

    Args:
        request_start: int64[n + 1] bounds of each request's page accesses.
        page_ids: int32[m].
        op: uint8[n], 0 read, 1 write.
        t_hdd_us: float64[n] service time of the request on the hard disk, above 0.
        t_ssd_us: float64[n] the same on the SSD.
        n_pages: distinct pages.
        horizon: as of `Benefit`.

    Raises:
        ConfigError: a horizon below 1, or a service time that is not above 0.
    """
    check_times(t_hdd_us, t_ssd_us)
    pages = np.diff(request_start)
    flags = np.repeat(np.where(op == 0, 0, WRITE).astype(np.uint8), pages)
    return Benefit(page_ids, flags, n_pages, horizon).serve(request_start, t_hdd_us / t_ssd_us / pages)


def check_times(t_hdd_us: F64, t_ssd_us: F64) -> None:
    """Refuse service times that none can be.

    Raises:
        ConfigError: one that is not above 0, or not finite.
    """
    good = (t_hdd_us > 0) & (t_ssd_us > 0) & np.isfinite(t_hdd_us) & np.isfinite(t_ssd_us)
    if not good.all():
        row = int(np.argmin(good)) + 1
        raise ConfigError(f"row {row}: service times are finite and above 0 µs; replay the trace again")


@njit
def _saved(start: I64, page_ids: I32, share: F64, upcoming: I64, shares: F64, m: int, reach: int, saved: F64) -> None:
    for i in range(start.size - 2, -1, -1):
        for p in range(start[i + 1] - 1, start[i] - 1, -1):
            page = page_ids[p]
            wait = upcoming[page] - p
            used = upcoming[page] < m and wait <= reach
            saved[p - start[0]] = shares[page] / wait if used else 0.0
            upcoming[page] = p
            shares[page] = share[i]


class TimeSaved:
    """Time that caching each accessed page until its next use saves, for each page access that it is held.

    The request of the next use takes the SSD's time instead of the disk's if all its pages are cached; each page has
    an equal share of that. Where the disk is no slower (it reads on), nothing is saved. Found backwards, the last
    requests first.
    """

    def __init__(self, page_ids: I32, n_pages: int, reach: int) -> None:
        """Begin.

        Args:
            page_ids: int32[m], values in [0, n_pages).
            n_pages: distinct pages.
            reach: page accesses; a next use further away saves nothing.

        Raises:
            ConfigError: a reach below 1.
        """
        if reach < 1:
            raise ConfigError(f"reach {reach}: look at least one page access ahead")
        self._page_ids, self._reach = page_ids, reach
        self._upcoming, self._shares = np.full(n_pages, len(page_ids), np.int64), np.zeros(n_pages, np.float64)

    def serve(self, start: I64, share: F64, saved: F64) -> None:
        """Of the requests before those served last.

        Args:
            start: int64[k + 1] bounds of the page accesses of each of them.
            share: float64[k], µs that each of their pages saves, at least 0.
            saved: float64, one a page access, written: µs a page access, 0 where nothing is saved.
        """
        m = len(self._page_ids)
        _saved(start, self._page_ids, share, self._upcoming, self._shares, m, self._reach, saved)


def time_saved(request_start: I64, page_ids: I32, t_hdd_us: F64, t_ssd_us: F64, n_pages: int, reach: int) -> F64:
    """float64[m]: what caching each accessed page of a whole trace saves, see `TimeSaved`.

    Args:
        request_start: int64[n + 1] bounds of each request's page accesses.
        page_ids: int32[m].
        t_hdd_us: float64[n] service time of the request on the hard disk, above 0.
        t_ssd_us: float64[n] the same on the SSD.
        n_pages: distinct pages.
        reach: as of `TimeSaved`.

    Raises:
        ConfigError: a reach below 1, or a service time that is not above 0.
    """
    saving = TimeSaved(page_ids, n_pages, reach)
    check_times(t_hdd_us, t_ssd_us)
    saved = np.empty(len(page_ids), np.float64)
    saving.serve(request_start, np.maximum(t_hdd_us - t_ssd_us, 0.0) / np.diff(request_start), saved)
    return saved
