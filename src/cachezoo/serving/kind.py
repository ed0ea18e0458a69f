"""What the runtime has to know of each kind of model."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from cachezoo.serving.graph import Graph
from cachezoo.serving.requests import RequestBatch
from cachezoo.serving.stated import Sizes
from cachezoo.serving.synthetic import SyntheticSet

F32 = npt.NDArray[np.float32]
I32 = npt.NDArray[np.int32]
Serve = Callable[[Mapping[str, Any]], Any]
"""A serving object with fresh state, of a manifest whose values may be changed."""
OUTPUT_TOLERANCE = 1e-5  # by which runtimes may differ in a golden output


class Session(Protocol):
    """What is used of onnxruntime.InferenceSession."""

    def run(self, outputs: list[str] | None, inputs: dict[str, Any]) -> list[Any]:
        """Outputs by name, for inputs by name."""


@dataclass(frozen=True)
class Recomputed:
    """What a model makes of raw requests.

    Attributes:
        features: float32[n, F] model inputs in the manifest's order.
        outputs: float32[k, O]; columns as the kind names them.
        decisions: int32[r, D]; columns as the kind names them.
        branches: how often each branch of the runtime was passed.
        steady: leading requests whose decisions do not hang on digits within the outputs' tolerance, which
            runtimes may differ in; None where outputs are exact.
    """

    features: F32
    outputs: F32
    decisions: I32
    branches: dict[str, int]
    steady: int | None = None


@dataclass(frozen=True)
class Kind:
    """A kind of model.

    Attributes:
        outputs: columns of `Recomputed.outputs`, by manifest.
        decisions: columns of `Recomputed.decisions`.
        graph: the ONNX graph that a model of a manifest has, and no other.
        sizes: ranges of whole numbers in the manifest that decide how much is computed or remembered.
        units: unit of each ONNX input and output, by name.
        wanted: branches that golden rows should pass.
        serve: the serving object of a manifest, with fresh state, on a session.
        recompute: runs raw requests through a fresh serving object; the mapping is the golden context.
        contexts: what a recomputation of these requests may be given beside them, the first choice first.
        synthetic: the synthetic golden sets of a manifest.
        synthetic_wanted: branches that the synthetic sets of a manifest pass, all together.
        recompute_synthetic: runs a set through a fresh serving object of the manifest with the set's changes. Its
            branches are synthetic ones; its outputs are the given ones where the set has such.
        synthetic_decisions: columns of a set's `Recomputed.decisions`, by its context. Its outputs are the model's.
        reads_flags: the model's inputs are made of the requests' flags too, so golden requests hold them.
    """

    outputs: Callable[[Mapping[str, Any]], tuple[str, ...]]
    decisions: tuple[str, ...]
    graph: Callable[[Mapping[str, Any]], Graph]
    sizes: Sizes
    units: Mapping[str, str]
    wanted: tuple[str, ...]
    serve: Callable[[Mapping[str, Any], Session], Any]
    recompute: Callable[[Any, RequestBatch, Mapping[str, Any]], Recomputed]
    contexts: Callable[[RequestBatch], list[dict[str, Any]]]
    synthetic: Callable[[Mapping[str, Any], Serve], list[SyntheticSet]]
    synthetic_wanted: Callable[[Mapping[str, Any]], tuple[str, ...]]
    synthetic_decisions: Callable[[Mapping[str, Any]], tuple[str, ...]]
    recompute_synthetic: Callable[[Mapping[str, Any], Serve, SyntheticSet], Recomputed]
    reads_flags: bool = False
