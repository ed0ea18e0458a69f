"""What the runtime has to know of each kind of model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from cachezoo.arrays import F32, I32
from cachezoo.serving.ranges import Sizes
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.synthetic import SyntheticSet

Serve = Callable[[Mapping[str, Any]], Any]
"""A serving object with fresh state, of a manifest whose values may be changed."""
OUTPUT_TOLERANCE = 1e-5  # by which runtimes may differ in a golden output
BLOCK, FULL = "block", "full"
EXACT_FOREST: Mapping[str, str | float] = {"fp64": "exact"}
EXACT_TABLE: Mapping[str, str | float] = {"integer": "exact"}
LSTM_PRECISIONS: Mapping[str, str | float] = {"fp32": "exact", "bf16": 0.999, "int8": 0.999}


class Session(Protocol):
    """A model's weights as a function of tensors by name, as onnxruntime's sessions are."""

    def run(self, outputs: list[str] | None, inputs: dict[str, Any]) -> list[Any]:
        """Outputs by name, for inputs by name."""


@dataclass(frozen=True)
class Recomputed:
    """What a model makes of raw requests.

    `steady` counts the leading requests whose decisions do not depend on digits within the outputs' tolerance, in which
    runtimes may differ; None where outputs are exact.
    """

    features: F32  # [n, F] model inputs in the manifest's order
    outputs: F32  # [k, O]; columns as the kind names them
    decisions: I32  # [r, D]; columns as the kind names them
    branches: dict[str, int]  # how often each branch of the runtime was passed
    steady: int | None = None


@dataclass(frozen=True)
class State:
    """What a runtime has to keep between requests."""

    fixed: int  # bytes, whatever it has seen
    each: int  # more bytes, for each key that is remembered
    key: str  # what a key is: `none`, `block or segment` or `page`


@dataclass(frozen=True)
class Cost:
    """Static counts of one inference: no clock, so the same everywhere."""

    macs: int  # multiply-accumulates
    comparisons: int  # of numbers, at most
    parameters: int  # numbers in the model
    model_bytes: int  # bytes of the weights' files


def _holds(manifest: Mapping[str, Any]) -> None:
    """There is no rule but those of the schema and of the serving object."""


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    Attributes:
        outputs: columns of `Recomputed.outputs`, by manifest.
        decisions: columns of `Recomputed.decisions`.
        sizes: ranges of whole numbers in the manifest that decide how much is computed or remembered.
        wanted: branches that golden rows should pass.
        serve: the serving object of a manifest, with fresh state, on a session.
        recompute: runs raw requests through a fresh serving object; the mapping is the golden context.
        contexts: (manifest, requests) to what a recomputation of them may be given with them, the first choice first.
        synthetic: the synthetic golden sets of a manifest.
        synthetic_wanted: branches that the synthetic sets of a manifest pass, all together.
        recompute_synthetic: runs a set through a fresh serving object of the manifest with the set's changes. Its
            branches are synthetic ones; its outputs are the given ones where the set has such.
        synthetic_decisions: columns of a set's `Recomputed.decisions`, by its context. Its outputs are the model's.
        reads_flags: the model's inputs are made of the requests' flags too, so golden requests hold them.
        open_weights: (manifest, the weights' files by name) to a session on them; it raises ValueError where a file is
            not that of the manifest's model.
        check: rules between values of a manifest, which no schema says; it raises ConfigError.
        profile: `block` where offset, size, operation, time and volume of a request are enough for a manifest's model;
            `full` where it reads user, namespace or flags too.
        conformance: what a runtime has to reach, by manifest and precision: `exact`, or the least share of equal
            decisions.
        state: what a runtime has to keep, by manifest.
        cost: (manifest, the weights' files by name) to the cost of one inference.
    """

    outputs: Callable[[Mapping[str, Any]], tuple[str, ...]]
    decisions: tuple[str, ...]
    sizes: Sizes
    wanted: tuple[str, ...]
    serve: Callable[[Mapping[str, Any], Session], Any]
    recompute: Callable[[Any, RequestBatch, Mapping[str, Any]], Recomputed]
    contexts: Callable[[Mapping[str, Any], RequestBatch], list[dict[str, Any]]]
    open_weights: Callable[[Mapping[str, Any], Mapping[str, bytes]], Session]
    profile: Callable[[Mapping[str, Any]], str]
    conformance: Callable[[Mapping[str, Any]], Mapping[str, str | float]]
    state: Callable[[Mapping[str, Any]], State]
    cost: Callable[[Mapping[str, Any], Mapping[str, bytes]], Cost]
    synthetic: Callable[[Mapping[str, Any], Serve], list[SyntheticSet]]
    synthetic_wanted: Callable[[Mapping[str, Any]], tuple[str, ...]]
    synthetic_decisions: Callable[[Mapping[str, Any]], tuple[str, ...]]
    recompute_synthetic: Callable[[Mapping[str, Any], Serve, SyntheticSet], Recomputed]
    check: Callable[[Mapping[str, Any]], None] = _holds
    reads_flags: bool = False
