"""Requests of objects for tests."""

import os
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from cachezoo.kernels.segments import IdTable
from cachezoo.sized.requests import Requests

OBJECTS = 12
PUBLIC = {"cloudphysics": "block/cloudphysics.oracleGeneral.bin", "webcache": "cases/webcachesim-time-id-size.tr"}
ORACLE_GENERAL = np.dtype([("time", "<u4"), ("id", "<u8"), ("size", "<u4"), ("next", "<i8")])


def read_public(name):
    """The requests of a public trace, all as reads."""
    path = Path(os.environ["CACHEZOO_PUBLIC_TRACES"]) / PUBLIC[name]
    if path.suffix == ".bin":
        rows = np.fromfile(path, ORACLE_GENERAL)
        key, size = rows["id"].astype(np.int64), rows["size"].astype(np.int64)
    else:
        key, size = np.loadtxt(path, dtype=np.int64, usecols=(1, 2), unpack=True)
    return Requests.of_sizes(IdTable().lookup(key), size)


@st.composite
def requests(draw, most=80, sizes=(0, 40), timed=None):
    """A few objects, each request with a size of its own, 0 among them; times where they are drawn or asked for."""
    n = draw(st.integers(1, most))
    rows = draw(
        st.lists(
            st.tuples(st.integers(0, OBJECTS - 1), st.integers(*sizes), st.sampled_from((0, 0, 0, 1, 2))),
            min_size=n,
            max_size=n,
        )
    )
    ids, size, op = (np.array(column) for column in zip(*rows, strict=True))
    time = expires = None
    if draw(st.booleans()) if timed is None else timed:
        time = np.cumsum(draw(st.lists(st.integers(0, 3), min_size=n, max_size=n))).astype(np.int64)
        expires = time + np.array(draw(st.lists(st.integers(1, 20), min_size=n, max_size=n)), np.int64)
    return Requests(ids.astype(np.int32), size.astype(np.int64), op.astype(np.uint8), OBJECTS, time, expires)


def skewed(n=4000, objects=500, seed=1, constant=True):
    """Reads of objects of zipf-like popularity, with sizes from 1 to some thousand bytes.

    Args:
        n: requests.
        objects: distinct ids drawn from.
        seed: of the draws.
        constant: an object has one size.
    """
    rng = np.random.default_rng(seed)
    weights = 1 / np.arange(1, objects + 1)
    drawn = rng.choice(objects, n, p=weights / weights.sum())
    ids = np.unique(drawn, return_index=True, return_inverse=True)
    rank = np.empty(len(ids[0]), np.int32)
    rank[np.argsort(ids[1])] = np.arange(len(ids[0]), dtype=np.int32)
    dense = rank[ids[2]]
    size = np.exp(rng.uniform(0, 8, objects)).astype(np.int64) + 1
    return Requests.of_sizes(dense, size[dense] if constant else size[rng.integers(0, objects, n)])
