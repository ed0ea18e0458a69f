"""Bundles as policies of the flash cache: what they decide on a whole trace, and whether it is like their training."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cachezoo.arrays import F64
from cachezoo.bundles.drift import drift
from cachezoo.bundles.reader import Bundle
from cachezoo.bundles.released import load
from cachezoo.errors import ConfigError
from cachezoo.flash_cache.modes import NONE
from cachezoo.kernels.segments import Geometry
from cachezoo.kernels.write_budget import Controller
from cachezoo.serving.requests import batch_of
from cachezoo.traces.table import Trace
from cachezoo.zoo.admission.flash_sets import BLOCK, SEGMENT
from cachezoo.zoo.admission.serve import controller_of, score_batch


@dataclass(frozen=True)
class FlashModel:
    """What a model decides on a trace of n requests."""

    name: str  # the admission bundle's id
    scores: F64  # [n] log-odds of the admission
    thresholds: dict[str, float]  # as shipped, by prefetch mode
    # Inputs that have drifted from training, the farthest first; None where the bundle has no distributions.
    drifted: tuple[str, ...] | None
    inputs: int  # in all
    controller: Controller | None = None  # that keeps a write rate, as shipped; None of bundles of earlier releases
    whole_block: bool = True  # a read touches its blocks whole; not of bundles of earlier releases


def open_bundles(paths: Sequence[Path]) -> list[Bundle]:
    """Read admission bundles.

    Args:
        paths: folders or .zip of bundles, in any order.

    Raises:
        BundleError: damaged.
        ConfigError: a bundle of another kind, or one that is there twice.
    """
    found = [load(path) for path in paths]
    for bundle in found:
        if bundle.kind != "admission":
            fix = "compare --bundle runs caching and reuse bundles" if bundle.kind != "workload" else "give another"
            raise ConfigError(f"{bundle.where}: a {bundle.kind} bundle decides nothing in a flash cache; {fix}")
    names = [bundle.id for bundle in found]
    if twice := [name for name in names if names.count(name) > 1]:
        raise ConfigError(f"--bundle {twice[0]}: given twice; give it once")
    return found


def touch_of(bundle: Bundle) -> str:
    """What a read touches in the cache that a bundle was made for; that of earlier releases says nothing."""
    return str(bundle.manifest["policy"].get("touch", SEGMENT))


def _geometry(bundle: Bundle) -> Geometry:
    own = bundle.manifest["geometry"]
    return Geometry(own["block_bytes"], own["segment_bytes"])


def thresholds_of(bundle: Bundle) -> dict[str, float]:
    """The admission thresholds that validation chose, by prefetch mode."""
    own = bundle.manifest["calibration"]
    found = {NONE: float(own["threshold"])}
    if "with_prefetch" in own:
        found[str(own["with_prefetch"]["mode"])] = float(own["with_prefetch"]["threshold"])
    return found


def geometry_of(bundles: Sequence[Bundle], given: Geometry | None) -> Geometry | None:
    """Segments and blocks of a cache that bundles decide for: as given, or theirs; None without either.

    Raises:
        ConfigError: a bundle learned on another geometry.
    """
    found = given or (_geometry(bundles[0]) if bundles else None)
    for bundle in bundles:
        own = _geometry(bundle)
        if own != found:
            learned = f"segments of {own.segment_bytes} bytes in blocks of {own.block_bytes}"
            fix = "leave --segment and --block out" if given else f"run it apart from {bundles[0].id}"
            raise ConfigError(f"{bundle.where}: it learned on {learned}, which this cache has not; {fix}")
    return found


def decide(bundle: Bundle, trace: Trace) -> FlashModel:
    """What an admission bundle decides on every request of a trace, from a fresh history."""
    batch = batch_of(trace)
    serving = bundle.serving()
    scores = score_batch(serving, batch, serving.scores)
    drifted = None
    if bundle.manifest["measured"].get("inputs"):
        drifted = tuple(one.name for one in drift(bundle, batch).inputs if one.verdict == "drifted")
    inputs, controller = len(bundle.manifest["features"]), controller_of(bundle.manifest["calibration"])
    whole_block = touch_of(bundle) == BLOCK
    return FlashModel(bundle.id, scores, thresholds_of(bundle), drifted, inputs, controller, whole_block)
