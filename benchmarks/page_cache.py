"""How fast the cache of `reuse.follow` is: inputs, forest, shadows and following of a whole trace, by part.

Microseconds of processor time for each page access, and for each request, on the four test traces at home. The forest
is LightGBM's, one thread. `evaluate.decision_cost_us.reuse` is the whole for each request, rounded up.
"""

import time
from collections.abc import Callable
from typing import Any

from rich.table import Table

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.console import out
from cachezoo.features.reuse import asked_of, input_rows
from cachezoo.serving.requests import batch_of
from cachezoo.systems.reuse.cache import classes_of, follow_forest, shadow_bits
from cachezoo.systems.reuse.fit import model_id
from cachezoo.systems.reuse.model import load_reuse
from cachezoo.systems.reuse.prepared import Prepared, places
from cachezoo.traces.pages import capacity_pages

REPEATS = 3


def timed(call: Callable[[], Any]) -> tuple[float, Any]:
    """Least processor seconds of some calls, and what the last returned."""
    best, found = float("inf"), None
    for _ in range(REPEATS):
        start = time.process_time()
        found = call()
        best = min(best, time.process_time() - start)
    return best, found


def main() -> None:
    """Print a row for each trace."""
    params = load_params()
    model, serving = load_reuse(paths.trained(model_id(params.model.reuse.arch)))
    plan, fraction = serving.plan, float(model.calibration["capacity"])
    heads = ("trace", "inputs", "forest", "shadows of the classes", "cache, expert and follower", "all", "M accesses/s")
    table = Table(*heads, "µs a request", title="µs of processor time for each page access")
    for key, path in places(params.data.page_categories, params.data.roles, {}, "test").items():
        part = Prepared.read(key, path)
        capacity, m = capacity_pages(fraction, part.pages.n_pages), len(part.pages.page_ids)
        batch, stream = batch_of(part.trace), part.stream
        inputs, rows = timed(lambda own=(batch, part.pages, capacity): input_rows(asked_of(*own[:2]), own[2]))
        forest, scores = timed(lambda own=rows: serving.scores(own))
        shadows, bits = timed(lambda own=(stream, capacity): shadow_bits(*own, plan.shadows))
        classes = classes_of(scores, plan.quantiles, bits, len(plan.shadows))
        cache, _ = timed(lambda own=(stream, capacity, classes): follow_forest(*own, plan))
        each = [1e6 * seconds / m for seconds in (inputs, forest, shadows, cache)]
        whole = sum(each)
        cells = [f"{value:.2f}" for value in (*each, whole, 1 / whole, whole * m / len(part.trace))]
        table.add_row(key, *cells)
    out().print(table)


if __name__ == "__main__":
    main()
