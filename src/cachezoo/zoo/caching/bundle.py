"""Kind `caching`: an LSTM that decides between bypass and a queue, with the cache it runs."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.serving import lstm
from cachezoo.serving.kind import BLOCK, LSTM_PRECISIONS, Kind, Recomputed, Session, State
from cachezoo.serving.lstm import Lstm, lstm_cost, sigmoid, softmax
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.caching import synthetic
from cachezoo.zoo.caching.serve import OUTPUTS, CachingServing, session_infer
from cachezoo.zoo.caching.synthetic import steady_rows

KEYS = ("features", "policy", "calibration", "geometry", "encodings")
QUEUES = ("bypass", "soon", "mean", "late")
SIZES = {
    **lstm.SIZES,
    "golden.context.capacity_pages": (1, 1 << 22),
    "policy.demote_capacities": (1, 1 << 20),
    "policy.protected_percent": (0, 100),
    "policy.sequence": (1, 1 << 31),
    "policy.memory.memory_accesses": (1, 1 << 40),
    "policy.memory.window_accesses": (1, 1 << 40),
    "policy.memory.region_bytes": (4096, 1 << 62),
    "policy.memory.region_bits": (1, 24),
}
GOLDEN_SHARES = (0.1, 0.02)
WEIGHTS = "weights.safetensors"
FLOAT_BYTES = 4
REGION_BYTES = 8 + 8  # last access and heat
WINDOW_BYTES = 8  # the page of an access of the recent window
# Last access, uses, gap before, last operation, two heats, newest access; queue, four links, top, dirty, clock; key.
PAGE_BYTES = (4 * 8 + 2 * 8 + 8) + (7 * 4 + 8) + 8


def _serve(manifest: Mapping[str, Any], session: Session) -> CachingServing:
    arch = manifest["arch"]
    infer = session_infer(session.run, int(arch["layers"]), int(arch["units"]))
    return CachingServing(**{key: manifest[key] for key in KEYS}, infer=infer)


def _contexts(manifest: Mapping[str, Any], batch: RequestBatch) -> list[dict[str, Any]]:
    """Caches of a share of the golden rows' pages: as in training, or so small that few rows fill them."""
    pages = batch.pages().n_pages
    return [{"capacity_pages": max(1, int(share * pages))} for share in GOLDEN_SHARES]


def _recompute(serving: CachingServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    pages = batch.pages()
    cache = serving.cache(int(context["capacity_pages"]))
    served = serving.run(batch, pages, [cache], keep=True)
    queue = served.decisions[0]
    hits = np.add.reduceat(served.hits(0).astype(np.int32), pages.request_start[:-1])
    pages_each = np.diff(pages.request_start)
    decisions = np.stack([queue, hits, served.replaced[0], served.dirty_evicted[0]], axis=1).astype(np.int32)
    branches = {name: int((queue == code).sum()) for code, name in enumerate(QUEUES)}
    branches |= {
        "admitted": int((queue > 0).sum()),
        "hit": int((hits == pages_each).sum()),
        "partial_hit": int(((hits > 0) & (hits < pages_each)).sum()),
        "replaced": int(served.replaced[0].sum()),
        "dirty_evicted": int(served.dirty_evicted[0].sum()),
    }
    steady = steady_rows(served.outputs[0], queue, cache)
    return Recomputed(served.features[0], served.outputs[0], decisions, branches, steady)


class WeightsSession:
    """The model's step on numpy."""

    def __init__(self, manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> None:
        """Read the weights; see `Lstm`."""
        try:
            self._lstm = Lstm(manifest, files[WEIGHTS], {"cached": 1, "duration": len(OUTPUTS) - 1})
        except ValueError as error:
            raise ValueError(f"{WEIGHTS}: {error}") from error

    def run(self, outputs: list[str] | None, inputs: Mapping[str, Any]) -> list[Any]:
        """`cached`, `duration`, `h_out`, `c_out` of `features`, `h`, `c`."""
        h, c = self._lstm.step(inputs["features"], inputs["h"], inputs["c"])
        cached, duration = (self._lstm.head(name, h[-1]) for name in ("cached", "duration"))
        return [sigmoid(cached), softmax(duration), h, c]


def _check(manifest: Mapping[str, Any]) -> None:
    """Ends of ranges are in order, and what belongs together is there.

    Raises:
        ConfigError: they are not.
    """
    policy = manifest["policy"]
    pairs = {f"ranges.{name}": pair for name, pair in policy.get("ranges", {}).items()}
    if "capacity_ratio_log2" in policy:
        pairs["capacity_ratio_log2"] = policy["capacity_ratio_log2"]
    for name, (low, high) in pairs.items():
        if low > high:
            raise ConfigError(f"policy.{name} is {low} to {high}, whose ends are in the wrong order")
    if policy["memory"]["window_accesses"] > policy["memory"]["memory_accesses"]:
        raise ConfigError("policy.memory: window_accesses are more than memory_accesses")


def _state(manifest: Mapping[str, Any]) -> State:
    """The network's state, the table of regions and the recent window; of each page its history, links and number."""
    arch, memory = manifest["arch"], manifest["policy"]["memory"]
    network = 2 * int(arch["layers"]) * int(arch["units"]) * FLOAT_BYTES
    regions = (1 << int(memory["region_bits"])) * REGION_BYTES
    return State(network + regions + int(memory["window_accesses"]) * WINDOW_BYTES, PAGE_BYTES, "page")


KIND = Kind(
    outputs=lambda manifest: OUTPUTS,
    sizes=SIZES,
    decisions=("queue", "page_hits", "replaced_pages", "dirty_evicted_pages"),
    wanted=("bypass", "admitted", "hit", "replaced"),
    serve=_serve,
    recompute=_recompute,
    contexts=_contexts,
    open_weights=WeightsSession,
    cost=lambda manifest, files: lstm_cost(files[WEIGHTS]),
    check=_check,
    profile=lambda manifest: BLOCK,
    conformance=LSTM_PRECISIONS,
    state=_state,
    synthetic=synthetic.sets,
    synthetic_wanted=synthetic.wanted,
    synthetic_decisions=synthetic.decisions,
    recompute_synthetic=synthetic.recompute,
)
