"""Kind `virtual`: a virtual I/O cache, from its settings and the profile of a warm start."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from cachezoo.errors import ConfigError
from cachezoo.serving.kind import BLOCK, EXACT_FOREST, Cost, Kind, Recomputed, State
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.virtual import synthetic
from cachezoo.zoo.virtual.profile import DOUBLE, FILE, from_bytes
from cachezoo.zoo.virtual.serve import ProfileSession, VirtualServing

MOST_PAGES, MOST_FRAGMENT, MOST_RUNS = 1 << 26, 1 << 16, 16
SIZES = {
    "golden.context.capacity_pages": (1, 1 << 22), "arch.pages": (1, MOST_PAGES), "arch.fragment": (1, MOST_FRAGMENT),
    "arch.runs": (1, MOST_RUNS), "arch.quantum": (1, 1 << 40),
}  # fmt: skip
GOLDEN_SHARES = (0.1, 0.25)  # of the golden rows' pages
RUN = 2 * DOUBLE  # its first and its last fragment
WANTED = ("hit", "unmapped", "new_page", "quantum")
SHOWN = ("several_runs", "far_hit", "fragmentation", "allocation", "forgotten", "passed_by")
PAGE = DOUBLE + 4 * 4  # key; when it was asked last, its place in that order, and of LFU its count


def fragments_of(arch: Mapping[str, Any]) -> int:
    """How many fragments the queue has."""
    return int(arch["pages"]) // int(arch["fragment"])


def _open(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> ProfileSession:
    profile, wanted = from_bytes(files[FILE]), fragments_of(manifest["arch"])
    if len(profile) != wanted:
        raise ConfigError(f"{FILE} has {len(profile)} numbers, arch makes {wanted} fragments")
    return ProfileSession(profile)


def _serve(manifest: Mapping[str, Any], session: Any) -> VirtualServing:  # noqa: ANN401 - a ProfileSession
    return VirtualServing(arch=manifest["arch"], policy=manifest["policy"], profile=session.profile)


def _contexts(manifest: Mapping[str, Any], batch: RequestBatch) -> list[dict[str, Any]]:
    """Caches of a share of the golden rows' pages, but no smaller than the runs and no longer than the queue."""
    arch, pages = manifest["arch"], batch.pages().n_pages
    least, most = arch["runs"] * arch["fragment"], arch["pages"]
    return [{"capacity_pages": min(most, max(least, int(share * pages)))} for share in GOLDEN_SHARES]


def _recompute(serving: VirtualServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    found = synthetic.recomputed(serving, batch, int(context["capacity_pages"]))
    return replace(found, branches={name: found.branches[name] for name in (*WANTED, *SHOWN)})


def _check(manifest: Mapping[str, Any]) -> None:
    """Rules between values.

    Raises:
        ConfigError: the queue is no whole number of fragments.
    """
    arch = manifest["arch"]
    if arch["pages"] % arch["fragment"]:
        raise ConfigError(f"arch.pages {arch['pages']} is no multiple of arch.fragment {arch['fragment']}")


def _cost(manifest: Mapping[str, Any], files: Mapping[str, bytes]) -> Cost:
    """A look-up of the place in the queue, and of the runs; the mapping of a quantum is shared by its references."""
    arch = manifest["arch"]
    return Cost(0, (arch["pages"] - 1).bit_length() + arch["runs"], fragments_of(arch), len(files[FILE]))


def _state(manifest: Mapping[str, Any]) -> State:
    """A value and the crossings of each fragment, and the runs; of each page that the queue holds, where it is."""
    arch = manifest["arch"]
    return State(2 * DOUBLE * fragments_of(arch) + RUN * arch["runs"], PAGE, "page")


KIND = Kind(
    outputs=lambda manifest: ("position",),
    decisions=("position", "hit", "moved"),
    sizes=SIZES,
    wanted=WANTED,
    serve=_serve,
    recompute=_recompute,
    contexts=_contexts,
    open_weights=_open,
    check=_check,
    profile=lambda manifest: BLOCK,
    conformance=EXACT_FOREST,
    state=_state,
    synthetic=synthetic.sets,
    synthetic_wanted=synthetic.wanted,
    synthetic_decisions=synthetic.decisions,
    recompute_synthetic=synthetic.recompute,
    cost=_cost,
)
