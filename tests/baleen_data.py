"""Seeded requests for the flash cache's tests: reuse, overwrites, scans and block-crossing ranges."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from hypothesis import strategies as st

from cachezoo.coded import Coded
from cachezoo.labels.episode_file import write_episode_labels
from cachezoo.labels.episode_rows import read_episode_labels
from cachezoo.models.forest import forest_scorer
from cachezoo.models.trained import TrainedModel, trace_uses
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy, HistoryFeatures
from cachezoo.traces.ingest import ingest
from cachezoo.traces.read import TraceFiles
from cachezoo.traces.store import read_trace, write_trace
from cachezoo.traces.table import Trace, TraceMeta
from cachezoo.training.episodes import Prepared
from cachezoo.zoo.admission import fit, judge
from cachezoo.zoo.admission.fit import FULL, Variant
from cachezoo.zoo.admission.model import MODEL_FILE
from cachezoo.zoo.admission.settings import Fit, Judge, Model, Small
from tests.trained_data import MadeForests

LABEL = EpisodeLabel(
    block_bytes=262144,
    segment_bytes=4096,
    cache_fraction=0.1,
    write_budget=0.25,
    budgets=[0.05, 0.1, 0.25, 0.5],
    first_accesses=6,
    budget_tolerance=0.025,
    age_tolerance=0.05,
    age_damping=0.5,
    age_rounds=12,
    min_evictions=100,
    horizon_fraction=0.25,
)
FLASH = FlashPolicy(
    eviction="lru",
    disk="baleen",
    seek_ms=11.5,
    rate_mib_s=143.0,
    window_min_s=600,
    window_min_reads=1000,
    min_windows=20,
    min_gap=0.02,
    disks=None,
)
FIT = fit.Settings(
    label=LABEL,
    history=HistoryFeatures(bucket_of_age=0.25, windows=[1, 2, 4, 8, 16, 32]),
    model=Model(
        arch="lgbm",
        num_leaves=15,
        max_trees=40,
        learning_rate=0.1,
        feature_fraction=0.9,
        bagging_fraction=0.9,
        bagging_freq=5,
        min_data_in_leaf=20,
        lambda_l2=1.0,
        small=Small(num_leaves=7, max_trees=4, learning_rate=0.3),
    ),
    fit=Fit(open_weight=1.0, holdout_every=5, early_stopping=10, threads=2, machines=1),
    roles={},
    seed=7,
)
JUDGE = judge.Settings(label=LABEL, flash=FLASH, judge=Judge(curve_points=9, least_gain=0.02), arch="lgbm", roles={})


def make_trace(n: int, seed: int, name: str = "t") -> Trace:
    """Hot blocks read by one process, a scan by another, and writes over both."""
    rng = np.random.default_rng(seed)
    scan = rng.random(n) < 0.3
    hot_block = np.minimum(rng.zipf(1.3, n), 400).astype(np.int64)
    offset = hot_block * 262144 + rng.integers(0, 64, n) * 4096
    offset[scan] = (1000 + np.arange(int(scan.sum()))) * 131072
    write = rng.random(n) < 0.2
    user = np.where(write, 2, np.where(scan, 1, 0)).astype(np.int32)
    return Trace(
        time_us=np.cumsum(rng.integers(1, 4000, n)),
        op=write.astype(np.uint8),
        offset=offset,
        size=rng.integers(1, 17, n) * 4096 - rng.integers(0, 4096, n),
        volume=Coded(rng.integers(0, 2, n).astype(np.int32), ("vda", "vdb")),
        user=Coded(user, ("postgres", "backup/1", "kworker/u4:1")),
        meta=TraceMeta(name, "database", "test", "0" * 64, "CC0"),
    )


def rewritten_after(trace: Trace, cut: int) -> Trace:
    """The same rows up to a cut, and others later: addresses, kinds, times, new processes and volumes."""
    n = len(trace)
    other, after = make_trace(n, 77), np.arange(n) >= cut
    columns = {name: np.where(after, getattr(other, name), getattr(trace, name)) for name in ("op", "offset", "size")}
    times = np.where(after, trace.time_us[cut - 1] + 5 * (np.arange(n) - cut + 1), trace.time_us)
    assert trace.user is not None
    user = Coded(np.where(after, len(trace.user.names), trace.user.codes).astype(np.int32), (*trace.user.names, "new"))
    volume = Coded(
        np.where(after, len(trace.volume.names), trace.volume.codes).astype(np.int32),
        (*trace.volume.names, "a new one"),
    )
    return replace(trace, time_us=times, user=user, volume=volume, **columns)


def ingested_part(trace: Trace, cut: int, folder: Path) -> Trace:
    """The first rows of a trace, as ingest cuts them out of the whole file; the provenance is the trace's own."""
    folder.mkdir()
    write_trace(trace, folder / "whole.parquet")
    files = TraceFiles([folder / "whole.parquet"], trace_id=trace.meta.trace_id)
    ingest(files, folder / "part.parquet", (0.0, cut / len(trace)))
    return replace(read_trace(folder / "part.parquet"), meta=trace.meta)


def labelled_parts(traces: dict[str, Trace], folder: Path) -> list[Prepared]:
    """Traces with their labels, as training reads them."""
    parts = []
    for key, trace in traces.items():
        write_episode_labels(trace, LABEL, FLASH, folder / key)
        parts.append(Prepared(key, trace, read_episode_labels(folder / key)))
    return parts


def fit_and_judge(
    parts: list[Prepared],
    validation: list[Prepared],
    fitting: fit.Settings = FIT,
    judging: judge.Settings = JUDGE,
    variant: Variant = FULL,
) -> MadeForests:
    """An admission model of the parts, judged as the stages judge it."""
    fitted, forest = fit.fit_prepared("database", parts, fitting, {}, variant)
    scorer = forest_scorer(forest.text)
    verdict = judge.judge(fitted, scorer, validation or parts, bool(validation), judging)
    trained = TrainedModel.of(fitted, verdict, {}, trace_uses([], validation))
    return MadeForests(fitted, {MODEL_FILE: forest}, trained)


def _reads(offset: np.ndarray, name: str) -> Trace:
    n = len(offset)
    return Trace(
        time_us=np.arange(1, n + 1) * 2000,
        op=np.zeros(n, np.uint8),
        offset=offset.astype(np.int64),
        size=np.full(n, 4096),
        volume=Coded((np.arange(n) % 3).astype(np.int32), ("vda", "vdb", "vdc")),
        meta=TraceMeta(name, "database", "test", "0" * 64, "CC0"),
    )


def partial_scans(n: int, seed: int, name: str = "scans") -> Trace:
    """Blocks of three volumes scanned again and again, most of a block at a time and a segment a read."""
    rng = np.random.default_rng(seed)
    visits = -(-n // 180)
    blocks = np.minimum(rng.zipf(1.5, (visits, 1, 3)), 60)
    offset = (blocks * 64 + np.arange(60)[None, :, None]) * 4096
    return _reads(offset.reshape(-1)[:n], name)


def lone_segments(n: int, seed: int, name: str = "lone") -> Trace:
    """One segment of each block is read, some blocks' more often than others'."""
    block = np.minimum(np.random.default_rng(seed).zipf(1.2, n), 2000)
    return _reads((block * 64 + block % 64) * 4096, name)


def read_twice(n: int, name: str = "twice") -> Trace:
    """One segment of each block is read, and once more 80 reads later: the second miss comes too late to admit."""
    place = np.concatenate([2 * np.arange(n // 2), 2 * np.arange(n // 2) + 81])
    block = np.tile(np.arange(n // 2), 2)[np.argsort(place)]
    return replace(_reads(block * 64 * 4096, name), volume=Coded(np.zeros(2 * (n // 2), np.int32), ("vda",)))


@st.composite
def small_requests(draw: st.DrawFn, most: int = 60) -> tuple[list[int], list[int], list[int], list[int]]:
    """volume, op, offset, size lists over few blocks of 4 segments of 16 bytes, some crossing blocks."""
    n = draw(st.integers(1, most))
    ints = lambda low, high: draw(st.lists(st.integers(low, high), min_size=n, max_size=n))  # noqa: E731
    return ints(0, 1), ints(0, 1), ints(0, 400), ints(1, 130)
