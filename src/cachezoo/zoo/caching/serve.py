"""RC-RNN's caching model at work: the LSTM steps on every request, the three-queue manager acts on its outputs.

One code serves evaluation, calibration on validation and a bundle's runtime; it needs numpy alone (numba makes it
fast where it is installed). Several caches run as lanes: capacities, thresholds, rules. A model that is fed its own
tags steps in lockstep with them; one that is not has the same outputs whatever its cache holds, so they come first.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from cachezoo.arrays import F32, I32, I64, U8
from cachezoo.errors import ConfigError
from cachezoo.features.sequence import FEEDBACK_WIDTH, Columns, Memory, check_formulas, open_inputs, raw_columns
from cachezoo.kernels import manager, sequence
from cachezoo.kernels.manager_limits import ByCapacity, Cache, lane_rules, manager_limits
from cachezoo.kernels.outcome import HIT
from cachezoo.serving.ranges import choice, flag
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.pages import PageAccesses

OUTPUTS = ("cached", "soon", "mean", "late")
STATES = ("carried", "reset100")
NOTHING = np.zeros((1, 0, 0), np.float32)

Infer = Callable[[F32, Any], tuple[F32, Any]]
"""One step: inputs float32[L, F] and the state after the step before (None: zeros) to outputs float32[L, 4]
(probabilities of cached, soon, mean, late) and the new state."""
Advance = Callable[[int], None]
InferAll = Callable[[F32, Advance | None], F32]
"""A run from a zero state: inputs float32[n, L, F] to outputs float32[n, L, 4]; told the requests done, if asked."""


@dataclass(frozen=True)
class Served:
    """What happened, lane by lane."""

    outcome: U8  # uint8[L, m], 0 bypassed, 1 admitted, 2 hit, as `cachezoo.kernels.outcome` codes it
    # Int32[L, n], the queue decided on (0 bypass, 1 soon, 2 mean, 3 late), -1 where it was not asked for.
    decisions: I32
    outputs: F32  # float32[L, n, 4], columns `OUTPUTS`; empty unless asked for
    features: F32  # float32[L, n, F] model inputs; empty unless asked for
    replaced: I32  # int32[L, n] pages evicted by each request
    dirty_evicted: I32  # int32[L, n] those of them that had to be written to the disk
    totals: list[dict[str, int]]  # per lane, counts over the whole trace
    thresholds: F32  # float32[L, n] what `cached` was held against; empty unless asked for

    def hits(self, lane: int) -> U8:
        """uint8[m], 1 for a page hit."""
        hits: U8 = (self.outcome[lane] == HIT).astype(np.uint8)
        return hits

    @property
    def consulted(self) -> npt.NDArray[np.bool_]:
        """bool[L, n]: the decision was read, because something was missing or hits ask too."""
        read: npt.NDArray[np.bool_] = self.decisions >= 0
        return read


class _Caches:
    """The lanes' caches and what they record."""

    def __init__(self, limits: I64, pages: PageAccesses) -> None:
        lanes, n, n_pages = len(limits), pages.n_requests, int(pages.page_ids.max()) + 1
        self.lanes = manager.make(n_pages, limits)
        self.outcome = np.zeros((lanes, len(pages.page_ids)), np.uint8)
        self.tags = np.zeros((lanes, FEEDBACK_WIDTH), np.float32)
        self.decisions = np.zeros((n, lanes), np.int32)
        self.evictions = np.zeros((n, lanes, 2), np.int64)

    def serve(self, row: int, first: int, pages: I32, write: int) -> None:
        """Serve a request by the decisions in row `row`."""
        manager.serve_lanes(self.lanes, pages, write, self.decisions[row], self.outcome, first, self.tags)
        self.evictions[row] = self.lanes.counters[:, manager.EVICTIONS : manager.DIRTY_EVICTIONS + 1]

    def serve_all(self, op: U8, pages: PageAccesses) -> None:
        """Serve every request by the decisions."""
        manager.serve_all(
            self.lanes, pages.request_start, pages.page_ids, op, self.decisions, self.outcome, self.evictions
        )

    def served(self, outputs: F32, features: F32) -> Served:
        """Close the books."""
        evictions = np.diff(self.evictions, axis=0, prepend=0).astype(np.int32)
        names = {
            "page_accesses": manager.ACCESSES, "hits": manager.HITS, "admitted": manager.ADMISSIONS,
            "write_hits": manager.WRITE_HITS, "replacements": manager.EVICTIONS,
            "dirty_evictions": manager.DIRTY_EVICTIONS, "bypassed": manager.BYPASSES,
        }  # fmt: skip
        totals = [{name: int(row[place]) for name, place in names.items()} for row in self.lanes.counters]
        for row in totals:
            row["ssd_writes"] = row["admitted"] + row["write_hits"]
        return Served(
            self.outcome, np.ascontiguousarray(self.decisions.T), outputs, features, evictions[:, :, 0].T,
            evictions[:, :, 1].T, totals, NOTHING[0],
        )  # fmt: skip


def serve_decisions(op: U8, pages: PageAccesses, queues: I32, cache: Cache, policy: Mapping[str, Any]) -> Served:
    """Run one cache on decisions made elsewhere, such as an oracle's tags.

    Args:
        op: uint8[n], 0 read, 1 write.
        pages: the requests' page accesses.
        queues: int32[n], the queue for what each request misses, 1 to 3; 0 bypasses.
        cache: its threshold is not read; where it has a single queue, every admitted page enters that one.
        policy: as in a bundle's manifest.

    Raises:
        ConfigError: a queue that there is not, or what `manager_limits` refuses.
    """
    if len(queues) and not 0 <= int(queues.min()) <= int(queues.max()) <= manager.QUEUES:
        message = f"queues of {queues.min()} to {queues.max()}: there are 1 to {manager.QUEUES}, and 0 for none"
        raise ConfigError(message)
    caches = _Caches(manager_limits(policy, [cache]), pages)
    admitted = np.where(queues > 0, manager.MEAN, manager.ABSENT) if cache.queues == "single" else queues
    caches.decisions[:, 0] = admitted
    caches.serve_all(op, pages)
    return caches.served(NOTHING, NOTHING)


def _checked_ranges(
    ranges: Mapping[str, Sequence[float]], features: Sequence[Mapping[str, Any]]
) -> Mapping[str, Sequence[float]]:
    names = {str(entry["name"]) for entry in features}
    for name, ends in ranges.items():
        if name not in names or len(ends) != 2 or not -np.inf < ends[0] <= ends[1] < np.inf:
            message = f"policy.ranges.{name}: {list(ends)} is not the least and greatest value of an input of the model"
            raise ConfigError(message)
    return ranges


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
        infer_all: InferAll | None = None,
    ) -> None:
        """Take a model.

        Args:
            features: inputs in order, with their normalisation; fed-back tags come last, all four or none.
            policy: `state`, `sequence`, `memory`, `on_hit`, `queues`, and the manager's settings; `ranges`, the least
                and greatest value of each input in training, where the model was trained with them.
            calibration: `threshold`; `by_capacity`, where the model has one for each of several capacities.
            geometry: `page_bytes`.
            infer: one step of the network.
            encodings: none are used.
            infer_all: the same for many steps at once; only a model without feedback can use it.

        Raises:
            ConfigError: inputs in another order, or another page size, than this release serves; or a range that is
                of no input, or is none.
        """
        formulas = [str(entry["formula"]) for entry in features]
        fed_back = [formula for formula in formulas if formula.startswith("feedback.")]
        expected = [f"feedback.{name}" for name in OUTPUTS]
        if fed_back and (fed_back != expected or formulas[-FEEDBACK_WIDTH:] != expected):
            raise ConfigError(f"features end with {formulas[-FEEDBACK_WIDTH:]}, not {expected}; use a newer release")
        if geometry["page_bytes"] != 4096:
            raise ConfigError(f"page_bytes {geometry['page_bytes']}: this release serves pages of 4096 bytes")
        check_formulas(features)
        self.feature_entries = list(features)
        self.fed_back = bool(fed_back)
        self.policy = policy
        self.memory = Memory.of(policy["memory"])
        self.ranges = _checked_ranges(policy.get("ranges", {}), features)
        self.threshold = float(calibration["threshold"])
        self.by_capacity = ByCapacity.of(calibration.get("by_capacity", ()))
        resets = choice(policy["state"], "policy.state", STATES) == "reset100"
        self.reset_every = int(policy["sequence"]) if resets else 0
        flag(policy["fill_free"], "policy.fill_free")
        self.infer = infer
        self.infer_all = infer_all
        self.cache(1)

    def cache(self, capacity: int) -> Cache:
        """The model's own cache at a capacity in pages.

        Raises:
            ConfigError: the policy names a rule that this release does not know.
        """
        on_hit, queues = str(self.policy["on_hit"]), str(self.policy["queues"])
        cache = Cache(capacity, self.threshold, on_hit, queues, self.by_capacity)
        manager_limits(self.policy, [cache])
        return cache

    def inputs(self, batch: RequestBatch, pages: PageAccesses, capacities: Sequence[int]) -> F32:
        """Model inputs float32[n, D, F] of D capacities, without fed-back tags."""
        return self.read(batch, pages, capacities)[0]

    def read(self, batch: RequestBatch, pages: PageAccesses, capacities: Sequence[int]) -> tuple[F32, F32]:
        """The inputs, and float32[n, D], log2(capacity / distinct pages of the recent window) before each request."""
        columns = raw_columns(batch, pages, capacities, self.memory)
        rows = [self._open(columns, k) for k in range(len(capacities))]
        return np.stack(rows, axis=1), np.ascontiguousarray(columns.sized[:, :, sequence.RATIO].T)

    def _open(self, columns: Columns, lane: int) -> F32:
        return open_inputs(columns, lane, self.feature_entries, self.memory.clip, self.ranges)

    def outputs(self, rows: F32, advance: Advance | None = None) -> F32:
        """Outputs float32[n, D, 4] of a model without feedback.

        `rows` are float32[n, D, F] of `inputs`; `advance` gets the requests done, now and then.
        """
        if self.infer_all is not None:
            return self.infer_all(rows, advance)
        outputs = np.empty((*rows.shape[:2], len(OUTPUTS)), np.float32)
        state: Any = None
        for row in range(len(rows)):
            state = self._state_before(row, state)
            outputs[row], state = self.infer(rows[row], state)
            if advance is not None and row % 1000 == 0:
                advance(row)
        return outputs

    def serve(
        self, op: U8, pages: PageAccesses, caches: Sequence[Cache], outputs: F32, ratio: F32, lane_of: I64
    ) -> Served:
        """Serve a trace from empty caches by outputs that are known.

        Args:
            op: uint8[n], 0 read, 1 write.
            pages: the requests' page accesses.
            caches: the lanes.
            outputs: float32[n, D, 4].
            ratio: float32[n, D], of `read`.
            lane_of: int64[L], which of the D each lane reads.
        """
        lanes = _Caches(manager_limits(self.policy, caches), pages)
        manager.decide_all(outputs, lane_of, *lane_rules(caches, ratio[:, lane_of]), lanes.decisions)
        lanes.serve_all(op, pages)
        return lanes.served(NOTHING, NOTHING)

    def run(
        self, batch: RequestBatch, pages: PageAccesses, caches: Sequence[Cache], keep: bool = False,
        advance: Advance | None = None,
    ) -> Served:  # fmt: skip
        """Serve requests from empty caches and a zero state.

        `keep` records inputs and outputs; `advance` gets the requests done, now and then.

        Raises:
            ConfigError: no cache, or one that `manager_limits` refuses.
        """
        manager_limits(self.policy, caches)
        capacities = sorted({cache.capacity for cache in caches})
        lane_of = np.array([capacities.index(cache.capacity) for cache in caches], np.int64)
        rows, ratio = self.read(batch, pages, capacities)
        if self.fed_back:
            rules = lane_rules(caches, ratio[:, lane_of])
            served, outputs, rows = self._lockstep(batch.op, pages, caches, rows[:, lane_of], rules, advance)
        else:
            outputs = self.outputs(rows, advance)
            served = self.serve(batch.op, pages, caches, outputs, ratio, lane_of)
            outputs, rows = outputs[:, lane_of], rows[:, lane_of]
        if not keep:
            return served
        thresholds = lane_rules(caches, ratio[:, lane_of])[0].T
        return replace(
            served, outputs=outputs.transpose(1, 0, 2), features=rows.transpose(1, 0, 2), thresholds=thresholds
        )

    def _state_before(self, row: int, state: Any) -> Any:  # noqa: ANN401 - the state is the network's own
        return None if self.reset_every and row % self.reset_every == 0 else state

    def _lockstep(
        self, op: U8, pages: PageAccesses, caches: Sequence[Cache], rows: F32, rules: tuple[F32, U8],
        advance: Advance | None,
    ) -> tuple[Served, F32, F32]:  # fmt: skip
        """Caches whose own tags are inputs: what happened, the outputs and the whole inputs."""
        thresholds, single = rules
        lanes = _Caches(manager_limits(self.policy, caches), pages)
        whole = np.concatenate([rows, np.zeros((*rows.shape[:2], FEEDBACK_WIDTH), np.float32)], axis=2)
        outputs = np.empty((*rows.shape[:2], len(OUTPUTS)), np.float32)
        state: Any = None
        for row in range(len(op)):
            state = self._state_before(row, state)
            whole[row, :, -FEEDBACK_WIDTH:] = lanes.tags
            outputs[row], state = self.infer(whole[row], state)
            manager.decide_lanes(outputs[row], thresholds[row], single[row], lanes.decisions[row])
            low, high = int(pages.request_start[row]), int(pages.request_start[row + 1])
            lanes.serve(row, low, pages.page_ids[low:high], int(op[row]))
            if advance is not None and row % 1000 == 0:
                advance(row)
        return lanes.served(NOTHING, NOTHING), outputs, whole


def session_infer(run: Callable[[list[str], dict[str, Any]], list[Any]], layers: int, units: int) -> Infer:
    """One step through a session's `run`; its tensors are those of `cachezoo.models.onnx_lstm`."""

    def infer(rows: F32, state: Any) -> tuple[F32, Any]:  # noqa: ANN401 - the state is the session's own
        h, c = state or (np.zeros((layers, len(rows), units), np.float32),) * 2
        feeds = {"features": np.ascontiguousarray(rows), "h": h, "c": c}
        cached, duration, h, c = run(["cached", "duration", "h_out", "c_out"], feeds)
        return np.concatenate([cached, duration], axis=1), (h, c)

    return infer
