"""A small trained model of streams, made of generated writes, for the tests of its bundle."""

from pathlib import Path

import numpy as np

from cachezoo.coded import Coded
from cachezoo.flash_drive.names import LIFETIME, Kind
from cachezoo.flash_drive.writes import drive_writes
from cachezoo.kernels.deaths import NAMES
from cachezoo.models.trained import FILE, Feature, TraceUse, TrainedModel, read_trained
from cachezoo.serving.forest import ForestSession, read_forest
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.chunks import FLASH_PAGE_BYTES
from cachezoo.traces.table import Trace, TraceMeta
from cachezoo.zoo.streams.deaths import Lifetimes, fit_lifetimes
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, Dictionary
from cachezoo.zoo.streams.dictionary import FILE as SID
from cachezoo.zoo.streams.fit import FEATURES, GEOMETRY
from cachezoo.zoo.streams.judge import ACT, calibration_of
from cachezoo.zoo.streams.metrics import StreamsMetrics, StreamsModel, StreamsRow, StreamsTrace
from cachezoo.zoo.streams.serve import FOREST, LifetimeServing
from cachezoo.zoo.streams.serve import GEOMETRY as LIFETIME_GEOMETRY
from cachezoo.zoo.streams.serve import features as lifetime_features
from cachezoo.zoo.streams.settings import Lifetime

STREAMS, CHUNKS, PAGE = 16, 4096, 4096
LEARNED_SHARE = 0.8


def dictionary(seed: int = 1, chunks: int = CHUNKS, streams: int = STREAMS) -> Dictionary:
    """Stretches of chunks of one stream each, chunks between them that were not learned, and a few above 512 GiB.

    The last are single ones whose numbers float32 does not hold.
    """
    draws = np.random.default_rng(seed)
    stretches = np.repeat(np.arange(chunks), draws.integers(1, 60, chunks))[:chunks]
    ids = draws.integers(0, streams, chunks)[stretches]
    learned = draws.random(chunks)[stretches] < LEARNED_SHARE
    known = np.append(np.flatnonzero(learned), (1 << 24) + np.arange(1, 9, 2))
    return Dictionary.of(known, np.append(ids[learned], 1 + np.arange(4) % (streams - 1)), streams)


def requests(rows: int, seed: int = 2, chunks: int = CHUNKS) -> RequestBatch:
    """Reads and writes of pages all over a volume and a little beyond what was learned."""
    draws = np.random.default_rng(seed)
    offset = draws.integers(0, (chunks + chunks // 8) * CHUNK_BYTES // PAGE, rows) * PAGE
    size = draws.integers(1, 33, rows) * PAGE
    time_us = np.cumsum(draws.integers(0, 900, rows))
    op = (draws.random(rows) < 0.6).astype(np.uint8)
    return RequestBatch(time_us, op, offset, size, Coded.of(["sda"] * rows))


def write_model(folder: Path, own: Dictionary | None = None, category: str = "ledger") -> Path:
    """What stage judge_streams leaves of a model: `sid.bin` and `train.json`."""
    own = dictionary() if own is None else own
    trained = requests(2_000, 3)
    model = TrainedModel(
        model_id=f"streams.{category}.fios",
        kind="streams",
        category=category,
        arch={"arch": "fios", "streams": own.count},
        features=FEATURES,
        geometry=GEOMETRY,
        traces=[
            TraceUse(trace=f"{category}_{role}", role=role, sha256=digit * 64, licence="CC0-1.0")
            for role, digit in (("train", "0"), ("validation", "1"))
        ],
        inputs={},
        seeds={"fit_streams": 7},
        trained=True,
        calibration=calibration_of(own, trained.offset[trained.op == 1]),
        policy=ACT,
        validation={"waf": 1.4, "legacy_waf": 1.9},
        beats_baseline=True,
        reason="WAF 1.4 with 16 streams, 1.9 with one",
    )
    folder.mkdir(parents=True, exist_ok=True)
    (folder / SID).write_bytes(own.to_bytes())
    model.write(folder)
    assert (folder / FILE).exists()
    return folder


def metrics(model_id: str) -> StreamsMetrics:
    """metrics/streams/<category>.json of a model on one test cycle, a drive without streams beside it."""
    category = model_id.split(".")[1]

    def row(policy: str, kind: Kind, waf: float) -> StreamsRow:
        return StreamsRow(
            policy=policy, kind=kind, streams=1 if kind == "legacy" else STREAMS, parameters={}, waf=waf,
            waf_interval=(waf - 0.1, waf + 0.1), of_legacy=waf / 1.9, of_legacy_interval=(0.6, 1.0), validation_waf=waf,
            copied_pages=1000, erases=100, erases_most=9, noise=0.01, victim_waf={}, victim_of_legacy={},
            victim_of_legacy_interval={}, over_provisioning_waf={},
        )  # fmt: skip

    rows = [row("legacy", "legacy", 1.9), row("FC.100th", "fios", 1.4)]
    trace = StreamsTrace(role="test", host_pages=9_000, footprint_pages=900, over_provisioning=0.11, rows=rows)
    model = StreamsModel(
        trained=True, promoted=True, reason="WAF 1.4", validation={"waf": 1.4}, variant="FC.100th", learned="FC",
        automatic="FC.100th", sid_bytes=600,
    )  # fmt: skip
    return StreamsMetrics(category=category, reason="", traces={f"{category}_test": trace}, models={model_id: model})


FOREST_STREAMS = 8
SMALL = Lifetime(seeds=1, rows=6000, trees=12, leaves=15)


def cycle(seed: int, n: int = 9_000) -> RequestBatch:
    """Reads, and writes of a log in a place of its own, of scattered parts of pages, and of files in one go."""
    draws = np.random.default_rng(seed)
    log = (2400 + 400 * (seed % 4) + np.arange(n) % 300) * FLASH_PAGE_BYTES
    places = draws.integers(0, 2400, n) * FLASH_PAGE_BYTES
    kind = draws.choice(3, n, p=[0.6, 0.3, 0.1])
    begins = [log, places + draws.integers(0, 2, n) * PAGE, places - places % (64 * FLASH_PAGE_BYTES)]
    lengths = [np.full(n, FLASH_PAGE_BYTES), draws.integers(1, 4, n) * PAGE, draws.integers(1, 17, n) * 2 * PAGE]
    op = (draws.random(n) < 0.8).astype(np.uint8)
    times, volume = np.cumsum(draws.integers(0, 900, n)), Coded.of(["sda"] * n)
    return RequestBatch(times, op, np.choose(kind, begins), np.choose(kind, lengths), volume)


def trace_of(batch: RequestBatch) -> Trace:
    """A batch as a trace."""
    meta = TraceMeta("cycle", "ledger", "csv", "0" * 64)
    return Trace(batch.time_us, batch.op, batch.offset, batch.size, batch.volume, meta)


def lifetimes(seed: int = 11) -> Lifetimes:
    """Forests of one generated cycle."""
    found = fit_lifetimes(drive_writes([trace_of(cycle(seed))]), SMALL, 7, "ledger")
    assert found is not None
    return found


def write_forest(folder: Path, own: Lifetimes | None = None, category: str = "spool") -> Path:
    """What stage judge_streams leaves of a model that places by lifetime: `model.lgb.txt` and `train.json`."""
    own = lifetimes() if own is None else own
    arch, policy = {"arch": LIFETIME, "streams": FOREST_STREAMS}, own.policy(0, 4, 4)
    session = ForestSession([read_forest(own.forests[0].text.encode(), len(NAMES))])
    placed = LifetimeServing(arch=arch, policy=policy, session=session).place(cycle(12))
    model = read_trained(write_model(folder, category=category)).model_copy(
        update={
            "model_id": f"streams.{category}.{LIFETIME}",
            "arch": arch,
            "features": [Feature(**one) for one in lifetime_features()],
            "geometry": LIFETIME_GEOMETRY,
            "calibration": {
                "writes_by_stream": np.bincount(placed, minlength=FOREST_STREAMS).tolist(),
                "variant": LIFETIME,
            },
            "policy": policy,
        }
    )
    (folder / SID).unlink()
    (folder / FOREST).write_text(own.forests[0].text)
    model.write(folder)
    return folder
