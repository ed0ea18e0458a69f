"""Right values of public traces of objects, and of their kind."""

import os
from pathlib import Path

import numpy as np
import pytest

from cachezoo.kernels.segments import IdTable
from cachezoo.sized.requests import Requests
from cachezoo.sized.simulate import simulate

NEEDED = pytest.mark.needs("public_traces")


def column(name, *columns, **how):
    path = Path(os.environ["CACHEZOO_PUBLIC_TRACES"]) / "cases" / name
    return np.loadtxt(path, dtype=np.int64, usecols=columns, unpack=True, **how)


@NEEDED
def test_objects_of_a_webcache_hit_by_object_and_by_byte():
    key, size = column("webcachesim-time-id-size.tr", 1, 2)
    asked = Requests.of_sizes(IdTable().lookup(key), size)
    assert (asked.n_objects, asked.footprint_bytes) == (455, 223_357_210)
    run = simulate(asked, "lru", asked.footprint_bytes // 10)
    assert (round(run.hit_ratio, 4), round(run.byte_hit_ratio, 4)) == (0.5168, 0.4047)


@NEEDED
def test_no_cache_knows_an_object_before_it_is_asked_for():
    (key,) = column("object-ids-numbered-by-first-appearance.tr", 1, ndmin=2)
    asked = Requests.of_sizes(IdTable().lookup(key), np.ones(len(key), np.int64))
    assert round(simulate(asked, "lru", asked.n_objects // 5).hit_ratio, 4) == 0.4483


@NEEDED
def test_keys_of_a_key_value_cache_are_no_addresses():
    (key,) = column("cachelib-kv-guess-collapses-keys.csv", 1, delimiter=",", skiprows=1, ndmin=2)
    asked = Requests.of_sizes(IdTable().lookup(key), np.ones(len(key), np.int64))
    assert asked.n_objects == 4890
    assert simulate(asked, "lru", asked.n_objects // 10).hits == 1865  # of 20,000: 0.0933


def test_a_loop_of_twice_asked_objects_hits_at_most_half():
    order = np.random.default_rng(4).permutation(np.repeat(np.arange(500), 2))
    asked = Requests.of_sizes(IdTable().lookup(order.astype(np.int64)), np.full(1000, 300, np.int64))
    assert simulate(asked, "lru", asked.footprint_bytes).hit_ratio == 0.5
    assert 0 < simulate(asked, "lru", asked.footprint_bytes // 5).hit_ratio < 0.5
