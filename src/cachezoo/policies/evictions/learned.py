"""Evictions that learn as they go: LightGBM forests trained between two requests on what was seen so far."""

import numpy as np

from cachezoo.arrays import F32, F64, I64, MOST_NUMBERED
from cachezoo.errors import ConfigError
from cachezoo.kernels.evict import lrb, threelcache
from cachezoo.kernels.learning import TRAINED, TRAININGS, TREES, WRITTEN, Learner, Nodes, Training
from cachezoo.policies.components import Eviction, Parameter, Values, Whole
from cachezoo.policies.stream import Stream

LEARN_EVERY = 16_384
FIRST_ROWS = 8  # the first training comes at this fraction of the ring's rows
DEPTH = 6
BINS = 63
REVIEW = 4  # capacities of accesses


def plant(forest: Nodes, text: str) -> int:
    """Write a LightGBM model into a forest.

    Args:
        forest: changed in place, see `cachezoo.kernels.learning`.
        text: of a regression without missing values or categories, of no more trees and leaves than there is room for.

    Returns:
        Its trees.
    """
    blocks = text.split("\nend of trees")[0].split("\nTree=")[1:]
    for tree, block in enumerate(blocks):
        fields = dict(line.split("=", 1) for line in block.splitlines() if "=" in line)
        _plant(forest[tree], tree * forest.shape[1], fields)
    return len(blocks)


def _plant(tree: Nodes, start: int, fields: dict[str, str]) -> None:
    """One tree, whose places count from `start` on: its depth, its splits as LightGBM numbers them, its leaves."""
    splits = int(fields["num_leaves"]) - 1
    values = np.array(fields["leaf_value"].split(), np.float64)
    leaves = np.arange(1 + splits, 1 + splits + len(values))
    tree["value"][leaves] = values
    tree["feature"][leaves] = 0
    tree["threshold"][leaves] = np.inf
    tree["low"][leaves] = tree["high"][leaves] = start + leaves
    tree["value"][0] = 0
    if splits == 0:
        return
    nodes = slice(1, 1 + splits)
    kids = np.array([fields["left_child"].split(), fields["right_child"].split()], np.int64)
    tree["feature"][nodes] = np.array(fields["split_feature"].split(), np.uint32)
    tree["threshold"][nodes] = _below(np.array(fields["threshold"].split(), np.float64))
    tree["low"][nodes], tree["high"][nodes] = start + 1 + np.where(kids >= 0, kids, splits + ~kids)
    tree["value"][0] = _depth(kids)


def _below(threshold: F64) -> F32:
    """The largest float32 at most the threshold: the same float32 features are at most it."""
    near = threshold.astype(np.float32)
    return np.where(near > threshold, np.nextafter(near, np.float32(-np.inf)), near)


def _depth(kids: I64) -> int:
    """Steps from split 0 to the deepest leaf; `kids` int64[2, splits], leaves below 0."""
    level, depth = np.zeros(1, np.int64), 0
    while len(level):
        level = kids[:, level].ravel()
        level, depth = level[level >= 0], depth + 1
    return depth


def fit(rows: F32, labels: F32, trees: int, leaves: int, learning_rate: float, threads: int, seed: int) -> str:
    """A LightGBM model's text, the same for the same rows.

    Args:
        rows: float32[n, features].
        labels: float32[n].
        trees: of the forest.
        leaves: of a tree, at most.
        learning_rate: share of the rest that each tree takes.
        threads: of the training; the model is the same with any.
        seed: of the training.
    """
    import lightgbm as lgb

    parameters = {
        "objective": "regression",
        "num_leaves": leaves,
        "max_depth": DEPTH,
        "learning_rate": learning_rate,
        "max_bin": BINS,
        "use_missing": False,
        "deterministic": True,
        "force_row_wise": True,
        "num_threads": threads,
        "seed": seed,
        "verbosity": -1,
    }
    text: str = lgb.train(parameters, lgb.Dataset(rows, labels, params=parameters), trees).model_to_string()
    return text


def _train(learner: Learner) -> None:
    """A new forest from the rows of the ring."""
    numbers, own = learner.numbers, learner.training
    rows = learner.rows[: int(numbers[WRITTEN])]
    inputs, labels = np.ascontiguousarray(rows[:, :-1]), rows[:, -1].copy()
    text = fit(inputs, labels, own.trees, own.leaves, own.learning_rate, own.threads, own.seed)
    numbers[TREES] = plant(learner.forest, text)
    numbers[TRAINED] = numbers[WRITTEN]
    numbers[TRAININGS] += 1


def _ready(learner: Learner, length: int, served: int) -> bool:
    """Are there enough new rows: as many as at the last training, from an eighth of the ring to all of it?"""
    written, trained, rows = int(learner.numbers[WRITTEN]), int(learner.numbers[TRAINED]), len(learner.rows)
    return served < length and written - trained >= min(rows, max(trained, rows // FIRST_ROWS, 1))


def learn_lrb(state: lrb.State, served: int) -> None:
    """Train anew if there are enough new rows; not before the first page left the window: till then all are near."""
    if state.learner.numbers[lrb.CURSOR] > 0 and _ready(state.learner, len(state.page_ids), served):
        _train(state.learner)
        state.board[:, lrb.UNTIL] = 0


def learn_threelcache(state: threelcache.State, served: int) -> None:
    """Review the window; train anew if there are enough new rows."""
    numbers = state.learner.numbers
    _review(numbers, state.capacity)
    if numbers[threelcache.GONE_OUT] > 0 and _ready(state.learner, state.length, served):
        _train(state.learner)
        numbers[[threelcache.HEAP, threelcache.LEFT]] = 0
        numbers[threelcache.FAR] = numbers[threelcache.FARTHEST]


def _review(numbers: I64, capacity: int) -> None:
    """One cache's length more of evicted pages is remembered while that holds more than 1 % of the cache's hits."""
    accesses, hits, near = (int(numbers[k]) for k in (threelcache.ACCESSES, threelcache.HITS, threelcache.NEAR_HITS))
    queued = int(numbers[threelcache.WINDOW]) - 1
    full = numbers[threelcache.GONE_OUT] > 0
    if full and accesses < REVIEW * capacity:
        return
    if full and near > 0.01 * hits * queued and near * queued < accesses - hits:
        numbers[threelcache.WINDOW] = min(threelcache.WINDOWS, queued + 2)
    numbers[[threelcache.ACCESSES, threelcache.HITS, threelcache.NEAR_HITS]] = 0


def _training(values: Values) -> Training:
    rows, trees, leaves, threads, seed = (int(values[name]) for name in ("rows", "trees", "leaves", "threads", "seed"))
    return Training(rows, trees, leaves, threads, seed, float(values["learning_rate"]))


def threelcache_settings(values: Values) -> threelcache.Settings:
    """3L-Cache's settings by the values of its parameters."""
    return threelcache.Settings(int(values["sample_every"]), int(values["deltas"]), _training(values))


def lrb_settings(values: Values, capacity: int) -> lrb.Settings:
    """LRB's settings by the values of its parameters, for a cache of so many pages."""
    return lrb.Settings(
        window=max(1, round(values["window"] * capacity)), candidates=int(values["candidates"]),
        sample_every=int(values["sample_every"]), patience=float(values["patience"]), deltas=int(values["deltas"]),
        counters=int(values["counters"]), training=_training(values),
    )  # fmt: skip


def _countable(stream: Stream) -> int:
    """Its accesses, by whose numbers pages are remembered.

    Raises:
        ConfigError: more than can be counted.
    """
    if len(stream) > MOST_NUMBERED:
        message = f"{len(stream)} page accesses, more than the {MOST_NUMBERED} that a policy that learns counts"
        raise ConfigError(f"{message}; cut or sample the trace")
    return len(stream)


def _make_threelcache(stream: Stream, capacity: int, values: Values) -> threelcache.State:
    return threelcache.make(_countable(stream), stream.n_pages, capacity, threelcache_settings(values))


def _make_lrb(stream: Stream, capacity: int, values: Values) -> lrb.State:
    _countable(stream)
    return lrb.make(stream.page_ids, stream.n_pages, capacity, lrb_settings(values, capacity))


FORESTS = (
    Whole("rows", 16_384, 16, 2**20, "latest training rows kept, and new ones for each training"),
    Whole("trees", 16, 1, 256, "trees of the forest"),
    Whole("leaves", 32, 2, 256, "leaves of a tree"),
    Whole("threads", 1, 1, 64, "threads of the training"),
    Whole("seed", 1, 0, 2**20, "of the draws and the training"),
    Parameter("learning_rate", 0.2, 1e-6, 1, "share of the rest that each tree takes"),
)
LRB = Eviction(
    "lrb", "learned relaxed Belady (NSDI 2020), LRB-like", _make_lrb, lrb.has, lrb.touch, lrb.insert,
    (
        Parameter("window", 8, 0.01, 2**20, "greatest memory window in accesses, over the capacity"),
        Whole("candidates", 64, 1, 4096, "residents drawn for each eviction"),
        Parameter("patience", 0.25, 0, 1, "share of the predicted time for which a prediction stands"),
        Whole("sample_every", 8, 1, 2**20, "accesses for each page that is marked to become a row"),
        Whole("deltas", 8, 0, 32, "intervals between latest accesses that are features"),
        Whole("counters", 5, 0, 10, "decayed counters that are features"),
        *FORESTS,
    ),
    learn_lrb, LEARN_EVERY,
)  # fmt: skip
THREELCACHE = Eviction(
    "threelcache", "batches from both ends of the cache, predicted (FAST 2025), 3L-Cache-like", _make_threelcache,
    threelcache.has, threelcache.touch, threelcache.insert,
    (
        Whole("sample_every", 4, 1, 2**20, "accesses for each page that is marked to become a row"),
        Whole("deltas", 3, 0, 32, "intervals between latest accesses that are features"),
        *FORESTS,
    ),
    learn_threelcache, LEARN_EVERY,
)  # fmt: skip
EVICTIONS = (LRB, THREELCACHE)
