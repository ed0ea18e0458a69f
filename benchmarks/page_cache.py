"""What the cache of `reuse.follow` costs: processor time of each part, and memory, on the four test traces at home.

Microseconds of processor time for each page access, and for each request. One thread.
`evaluate.decision_cost_us.reuse` is the most for each request, rounded up. Memory is how far a fresh process's peak
lies above what it had before it serves a whole trace, in bytes for each page access; the trace itself is read before.
"""

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

from rich.table import Table
from timing import least

from cachezoo import paths
from cachezoo.config.load import load_params
from cachezoo.console import out
from cachezoo.features.reuse import input_rows
from cachezoo.kernels.reuse import own
from cachezoo.labels.reuse import HORIZON, next_use
from cachezoo.serving.requests import batch_of
from cachezoo.traces.pages import capacity_pages
from cachezoo.zoo.reuse.cache import shadow_bits
from cachezoo.zoo.reuse.fit import model_id
from cachezoo.zoo.reuse.model import load_reuse
from cachezoo.zoo.reuse.prepared import Prepared, places
from cachezoo.zoo.reuse.serve import ReuseServing

REPEATS = 3
WARM_REQUESTS = 2000


def parts_of(part: Prepared, capacity: int, serving: ReuseServing) -> list[float]:
    """Processor seconds of inputs, forest, own forest, shadows of the classes, and cache with expert and follower."""
    policy, delay = serving.policy, HORIZON * capacity
    trees, rows, seed = (int(policy[name]) for name in ("own_trees", "own_rows", "seed"))
    target, seen = next_use(part.pages, capacity).target, part.look(capacity, policy)
    scores = serving.scores(seen.inputs)

    def correct() -> None:
        own.foresee(seen.inputs, target, delay, capacity, own.blank(trees), rows, seed, int(policy.get("own_pace", 0)))
        seen.corrected(scores)

    calls: list[Callable[[], Any]] = [
        lambda: input_rows(part.asked, capacity),
        lambda: serving.scores(seen.inputs),
        correct,
        lambda: shadow_bits(part.stream, capacity, serving.plan.shadows),
        lambda: seen.serve(scores, serving.plan),
    ]
    return [least(call, REPEATS)[0] for call in calls]


def _loaded(key: str, path: Path) -> tuple[Prepared, int, ReuseServing]:
    model, serving = load_reuse(paths.trained(model_id(load_params().model.reuse.arch)))
    part = Prepared.read(key, path)
    return part, capacity_pages(float(model.calibration["capacity"]), part.pages.n_pages), serving


def memory(key: str, path: Path) -> float:
    """Bytes for each page access by which this process's peak grows as it serves a trace; run it in a fresh one."""
    part, capacity, serving = _loaded(key, path)
    few = batch_of(part.trace.rows(0, WARM_REQUESTS))
    serving.run(few, few.pages(), 100)
    batch = batch_of(part.trace)
    Path("/proc/self/clear_refs").write_text("5")  # the peak begins anew
    before = _resident("VmRSS")
    serving.run(batch, part.pages, capacity)
    return (_resident("VmHWM") - before) / len(part.pages.page_ids)


def _resident(name: str) -> int:
    """Bytes of this process's memory, as Linux counts them."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(1024 * int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))


def main() -> None:
    """Print a row for each trace."""
    params = load_params()
    folder = paths.trained(model_id(params.model.reuse.arch))
    if not folder.is_dir():
        raise SystemExit(f"{folder}: not here; make repro trains it")
    heads = ("trace", "inputs", "forest", "own forest", "shadows of the classes", "cache, expert and follower", "all")
    table = Table(
        *heads, "M accesses/s", "µs a request", "bytes an access", title="µs of processor time for each page access"
    )
    fresh = multiprocessing.get_context("spawn")
    for key, path in places(params.data.page_categories, params.data.roles, {}, "test").items():
        part, capacity, serving = _loaded(key, path)
        m = len(part.pages.page_ids)
        each = [1e6 * seconds / m for seconds in parts_of(part, capacity, serving)]
        whole = sum(each)
        with ProcessPoolExecutor(1, mp_context=fresh) as pool:
            grown = pool.submit(memory, key, path).result()
        cells = [f"{value:.2f}" for value in (*each, whole, 1 / whole, whole * m / len(part.trace))]
        table.add_row(key, *cells, f"{grown:.0f}")
    out().print(table)


if __name__ == "__main__":
    main()
