"""A small trained model of streams, made of generated writes, for the tests of its bundle."""

from pathlib import Path

import numpy as np

from cachezoo.coded import Coded
from cachezoo.models.trained import FILE, TraceUse, TrainedModel
from cachezoo.serving.requests import RequestBatch
from cachezoo.wear.names import Kind
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, Dictionary
from cachezoo.zoo.streams.dictionary import FILE as SID
from cachezoo.zoo.streams.fit import FEATURES, GEOMETRY
from cachezoo.zoo.streams.judge import ACT, calibration_of
from cachezoo.zoo.streams.metrics import StreamsMetrics, StreamsModel, StreamsRow, StreamsTrace

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
