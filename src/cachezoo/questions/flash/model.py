"""Bundles as policies of the flash cache: what they decide on a whole trace, and whether it is like their training."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from cachezoo.arrays import F64
from cachezoo.bundles.drift import drift
from cachezoo.bundles.reader import Bundle
from cachezoo.bundles.released import load
from cachezoo.errors import ConfigError
from cachezoo.flash_cache.modes import ML_MODES, NONE
from cachezoo.kernels.flash import Prefetch
from cachezoo.kernels.segments import Geometry
from cachezoo.kernels.write_budget import Controller
from cachezoo.serving.requests import batch_of
from cachezoo.traces.table import Trace
from cachezoo.zoo.admission.flash_sets import BLOCK, SEGMENT
from cachezoo.zoo.admission.serve import controller_of, score_batch

KINDS = ("admission", "prefetch")


@dataclass(frozen=True)
class FlashBundles:
    """An admission bundle, and the prefetch bundle that was trained with it."""

    admission: Bundle
    prefetch: Bundle | None  # None: plain modes alone

    @property
    def geometry(self) -> Geometry:
        """Blocks and segments that it decides on."""
        return _geometry(self.admission)

    @property
    def thresholds(self) -> dict[str, float]:
        """The admission threshold that validation chose, by prefetch mode."""
        own = self.admission.manifest["calibration"]
        found = {NONE: float(own["threshold"])}
        if "with_prefetch" in own:
            found[str(own["with_prefetch"]["mode"])] = float(own["with_prefetch"]["threshold"])
        if self.prefetch is not None:
            manifest = self.prefetch.manifest
            found[str(manifest["policy"]["mode"])] = float(manifest["calibration"]["threshold"])
        return found


@dataclass(frozen=True)
class FlashModel:
    """What a model decides on a trace of n requests."""

    name: str  # the admission bundle's id
    scores: F64  # [n] log-odds of the admission
    thresholds: dict[str, float]  # as shipped, by prefetch mode
    ranged: dict[str, Prefetch]  # what the prefetch bundle fetches, by mode; empty without such a bundle
    # Inputs that have drifted from training, the farthest first; None where the bundle has no distributions.
    drifted: tuple[str, ...] | None
    inputs: int  # in all
    controller: Controller | None = None  # that keeps a write rate, as shipped; None of bundles of earlier releases
    whole_block: bool = True  # a read touches its blocks whole; not of bundles of earlier releases


def open_bundles(paths: Sequence[Path]) -> list[FlashBundles]:
    """Read admission bundles, each with the prefetch bundle that was trained with it.

    Args:
        paths: folders or .zip of bundles, in any order.

    Raises:
        BundleError: damaged.
        ConfigError: a bundle of another kind, a prefetch bundle without its admission, or an id that is there twice.
    """
    found = [load(path) for path in paths]
    for bundle in found:
        if bundle.kind not in KINDS:
            fix = "compare --bundle runs caching and reuse bundles" if bundle.kind != "workload" else "give another"
            raise ConfigError(f"{bundle.where}: a {bundle.kind} bundle decides nothing in a flash cache; {fix}")
    admissions = {bundle.id: bundle for bundle in found if bundle.kind == KINDS[0]}
    fetching = {str(bundle.manifest["policy"]["admission"]): bundle for bundle in found if bundle.kind == KINDS[1]}
    for wanted, bundle in fetching.items():
        if wanted not in admissions:
            raise ConfigError(f"{bundle.where}: it prefetches for what {wanted} admits; give --bundle of that one too")
    if len(admissions) + len(fetching) < len(found):
        names, kept = [bundle.id for bundle in found], {*admissions, *(bundle.id for bundle in fetching.values())}
        twice = next(name for name in names if names.count(name) > 1 or name not in kept)
        raise ConfigError(f"--bundle {twice}: given twice, or two prefetch bundles of one admission; give each once")
    pairs = [FlashBundles(bundle, fetching.get(name)) for name, bundle in admissions.items()]
    for pair in pairs:
        if pair.prefetch is None:
            continue
        same = {
            "blocks": _geometry(pair.prefetch) == pair.geometry,
            "policy.touch": touch_of(pair.prefetch) == touch_of(pair.admission),
        }
        for what in (name for name, alike in same.items() if not alike):
            message = f"{pair.prefetch.where}: its {what} are not those of {pair.admission.where}"
            raise ConfigError(f"{message}; give bundles of one training")
    return pairs


def touch_of(bundle: Bundle) -> str:
    """What a read touches in the cache that a bundle was made for; that of earlier releases says nothing."""
    return str(bundle.manifest["policy"].get("touch", SEGMENT))


def _geometry(bundle: Bundle) -> Geometry:
    own = bundle.manifest["geometry"]
    return Geometry(own["block_bytes"], own["segment_bytes"])


def geometry_of(bundles: Sequence[FlashBundles], given: Geometry | None) -> Geometry | None:
    """Segments and blocks of a cache that bundles decide for: as given, or theirs; None without either.

    Raises:
        ConfigError: a bundle learned on another geometry.
    """
    found = given or (bundles[0].geometry if bundles else None)
    for own in bundles:
        if own.geometry != found:
            learned = f"segments of {own.geometry.segment_bytes} bytes in blocks of {own.geometry.block_bytes}"
            fix = "leave --segment and --block out" if given else f"run it apart from {bundles[0].admission.id}"
            raise ConfigError(f"{own.admission.where}: it learned on {learned}, which this cache has not; {fix}")
    return found


def decide(bundles: FlashBundles, trace: Trace, modes: Sequence[str] = ()) -> FlashModel:
    """What bundles decide on every request of a trace, from a fresh history.

    Args:
        bundles: the admission, perhaps with its prefetch.
        trace: the requests.
        modes: of `ML_MODES`; none: the prefetch bundle's own.
    """
    batch = batch_of(trace)
    serving = bundles.admission.serving()
    scores = score_batch(serving, batch, serving.scores)
    ranged: dict[str, Prefetch] = {}
    if bundles.prefetch is not None:
        fetching = bundles.prefetch.serving()
        own_rows = fetching.features(batch)
        own = modes or [mode for mode in (fetching.mode,) if mode in ML_MODES]
        ranged = {mode: fetching.prefetch(own_rows, mode) for mode in own}
    drifted = None
    if bundles.admission.manifest["measured"].get("inputs"):
        drifted = tuple(one.name for one in drift(bundles.admission, batch).inputs if one.verdict == "drifted")
    inputs = len(bundles.admission.manifest["features"])
    controller = controller_of(bundles.admission.manifest["calibration"])
    return FlashModel(
        bundles.admission.id, scores, bundles.thresholds, ranged, drifted, inputs, controller,
        touch_of(bundles.admission) == BLOCK,
    )  # fmt: skip
