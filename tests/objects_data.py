"""Traces of objects, made of the oracle's requests."""

import numpy as np

from cachezoo.traces.objects import ObjectTrace
from cachezoo.traces.table import TraceMeta
from tests.oracles.object_report import Request

OPS = ("get", "set", "delete")
META = TraceMeta("made", "unknown", "test", "0" * 64)


def trace_of(rows, names=None):
    """Requests as a trace; keys are numbers, or places in names."""
    columns = list(zip(*rows, strict=True))
    return ObjectTrace(
        time_us=np.array(columns[0], np.int64), key=np.array(columns[1], np.int64), size=np.array(columns[2], np.int64),
        op=np.array([OPS.index(op) for op in columns[3]], np.uint8), ttl_s=np.array(columns[4], np.int64),
        count=np.array(columns[5], np.int32), meta=META, key_names=names,
    )  # fmt: skip


def drawn(n=600, objects=60, seed=1):
    """Requests of objects by a steep law: some delete, some give a time to live, some sizes change or are unknown."""
    draw = np.random.default_rng(seed)
    key = (draw.pareto(0.8, n) * 4).astype(np.int64) % objects
    size = 100 + key * 7919 % 9000 + draw.choice([0, 0, 0, 5], n)
    size[draw.random(n) < 0.1] = 0
    op = draw.choice(["get", "get", "get", "set", "delete"], n)
    ttl = np.where(op == "set", draw.choice([0, 2, 5], n), 0)
    time = np.cumsum(draw.integers(0, 100_000, n))
    count = draw.choice([1, 1, 2, 3], n)
    return [
        Request(int(time[k]), int(key[k]), int(size[k]), str(op[k]), int(ttl[k]), int(count[k])) for k in range(n)
    ]  # fmt: skip
