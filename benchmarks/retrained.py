"""Protocol B: the next-use forest fitted on the train traces and a test trace's first half, run on its second half.

For each test trace the forest sees its first half beside all train traces, as a user would retrain on what was recorded
so far. Caches run over the whole trace, and only the second half counts, for ours and for the classics alike. One seed;
--seed gives another.
"""

import argparse
from dataclasses import replace

import numpy as np
from rich.table import Table

from cachezoo.config.load import load_params
from cachezoo.console import out, progress
from cachezoo.kernels.outcome import HIT
from cachezoo.measures.gap import gap
from cachezoo.models.forest import forest_scorer
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import Simulator
from cachezoo.seeds import derive_seed
from cachezoo.systems.reuse import fit
from cachezoo.systems.reuse.plan import plan_of, policy_of, weighted
from cachezoo.systems.reuse.prepared import Prepared, places
from cachezoo.traces.pages import PageAccesses, capacity_pages


def first_half(part: Prepared, capacity: int, settings: fit.Settings, seed: int) -> fit.Rows:
    """Rows of a trace's first half, labelled from it alone, at the whole trace's capacity."""
    requests = len(part.trace) // 2
    start = part.pages.request_start[: requests + 1]
    pages = PageAccesses(start, part.pages.page_ids[: start[-1]], part.pages.n_pages)
    half = Prepared(part.key, part.path, part.trace.rows(0, requests), pages)
    return fit.trace_rows(half, capacity, settings.fit.rows * len(settings.fit.capacities), settings, seed)


def closed(
    part: Prepared, rows: fit.Rows, settings: fit.Settings, weight: float, seed: int
) -> tuple[float, float, float]:  # fmt: skip
    """Hit ratios on the second half: ours, the best classic's, the optimum's."""
    capacity = capacity_pages(0.1, part.pages.n_pages)
    both = fit.joined([rows, first_half(part, capacity, settings, seed)])
    forest, learned = fit.fit_seed(both, settings, seed)
    events, risks = weighted(learned["events"], learned["risks"], weight)
    policy = policy_of(settings.model.model_dump(), seed)
    plan = plan_of(policy, {"quantiles": learned["quantiles"], "events": events, "risks": risks})
    seen = part.look(capacity, policy)
    run = seen.serve(forest_scorer(forest.text, settings.fit.threads)(seen.inputs), plan).run
    second = int(part.pages.request_start[len(part.trace) // 2])
    simulator = Simulator(part.trace, part.pages)
    rivals = {
        name: float((simulator.run(name, capacity, 0).outcome[second:] == HIT).mean())
        for name in (*classics(), OPTIMUM)
    }
    optimum = rivals.pop(OPTIMUM)
    return float((run.outcome[second:] == HIT).mean()), max(rivals.values()), optimum


def main() -> None:
    """Print a row for each test trace, and the median."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--weight", type=float, default=10_000)
    asked = parser.parse_args()
    settings = fit.Settings.of(load_params())
    seed = derive_seed(settings.seed, "retrained", asked.seed)
    settings = replace(settings, seed=seed)
    train = places(settings.categories, settings.roles, settings.corpus, "train")
    rows = fit.all_rows([Prepared.read(key, path) for key, path in train.items()], settings)
    tests = places(settings.categories, settings.roles, settings.corpus, "test")
    table = Table(
        "trace", "ours", "best classic", "optimum", "gap closed", title="second half, fitted on the first too"
    )
    found = []
    with progress("traces", len(tests)) as advance:
        for done, (key, path) in enumerate(tests.items()):
            ours, best, optimum = closed(Prepared.read(key, path), rows, settings, asked.weight, seed)
            share, _ = gap(ours, best, optimum)
            found.append(share)
            shown = "-" if share is None else f"{share:.3f}"
            table.add_row(key, f"{ours:.4f}", f"{best:.4f}", f"{optimum:.4f}", shown)
            advance(done + 1)
    known = [share for share in found if share is not None]
    table.add_row("median", "", "", "", f"{np.median(known):.3f}")
    out().print(table)


if __name__ == "__main__":
    main()
