"""Kind `reuse`: a whole page cache, of a next-use forest, its tables, and the classics that stand beside it."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from cachezoo.kernels.outcome import ADMITTED, HIT
from cachezoo.serving.graph import forests
from cachezoo.serving.kind import Kind, Recomputed, Session
from cachezoo.serving.requests import RequestBatch
from cachezoo.systems.reuse import synthetic
from cachezoo.systems.reuse.serve import ReuseServing

KEYS = ("features", "policy", "calibration")
SIZES = {
    "golden.context.capacity_pages": (1, 1 << 31), "policy.candidates": (1, 4096), "policy.seed": (0, 1 << 31),
    "policy.own_trees": (0, 1000), "policy.own_rows": (1, 10_000_000),
}  # fmt: skip
GOLDEN_SHARES = (0.1, 0.02)


def _serve(manifest: Mapping[str, Any], session: Session) -> ReuseServing:
    return ReuseServing(
        **{key: manifest[key] for key in KEYS}, infer=lambda rows: session.run(["score"], {"features": rows})[0]
    )


def _contexts(batch: RequestBatch) -> list[dict[str, Any]]:
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


KIND = Kind(
    outputs=lambda manifest: ("score",),
    decisions=("outcome", "victim_page", "leader"),
    graph=lambda manifest: forests("score", 1),
    sizes=SIZES,
    units={
        "features": "as each feature states",
        "score": "log2 of the page accesses until the next use, over the capacity",
    },
    wanted=("hit", "admitted", "bypass", "replaced", "forest_led", "corrected"),
    serve=_serve,
    recompute=_recompute,
    contexts=_contexts,
    synthetic=synthetic.sets,
    synthetic_wanted=synthetic.wanted,
    synthetic_decisions=synthetic.decisions,
    recompute_synthetic=synthetic.recompute,
    reads_flags=True,
)
