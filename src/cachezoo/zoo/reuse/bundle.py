"""Kind `reuse`: a whole page cache, of a next-use forest, its tables, and the classics that stand beside it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import ADMITTED, HIT
from cachezoo.kernels.reuse import hazards, own
from cachezoo.kernels.reuse.past import CONTEXTS, SEEN_KINDS, WIDTH
from cachezoo.serving.forest import forests_cost
from cachezoo.serving.history import open_forests
from cachezoo.serving.kind import EXACT_FOREST, FULL, Kind, Recomputed, Session, State
from cachezoo.serving.ranges import LARGEST, integer, number
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.reuse import synthetic
from cachezoo.zoo.reuse.cache import FOLLOWING
from cachezoo.zoo.reuse.serve import ReuseServing

KEYS = ("features", "policy", "calibration")
LEAST = {"half_life": 1e-3}
CLASSICS = {"shadows": (0, 3), "experts": (1, 7)}
SIZES = {
    "golden.context.capacity_pages": (1, 1 << 19), "policy.candidates": (1, 4096), "policy.seed": (0, 1 << 31),
    "policy.own_trees": (0, 1000), "policy.own_rows": (1, 1_000_000),
}  # fmt: skip
GOLDEN_SHARES = (0.1, 0.02)
FILES = ("model.lgb.txt",)
FLOAT, DOUBLE = 4, 8
OWN_TREE = own.INNER * (DOUBLE + FLOAT) + own.LEAVES * DOUBLE
COUNTS = 3 * hazards.BINS * DOUBLE  # events, risks and worth of a class
RATES = 2 * 2 * (CONTEXTS + SEEN_KINDS + 1) * DOUBLE  # rates and their counts at both horizons, one process
# Last access and three counts; interval, wrote, share; seen, class, latest access; links of two caches; key.
PAGE = 4 * DOUBLE + 3 * DOUBLE + (4 + 1 + 4) + 2 * 4 * 4 + DOUBLE
# Its region's and its stretch's counts and keys, where each page has its own.
AROUND = (3 * DOUBLE + DOUBLE) + (2 * DOUBLE + DOUBLE)
# Accesses are settled after 4 capacities: of each, inputs, three rows of rates, next use, score, number of the page.
UNSETTLED = 4 * ((WIDTH + 3 + 3) * FLOAT)


def _check_values(manifest: Mapping[str, Any]) -> None:
    """Raises ConfigError: something else than numbers, of which numpy makes some, or lists too long to serve."""
    for name in ("quantiles", "events", "risks"):
        for row in manifest["calibration"][name]:
            for value in row if isinstance(row, list) else [row]:
                number(value, f"calibration.{name}", -LARGEST, LARGEST)
    for name in FOLLOWING:
        number(manifest["policy"][name], f"policy.{name}", LEAST.get(name, 0.0), 1e6)
    for name, (least, most) in CLASSICS.items():
        given = manifest["policy"][name]
        if not isinstance(given, list) or not least <= len(given) <= most:
            raise ConfigError(f"policy.{name} is no list of {least} to {most} names")
    integer(manifest["geometry"]["page_bytes"], "geometry.page_bytes", 4096, 4096)


def _serve(manifest: Mapping[str, Any], session: Session) -> ReuseServing:
    _check_values(manifest)
    return ReuseServing(
        **{key: manifest[key] for key in KEYS}, infer=lambda rows: session.run(["score"], {"features": rows})[0]
    )


def _contexts(manifest: Mapping[str, Any], batch: RequestBatch) -> list[dict[str, Any]]:
    """Caches of a share of the golden rows' pages: as in training, or so small that few rows fill them."""
    pages = batch.pages().n_pages
    return [{"capacity_pages": max(1, int(share * pages))} for share in GOLDEN_SHARES]


def _recompute(serving: ReuseServing, batch: RequestBatch, context: Mapping[str, Any]) -> Recomputed:
    pages = batch.pages()
    served = serving.run(batch, pages, int(context["capacity_pages"]))
    run, leader = served.followed.run, served.followed.leader
    decisions = np.stack([run.outcome.astype(np.int32), run.victim, leader.astype(np.int32)], axis=1)
    branches = {
        "hit": int((run.outcome == HIT).sum()),
        "admitted": int((run.outcome == ADMITTED).sum()),
        "bypass": int(((run.outcome != HIT) & (run.outcome != ADMITTED)).sum()),
        "replaced": int((run.victim >= 0).sum()),
        "forest_led": int((leader == 0).sum()),
        "classic_led": int((leader != 0).sum()),
        "corrected": int((served.seen.corrected(served.scores) != served.scores).sum()),
    }
    return Recomputed(served.seen.inputs, served.scores[:, None], decisions.astype(np.int32), branches)


def _state(manifest: Mapping[str, Any]) -> State:
    """The own forest, its reservoir, the classes' counts and the rates; of each page its past and that around it."""
    policy = manifest["policy"]
    classes = len(manifest["calibration"]["events"])
    kept = policy["own_trees"] * OWN_TREE + policy["own_rows"] * (WIDTH + 1) * FLOAT
    return State(kept + classes * COUNTS + RATES, PAGE + AROUND + UNSETTLED, "page")


KIND = Kind(
    outputs=lambda manifest: ("score",),
    decisions=("outcome", "victim_page", "leader"),
    sizes=SIZES,
    wanted=("hit", "admitted", "bypass", "replaced", "forest_led", "corrected"),
    serve=_serve,
    recompute=_recompute,
    contexts=_contexts,
    synthetic=synthetic.sets,
    synthetic_wanted=synthetic.wanted,
    synthetic_decisions=synthetic.decisions,
    recompute_synthetic=synthetic.recompute,
    reads_flags=True,
    open_weights=lambda manifest, files: open_forests(manifest, files, FILES),
    cost=lambda manifest, files: forests_cost([files[name] for name in FILES], len(manifest["features"])),
    profile=lambda manifest: FULL,
    conformance=EXACT_FOREST,
    state=_state,
)
