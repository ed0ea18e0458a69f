"""The paper's twenty applications, made anew after its descriptions: working sets and lengths of Table 2.

The paper names what most of them do (loops, strided checkpoints, streams, small hot sets, transactions) and where in an
LRU queue their references fall; the rest is after what such programs do. No number here was chosen to meet one of its
results, and none was changed after a result was seen. Where a shape is the paper's own finding (which applications
stream, where mpitile's and pnetcdf's references fall), the claim of it can say nothing new: such claims say so.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from cachezoo.arrays import I32
from cachezoo.seeds import derive_seed
from lab.virtual.paper import APPLICATIONS, MB_PAGES

BURST = 64  # references of one part before another may have its turn
HOT_SKEW = 1.0  # exponent of the Zipf distribution of small hot sets
ORDERS_SKEW = 0.8  # of TPC-C's items and customers, which are drawn less unevenly


class Draws(NamedTuple):
    """A generator of an application's own, and what it has to make.

    Attributes:
        rng: seeded by the project's seed and the application's name.
        pages: its working set.
        length: page references.
    """

    rng: np.random.Generator
    pages: int
    length: int


def references(name: str, seed: int) -> I32:
    """Page references of an application.

    Args:
        name: one of `APPLICATIONS`.
        seed: the project's.

    Returns:
        int32[references] page ids below its working set's size, each of which is asked for at least once.
    """
    own = APPLICATIONS[name]
    rng = np.random.default_rng(derive_seed(seed, "virtual", name))
    return MAKERS[name](Draws(rng, own.pages, own.references)).astype(np.int32)


def _loop(pages: int, count: int, repeats: int = 1) -> I32:
    """Passes over the pages in order, each asked for so many times in a row: by records smaller than a page."""
    return (np.arange(count, dtype=np.int64) // repeats % pages).astype(np.int32)


def _zipf(rng: np.random.Generator, pages: int, count: int, skew: float) -> I32:
    """One pass to load them, then draws by popularity, which has nothing to do with a page's place."""
    weight = np.cumsum((np.arange(pages) + 0.5) ** -skew)
    drawn = max(0, count - pages)
    rank = np.searchsorted(weight, rng.random(drawn) * weight[-1], side="right").clip(max=pages - 1)
    return np.concatenate([_loop(pages, count - drawn), rng.permutation(pages)[rank].astype(np.int32)])


def _strided(first: int, pages: int, stride: int) -> I32:
    """A pass over the pages in steps of a stride: first, first + stride, …, then from first + 1 on."""
    place = np.arange(-(-pages // stride) * stride).reshape(-1, stride).T.ravel()
    return (first + place[place < pages]).astype(np.int32)


def _weave(rng: np.random.Generator, parts: Sequence[I32]) -> I32:
    """Parts in bursts whose order is drawn, each in proportion to its length; a part's own order stays."""
    bursts = np.concatenate([np.full(-(-len(part) // BURST), k) for k, part in enumerate(parts)])
    turn = np.repeat(rng.permutation(bursts), BURST)
    found = np.full(len(turn), -1, np.int32)
    for k, part in enumerate(parts):
        found[np.flatnonzero(turn == k)[: len(part)]] = part
    return found[found >= 0]


def _hot(draws: Draws) -> I32:
    """bsse, cpf1, cpf2, uks: matrices that fit a small cache, some of them asked for far more often."""
    return _zipf(draws.rng, draws.pages, draws.length, HOT_SKEW)


def _iterations(draws: Draws) -> I32:
    """cass, dft1, dft2: each iteration reads the integrals from first to last, with hot matrices between.

    Three quarters of the pages are integrals; half of the references go to each.
    """
    integrals = 3 * draws.pages // 4
    swept = _loop(integrals, draws.length // 2)
    matrices = _zipf(draws.rng, draws.pages - integrals, draws.length - len(swept), HOT_SKEW)
    return _weave(draws.rng, [swept, integrals + matrices])


def _checkpoints(variables: int) -> Callable[[Draws], I32]:
    """cth, pnetcdf: the same variables written one after the other at every checkpoint, each strided over the clients.

    The stride is another one at every checkpoint, so that a page comes back after the file less up to a variable.
    """

    def make(draws: Draws) -> I32:
        edges = np.linspace(0, draws.pages, variables + 1).astype(int)
        passes: list[I32] = []
        for _ in range(-(-draws.length // draws.pages)):
            strides = draws.rng.integers(2, 129, variables)
            pieces = zip(edges[:-1], edges[1:], strides, strict=True)
            passes += [_strided(int(low), int(high - low), int(stride)) for low, high, stride in pieces]
        return np.concatenate(passes)[: draws.length]

    return make


def _records(repeats: int) -> Callable[[Draws], I32]:
    """fortIO, mpiIO, mpitile: a file from first to last, again and again, in records of a part of a page."""
    return lambda draws: _loop(draws.pages, draws.length, repeats)


def _stream(draws: Draws) -> I32:
    """btB, btC, hpio: one pass in which a page is asked for a few times in a row, and then no more."""
    return (np.arange(draws.length, dtype=np.int64) * draws.pages // draws.length).astype(np.int32)


def _written_and_read(draws: Draws) -> I32:
    """btA: the solution written once, and read back once to be verified."""
    half = -(-draws.length // 2)
    each = Draws(draws.rng, draws.pages, half)
    return np.concatenate([_stream(each), _stream(each)])[: draws.length]


def _iozone(draws: Draws) -> I32:
    """iozone: write, rewrite, read, reread, random read, random write, backward, one record rewritten, strided."""
    pages, rng = draws.pages, draws.rng
    phases: list[I32] = []
    while sum(map(len, phases)) < draws.length:
        onward = _loop(pages, pages)
        random = [rng.integers(0, pages, pages).astype(np.int32) for _ in range(2)]
        phases += [*[onward] * 4, *random, onward[::-1], _loop(MB_PAGES, pages), _strided(0, pages, 17)]
    return np.concatenate(phases)[: draws.length]


def _elimination(draws: Draws) -> I32:
    """lu: the matrix is set up, then what is left to eliminate is swept again and again, 192 MB of it down to 128 MB.

    A panel of 2 MB, the first of each sweep, is read again after every 16 MB.
    """
    largest, least, panel, block = (size * MB_PAGES for size in (192, 128, 2, 16))
    parts = [_loop(draws.pages, draws.pages)]
    sweeps = -(-(draws.length - draws.pages) // least)  # more than are needed
    for size in np.linspace(largest, least, round(sweeps * 2 * least / (largest + least))).astype(int).tolist():
        sweep = _loop(size, size) + np.int32(draws.pages - size)
        for at in range(0, size, block):
            parts += [sweep[at : at + block], sweep[:panel]]
    parts += [_loop(least, draws.length) + np.int32(draws.pages - least)]
    return np.concatenate(parts)[: draws.length]


def _orders(draws: Draws) -> I32:
    """tpcc: items and customers by popularity, orders that are delivered some time after they came, and a log.

    Of 20 references 14 go to items and customers (180 MB), 4 to orders (64 MB, around which both new orders and
    deliveries go, 16 MB of orders apart) and 2 to the log (the rest, around).
    """
    tables, orders = 180 * MB_PAGES, 64 * MB_PAGES
    log = draws.pages - tables - orders
    asked, ordered = draws.length * 14 // 20, draws.length * 4 // 20
    came = np.arange(ordered - ordered // 2, dtype=np.int64)
    delivered = np.maximum(np.arange(ordered // 2, dtype=np.int64) - 16 * MB_PAGES, 0)
    queue = np.empty(ordered, np.int64)
    queue[::2], queue[1::2] = came % orders, delivered % orders
    parts = [
        _zipf(draws.rng, tables, asked, ORDERS_SKEW),
        (tables + queue).astype(np.int32),
        np.int32(tables + orders) + _loop(log, draws.length - asked - ordered),
    ]
    return _weave(draws.rng, parts)


def _queries(draws: Draws) -> I32:
    """tpcr: tables scanned once, two references a page, between many look-ups in indexes a tenth as large."""
    index = draws.pages // 11
    table = draws.pages - index
    scan = _loop(table, 2 * table, 2)
    look_ups = table + _zipf(draws.rng, index, draws.length - len(scan), HOT_SKEW)
    return _weave(draws.rng, [scan, look_ups])


MAKERS: dict[str, Callable[[Draws], I32]] = {
    **dict.fromkeys(("bsse", "cpf1", "cpf2", "uks"), _hot),
    **dict.fromkeys(("cass", "dft1", "dft2"), _iterations),
    "cth": _checkpoints(8),
    "pnetcdf": _checkpoints(4),
    "fortIO": _records(2),
    "mpiIO": _records(2),
    "mpitile": _records(1),
    "btA": _written_and_read,
    **dict.fromkeys(("btB", "btC", "hpio"), _stream),
    "iozone": _iozone,
    "lu": _elimination,
    "tpcc": _orders,
    "tpcr": _queries,
}
