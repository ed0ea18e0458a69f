"""LightGBM's model text as the runtime reads it: no library but numpy, and nothing in it that is not understood.

What the text may hold is what `cachezoo.models.forest` trains: numerical splits, no missing values, one output.
Anything else is refused, because LightGBM would compute something that this reader does not.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cachezoo.arrays import F32, F64, I32
from cachezoo.kernels.forest import AS_THEY_ARE, Trees, prepared, score_forest
from cachezoo.serving.kind import Cost

FIRST, VERSION, END, SILENT_END = "tree", "v4", "end of trees", "end of parameters"
HEADER = {
    *("version", "num_class", "num_tree_per_iteration", "label_index", "max_feature_idx", "objective"),
    *("feature_names", "feature_infos", "tree_sizes", "monotone_constraints"),
}
FIXED = {"version": VERSION, "num_class": "1", "num_tree_per_iteration": "1"}
BRANCHES = ("split_feature", "threshold", "decision_type", "left_child", "right_child")
NOTES = (
    *("split_gain", "leaf_weight", "leaf_count", "internal_value", "internal_weight", "internal_count"),
    "shrinkage",
)
TREE = {"Tree", "num_leaves", "num_cat", "is_linear", "leaf_value", *BRANCHES, *NOTES}
DEFAULT_LEFT = 2  # of a decision's bits: where missing values would go, of which there are none
NUMBER = r"(?![^ ]{64})[-+]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:e[-+]?[0-9]+)?"
NUMBERS = re.compile(f"{NUMBER}(?: {NUMBER})*")
WHOLE = re.compile(r"[0-9]{1,9}")
PLAIN = re.compile(rb"[\n -~]*")
Lines = dict[str, str]


class Forest:
    """A forest that scores rows; its trees are flat."""

    def __init__(self, trees: Trees, zero: float = AS_THEY_ARE) -> None:
        """Take trees that `read_forest` checked; inputs of at most the size `zero` count as 0."""
        self.trees = trees
        self._prepared = prepared(trees, zero)

    def scores(self, rows: F32) -> F64:
        """float64[n] of float32[n, F]: the sum of the leaves in the order of the trees, from 0.0 on."""
        return score_forest(self._prepared, rows)


class ForestSession:
    """Forests as a session: one column of its single output for each."""

    def __init__(self, forests: Sequence[Forest]) -> None:
        """Take the forests, in the order of the columns."""
        self.forests = forests

    def run(self, outputs: list[str] | None, inputs: Mapping[str, Any]) -> list[Any]:
        """One float64[n, forests] of `features` float32[n, F], whatever the output's name."""
        return [np.stack([forest.scores(inputs["features"]) for forest in self.forests], axis=1)]


def forests_cost(texts: Sequence[bytes], features: int) -> Cost:
    """Comparisons on the longest way down each tree, thresholds and leaves, of forests that are all evaluated."""
    comparisons = parameters = 0
    for text in texts:
        trees = read_forest(text, features).trees
        height = np.zeros(len(trees.feature) + 1, np.int64)  # the last is that of every leaf
        for branch in reversed(range(len(trees.feature))):  # children have higher numbers
            height[branch] = 1 + max(height[max(side[branch], -1)] for side in (trees.left, trees.right))
        comparisons += int(height[np.maximum(trees.roots, -1)].sum())
        parameters += len(trees.feature) + len(trees.leaf)
    return Cost(0, comparisons, parameters, sum(map(len, texts)))


def read_forest(data: bytes, features: int | None = None) -> Forest:
    """Read LightGBM's model text.

    Args:
        data: the file.
        features: inputs of the model; as many as it says where none are given.

    Raises:
        ValueError: anything in it that this reader does not know, or that is no forest of so many inputs.
    """
    if PLAIN.fullmatch(data) is None:
        raise ValueError("it holds bytes that are neither printable ASCII nor line ends")
    text = data.decode("ascii")
    first, found, rest = text.partition(f"\n{END}\n")
    head, *bodies = first.split("\n\nTree=")
    header = _header(head)
    inputs = _inputs(header, features)
    if not found or f"\n{SILENT_END}\n" not in f"\n{rest}":
        raise ValueError(f"it is cut short: no line {END!r} or {SILENT_END!r}")
    parts = [f"Tree={body}" for body in bodies]
    if not parts:
        raise ValueError("it holds no tree")
    _check_sizes(header["tree_sizes"], first, head)
    trees = [_tree(part, number, inputs) for number, part in enumerate(parts)]
    if not np.isfinite(sum(float(np.abs(tree.leaf).max()) for tree in trees)):
        raise ValueError("its leaves may sum up to what is not finite")
    return Forest(_joined(trees))


def _pairs(lines: Sequence[str], known: set[str], what: str) -> Lines:
    """`key=value` lines.

    Raises:
        ValueError: another line, an unknown key, or one twice.
    """
    found: Lines = {}
    for line in lines:
        key, equals, value = line.partition("=")
        if not equals or key not in known or key in found:
            why = "twice" if key in found else "which this reader does not know"
            raise ValueError(f"{what}: it has a line {key[:40]!r}, {why}")
        found[key] = value
    return found


def _header(head: str) -> Lines:
    lines = head.split("\n")
    if lines[0] != FIRST:
        raise ValueError(f"it begins with {lines[0][:40]!r}, not {FIRST!r}")
    header = _pairs(lines[1:], HEADER, "header")
    for key, value in FIXED.items():
        if header.get(key) != value:
            raise ValueError(f"{key} is {header.get(key, 'missing')[:40]}, not {value}")
    if "tree_sizes" not in header:
        raise ValueError("tree_sizes is missing")
    return header


def _inputs(header: Lines, features: int | None) -> int:
    """Inputs of the model, checked against those expected.

    Raises:
        ValueError: they are others, or no number.
    """
    last = header.get("max_feature_idx", "missing")
    if features is not None and last != str(features - 1):
        raise ValueError(f"max_feature_idx is {last[:40]}, not {features - 1}")
    if WHOLE.fullmatch(last) is None:
        raise ValueError(f"max_feature_idx is {last[:40]}, which is no number of an input")
    return int(last) + 1


def _check_sizes(tree_sizes: str, first: str, head: str) -> None:
    """LightGBM jumps by these sizes from tree to tree: they must be those of the text."""
    places = [match.start() for match in re.finditer(r"^Tree=", first, re.MULTILINE)]
    ends = [*places[1:], len(first) + 1]
    sizes = " ".join(str(end - place) for place, end in zip(places, ends, strict=True))
    if tree_sizes != sizes or (places and places[0] != len(head) + 2):
        raise ValueError("tree_sizes are not those of its trees")


def _numbers(tree: Lines, key: str, count: int, what: str) -> F64:
    text = tree.get(key)
    if text is None:
        raise ValueError(f"{what}: {key} is missing")
    if text and NUMBERS.fullmatch(text) is None:
        raise ValueError(f"{what}: {key} holds {text[:40]!r}, which is no list of finite numbers")
    values = np.array(text.split(" ") if text else [], np.float64)
    if len(values) != count or not np.isfinite(values).all():
        message = f"{what}: {key} holds {len(values)} numbers where there are {count}, or one that is not finite"
        raise ValueError(message)
    return values


def _whole(tree: Lines, key: str, count: int, least: int, most: int, what: str) -> I32:
    values = _numbers(tree, key, count, what)
    if ((values < least) | (values > most) | (values != np.floor(values))).any():
        raise ValueError(f"{what}: {key} holds what is no whole number from {least} to {most}")
    return values.astype(np.int32)


def _tree(text: str, number: int, features: int) -> Trees:
    """One tree, its branches and leaves numbered from 0.

    Raises:
        ValueError: it is none of the trees that this reader knows.
    """
    what = f"tree {number}"
    tree = _pairs(text.rstrip("\n").split("\n"), TREE, what)
    for key, value in (("Tree", str(number)), ("num_cat", "0"), ("is_linear", "0")):
        if tree.get(key) != value:
            raise ValueError(f"{what}: {key} is {tree.get(key, 'missing')[:40]}, not {value}")
    if WHOLE.fullmatch(tree.get("num_leaves", "")) is None or int(tree["num_leaves"]) < 1:
        raise ValueError(f"{what}: num_leaves is no number of leaves")
    leaves = int(tree["num_leaves"])
    branches = leaves - 1
    leaf = _numbers(tree, "leaf_value", leaves, what)
    split = _whole(tree, "split_feature", branches, 0, features - 1, what)
    threshold = _numbers(tree, "threshold", branches, what)
    if (_whole(tree, "decision_type", branches, 0, 255, what) & ~DEFAULT_LEFT).any():
        message = f"{what}: decision_type asks for a category or handles missing values, which this reader does not"
        raise ValueError(message)
    left, right = (_whole(tree, f"{side}_child", branches, -leaves, branches - 1, what) for side in ("left", "right"))
    _check_children(left, right, branches, leaves, what)
    return Trees(np.array([0 if branches else ~0], np.int32), split, threshold, left, right, leaf)


def _check_children(left: I32, right: I32, branches: int, leaves: int, what: str) -> None:
    """Every branch but the first, and every leaf, hangs on one branch, with a lower number: so every walk ends.

    Raises:
        ValueError: they do not.
    """
    children = np.concatenate([left, right])
    own = np.tile(np.arange(branches), 2)
    inner = children >= 0
    if (children[inner] <= own[inner]).any():
        raise ValueError(f"{what}: a branch leads back")
    reached = np.sort(children)
    all_ends = np.arange(-leaves, branches)
    if branches and not np.array_equal(reached, all_ends[all_ends != 0]):
        raise ValueError(f"{what}: a branch or leaf hangs on none, or on several")


def _joined(trees: Sequence[Trees]) -> Trees:
    """Trees in one set of arrays, renumbered."""
    branches = np.cumsum([0, *(len(tree.feature) for tree in trees)]).astype(np.int32)
    leaves = np.cumsum([0, *(len(tree.leaf) for tree in trees)]).astype(np.int32)

    def moved(side: str) -> I32:
        parts = []
        for tree, branch, leaf in zip(trees, branches, leaves, strict=False):
            own = getattr(tree, side)
            parts.append(np.where(own >= 0, own + branch, own - leaf))
        return np.concatenate(parts).astype(np.int32)

    flat = {name: np.concatenate([getattr(tree, name) for tree in trees]) for name in ("feature", "threshold", "leaf")}
    return Trees(moved("roots"), flat["feature"], flat["threshold"], moved("left"), moved("right"), flat["leaf"])
