"""RC-RNN's caching model at work: the LSTM steps on every request, the three-queue manager acts on misses.

One code serves evaluation, calibration on validation and a bundle's runtime; it needs numpy alone (numba makes it
fast where it is installed). Several caches run in lockstep as lanes: capacities, thresholds, or both.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.errors import ConfigError
from cachezoo.features.sequence import FEEDBACK_WIDTH, Memory, check_formulas, open_inputs, raw_columns
from cachezoo.kernels import manager

I64 = npt.NDArray[np.int64]
I32 = npt.NDArray[np.int32]
U8 = npt.NDArray[np.uint8]
F32 = npt.NDArray[np.float32]
OUTPUTS = ("cached", "soon", "mean", "late")

Infer = Callable[[F32, Any], tuple[F32, Any]]
"""One step: inputs float32[L, F] and the state after the step before (None: zeros) to outputs float32[L, 4]
(probabilities of cached, soon, mean, late) and the new state."""


@dataclass(frozen=True)
class Served:
    """What happened, lane by lane.

    Attributes:
        outcome: uint8[L, m], 0 bypassed, 1 admitted, 2 hit, as `cachezoo.kernels.classic` codes it.
        decisions: int32[L, n], the queue decided on (0 bypass, 1 soon, 2 mean, 3 late), -1 where nothing was missing.
        outputs: float32[L, n, 4], columns `OUTPUTS`; empty unless asked for.
        features: float32[L, n, F] model inputs; empty unless asked for.
        replaced: int32[L, n] pages driven out by each request.
        dirty_evicted: int32[L, n] those of them that had to be written to the disk.
        totals: per lane, counts over the whole trace.
    """

    outcome: U8
    decisions: I32
    outputs: F32
    features: F32
    replaced: I32
    dirty_evicted: I32
    totals: list[dict[str, int]]

    def hits(self, lane: int) -> U8:
        """uint8[m], 1 for a page hit."""
        hits: U8 = (self.outcome[lane] == manager.HIT).astype(np.uint8)
        return hits

    @property
    def consulted(self) -> npt.NDArray[np.bool_]:
        """bool[L, n]: something was missing, so the decision was read."""
        read: npt.NDArray[np.bool_] = self.decisions >= 0
        return read


class _Caches:
    """The lanes' caches and what they record."""

    def __init__(self, limits: I64, n_pages: int, n: int, m: int) -> None:
        lanes = len(limits)
        self.limits = limits
        self.nodes = np.zeros((lanes, manager.NODE_FIELDS, n_pages + manager.SENTINELS), np.int32)
        self.stamps = np.zeros((lanes, n_pages), np.int64)
        self.counters = np.zeros((lanes, manager.N_COUNTERS), np.int64)
        for lane in range(lanes):
            manager.reset(self.nodes[lane], self.stamps[lane], self.counters[lane])
        self.outcome = np.zeros((lanes, m), np.uint8)
        self.tags = np.zeros((lanes, FEEDBACK_WIDTH), np.float32)
        self.decisions = np.zeros((n, lanes), np.int32)
        self.evictions = np.zeros((n, lanes, 2), np.int64)

    def serve(self, row: int, first: int, pages: I32, write: int) -> None:
        """Serve a request by the decisions in row `row`."""
        manager.serve_lanes(
            self.nodes, self.stamps, self.counters, self.limits, pages, write, self.decisions[row], self.outcome,
            first, self.tags,
        )  # fmt: skip
        self.evictions[row] = self.counters[:, manager.EVICTED : manager.DIRTY_EVICTED + 1]

    def served(self, outputs: F32, features: F32) -> Served:
        """Close the books."""
        evictions = np.diff(self.evictions, axis=0, prepend=0).astype(np.int32)
        names = {
            "page_accesses": manager.ACCESSES, "hits": manager.HITS, "admitted": manager.ADMITTED,
            "write_hits": manager.WRITE_HITS, "replacements": manager.EVICTED,
            "dirty_evictions": manager.DIRTY_EVICTED, "bypassed": manager.BYPASSED,
        }  # fmt: skip
        totals = [{name: int(row[place]) for name, place in names.items()} for row in self.counters]
        for row in totals:
            row["ssd_writes"] = row["admitted"] + row["write_hits"]
        return Served(
            self.outcome, np.ascontiguousarray(self.decisions.T), outputs, features, evictions[:, :, 0].T,
            evictions[:, :, 1].T, totals,
        )  # fmt: skip


def manager_limits(policy: Mapping[str, Any], capacities: Sequence[int]) -> I64:
    """Limits of each lane's cache, int64[L, 4], from a bundle's policy (see `kernels.manager.serve_request`).

    Raises:
        ConfigError: no capacity, or one below 1.
    """
    if min(capacities, default=0) < 1:
        message = f"capacities {list(capacities)}: a cache has at least one page"
        raise ConfigError(message)
    demote, percent, fill = policy["demote_capacities"], policy["protected_percent"], int(policy["fill_free"])
    return np.array([[c, demote * c, percent, fill] for c in capacities], np.int64)


def serve_decisions(
    op: U8, request_start: I64, page_ids: I32, queues: I32, capacity: int, policy: Mapping[str, Any]
) -> Served:
    """Run one cache on decisions made elsewhere, such as an oracle's tags.

    Args:
        op: uint8[n], 0 read, 1 write.
        request_start: int64[n + 1] bounds of each request's page accesses.
        page_ids: int32[m] dense page ids.
        queues: int32[n], the queue for what each request misses; 0 bypasses.
        capacity: pages.
        policy: as in a bundle's manifest.
    """
    caches = _Caches(manager_limits(policy, [capacity]), int(page_ids.max()) + 1, len(op), len(page_ids))
    caches.decisions[:, 0] = queues
    for row in range(len(op)):
        low, high = int(request_start[row]), int(request_start[row + 1])
        caches.serve(row, low, page_ids[low:high], int(op[row]))
    empty = np.zeros((1, 0, 0), np.float32)
    return caches.served(empty, empty)


class CachingServing:
    """A caching model as a cache would run it. Built from plain dicts, as train.json and a manifest hold them."""

    def __init__(
        self,
        features: Sequence[Mapping[str, Any]],
        policy: Mapping[str, Any],
        calibration: Mapping[str, Any],
        geometry: Mapping[str, int],
        infer: Infer,
        encodings: Mapping[str, Any] | None = None,
    ) -> None:
        """Take a model.

        Args:
            features: inputs in order, with their normalisation; the four fed-back tags come last.
            policy: `state`, `sequence`, `memory`, and the manager's settings.
            calibration: `threshold`.
            geometry: `page_bytes`.
            infer: one step of the network.
            encodings: none are used.

        Raises:
            ConfigError: inputs in another order, or another page size, than this release serves.
        """
        formulas = [str(entry["formula"]) for entry in features]
        expected = [f"feedback.{name}" for name in OUTPUTS]
        if formulas[-FEEDBACK_WIDTH:] != expected or any("feedback." in f for f in formulas[:-FEEDBACK_WIDTH]):
            message = f"features end with {formulas[-FEEDBACK_WIDTH:]}, not {expected}; use a newer release"
            raise ConfigError(message)
        if geometry["page_bytes"] != 4096:
            message = f"page_bytes {geometry['page_bytes']}: this release serves pages of 4096 bytes"
            raise ConfigError(message)
        check_formulas(features)
        self.feature_entries = list(features)
        self.policy = policy
        self.memory = Memory.of(policy["memory"])
        self.threshold = float(calibration["threshold"])
        self.reset_every = int(policy["sequence"]) if policy["state"] == "reset100" else 0
        self.infer = infer

    def inputs(
        self, time_us: I64, op: U8, offset: I64, size: I64, request_start: I64, page_ids: I32,
        capacities: Sequence[int],
    ) -> F32:  # fmt: skip
        """Model inputs float32[n, L, F], the fed-back tags still zero."""
        distinct = sorted(set(capacities))
        columns = raw_columns(time_us, op, offset, size, request_start, page_ids, distinct, self.memory)
        rows = np.zeros((len(time_us), len(capacities), len(self.feature_entries)), np.float32)
        for place, capacity in enumerate(distinct):
            values = open_inputs(columns, place, self.feature_entries, self.memory.clip)
            for lane in (k for k, c in enumerate(capacities) if c == capacity):
                rows[:, lane, :-FEEDBACK_WIDTH] = values
        return rows

    def run(
        self, time_us: I64, op: U8, offset: I64, size: I64, request_start: I64, page_ids: I32,
        capacities: Sequence[int], thresholds: Sequence[float] | None = None, keep: bool = False,
        advance: Callable[[int], None] | None = None,
    ) -> Served:  # fmt: skip
        """Serve a trace from an empty cache and a zero state.

        Args:
            time_us: int64[n], as in the canonical table.
            op: uint8[n], as there.
            offset: int64[n], as there.
            size: int64[n], as there.
            request_start: int64[n + 1] bounds of each request's page accesses.
            page_ids: int32[m] dense page ids.
            capacities: pages, one a lane.
            thresholds: one a lane; None takes the model's own in all.
            keep: record inputs and outputs (for golden files).
            advance: told the requests done, now and then.

        Raises:
            ConfigError: a capacity below 1, or thresholds that do not match the lanes.
        """
        lanes, n = len(capacities), len(time_us)
        chosen = [self.threshold] * lanes if thresholds is None else list(thresholds)
        if len(chosen) != lanes:
            message = f"{len(chosen)} thresholds for {lanes} lanes; give one each"
            raise ConfigError(message)
        limits = manager_limits(self.policy, capacities)
        cut = np.array(chosen, np.float32)
        rows = self.inputs(time_us, op, offset, size, request_start, page_ids, capacities)
        caches = _Caches(limits, int(page_ids.max()) + 1, n, len(page_ids))
        outputs = np.zeros((n if keep else 0, lanes, len(OUTPUTS)), np.float32)
        state: Any = None
        for row in range(n):
            if self.reset_every and row % self.reset_every == 0:
                state = None
            step = rows[row]
            step[:, -FEEDBACK_WIDTH:] = caches.tags
            out, state = self.infer(step, state)
            if keep:
                outputs[row] = out
            manager.decide_lanes(out, cut, caches.decisions[row])
            low, high = int(request_start[row]), int(request_start[row + 1])
            caches.serve(row, low, page_ids[low:high], int(op[row]))
            if advance is not None and row % 1000 == 0:
                advance(row)
        features = rows if keep else rows[:0]
        return caches.served(outputs.transpose(1, 0, 2), features.transpose(1, 0, 2))


def onnx_infer(run: Callable[[list[str], dict[str, Any]], list[Any]], layers: int, units: int) -> Infer:
    """One step through an ONNX session's `run`, as `cachezoo.models.onnx_lstm.export_step` names its tensors."""

    def infer(rows: F32, state: Any) -> tuple[F32, Any]:  # noqa: ANN401 - the state is the session's own
        h, c = state or (np.zeros((layers, len(rows), units), np.float32),) * 2
        feeds = {"features": np.ascontiguousarray(rows), "h": h, "c": c}
        cached, duration, h, c = run(["cached", "duration", "h_out", "c_out"], feeds)
        return np.concatenate([cached, duration], axis=1), (h, c)

    return infer
