"""What caching a page is worth: RC-RNN's benefit (Eq. 3), and the time that its next use saves.

The horizon counts page accesses: an access at position p sees the accesses at p … p + horizon, itself included.
"""

import numpy as np

from cachezoo.arrays import F64, I32, I64, U8
from cachezoo.errors import ConfigError
from cachezoo.kernels.bounds.following import next_access
from cachezoo.kernels.jit import njit


@njit
def _counts(page_ids: I32, read: U8, n_pages: int, horizon: int) -> tuple[I32, I32]:
    m = page_ids.size
    accesses = np.zeros(n_pages, np.int32)
    reads = np.zeros(n_pages, np.int32)
    n_accesses = np.empty(m, np.int32)
    n_reads = np.empty(m, np.int32)
    for p in range(m - 1, -1, -1):
        leaving = p + horizon + 1
        if leaving < m:
            page = page_ids[leaving]
            accesses[page] -= 1
            reads[page] -= read[leaving]
        page = page_ids[p]
        accesses[page] += 1
        reads[page] += read[p]
        n_accesses[p] = accesses[page]
        n_reads[p] = reads[page]
    return n_accesses, n_reads


def whole_counts(page_ids: I32, read: U8, n_pages: int) -> tuple[I32, I32]:
    """Uses of each access's page in the whole trace, those before the access included.

    Args:
        page_ids: int32[m], values in [0, n_pages).
        read: uint8[m], 1 where the access reads.
        n_pages: distinct pages.

    Returns:
        N_acc and N_reads, int32[m] each.
    """
    accesses = np.bincount(page_ids, minlength=n_pages).astype(np.int32)
    reads = np.bincount(page_ids[read != 0], minlength=n_pages).astype(np.int32)
    return accesses[page_ids], reads[page_ids]


def future_counts(page_ids: I32, read: U8, n_pages: int, horizon: int) -> tuple[I32, I32]:
    """Uses of each access's page from that access on, within the horizon.

    Args:
        page_ids: int32[m], values in [0, n_pages).
        read: uint8[m], 1 where the access reads.
        n_pages: distinct pages.
        horizon: page accesses looked ahead.

    Returns:
        N_acc and N_reads, int32[m] each; the present access counts, so N_acc - 1 is the number of future uses.

    Raises:
        ConfigError: a horizon below 1.
    """
    if horizon < 1:
        raise ConfigError(f"horizon {horizon}: look at least one page access ahead")
    counts: tuple[I32, I32] = _counts(page_ids, read, n_pages, horizon)
    return counts


@njit
def _benefit(request_start: I64, worth: F64, n_accesses: I32, n_reads: I32) -> F64:
    benefit = np.empty(n_accesses.size, np.float64)
    for i in range(request_start.size - 1):
        for p in range(request_start[i], request_start[i + 1]):
            uses = n_accesses[p]
            benefit[p] = worth[i] * (uses - 1) * (1.0 + n_reads[p] / uses)
    return benefit


def page_benefit(
    request_start: I64, page_ids: I32, op: U8, t_hdd_us: F64, t_ssd_us: F64, n_pages: int, horizon: int | None
) -> F64:
    """Benefit of caching each accessed page, Eq. 3 of RC-RNN (Sec. 4.1).

    `T_HDD / T_SSD · (N_acc - 1) · (1 / Req_size) · (1 + N_reads / N_acc)`, the request's size in pages.

    Args:
        request_start: int64[n + 1] bounds of each request's page accesses.
        page_ids: int32[m].
        op: uint8[n], 0 read, 1 write.
        t_hdd_us: float64[n] service time of the request on the hard disk, above 0.
        t_ssd_us: float64[n] the same on the SSD.
        n_pages: distinct pages.
        horizon: page accesses looked ahead; None counts the page's uses in the whole trace, the past ones too.

    Returns:
        float64[m], 0 where the page is not used again within the horizon, or only once in the whole trace.

    Raises:
        ConfigError: a horizon below 1, or a service time that is not above 0.
    """
    _check_times(t_hdd_us, t_ssd_us)
    pages = np.diff(request_start)
    read = np.repeat((op == 0).astype(np.uint8), pages)
    if horizon is None:
        n_accesses, n_reads = whole_counts(page_ids, read, n_pages)
    else:
        n_accesses, n_reads = future_counts(page_ids, read, n_pages, horizon)
    worth = t_hdd_us / t_ssd_us / pages
    benefit: F64 = _benefit(request_start, worth, n_accesses, n_reads)
    return benefit


def _check_times(t_hdd_us: F64, t_ssd_us: F64) -> None:
    good = (t_hdd_us > 0) & (t_ssd_us > 0) & np.isfinite(t_hdd_us) & np.isfinite(t_ssd_us)
    if not good.all():
        row = int(np.argmin(good)) + 1
        raise ConfigError(f"row {row}: service times are finite and above 0 µs; replay the trace again")


def time_saved(request_start: I64, page_ids: I32, t_hdd_us: F64, t_ssd_us: F64, n_pages: int, reach: int) -> F64:
    """Time that caching each accessed page until its next use saves, for each page access that it is held.

    The request of the next use takes the SSD's time instead of the disk's if all its pages are cached; each page has
    an equal share of that. Where the disk is no slower (it reads on), nothing is saved.

    Args:
        request_start: int64[n + 1] bounds of each request's page accesses.
        page_ids: int32[m].
        t_hdd_us: float64[n] service time of the request on the hard disk, above 0.
        t_ssd_us: float64[n] the same on the SSD.
        n_pages: distinct pages.
        reach: page accesses; a next use further away saves nothing.

    Returns:
        float64[m] µs a page access, 0 where nothing is saved.

    Raises:
        ConfigError: a reach below 1, or a service time that is not above 0.
    """
    if reach < 1:
        raise ConfigError(f"reach {reach}: look at least one page access ahead")
    _check_times(t_hdd_us, t_ssd_us)
    m, pages = len(page_ids), np.diff(request_start)
    share = np.repeat(np.maximum(t_hdd_us - t_ssd_us, 0.0) / pages, pages)
    following = next_access(page_ids, n_pages)
    wait = following - np.arange(m)
    used = (following < m) & (wait <= reach)
    saved = np.zeros(m, np.float64)
    saved[used] = share[following[used]] / wait[used]
    return saved
