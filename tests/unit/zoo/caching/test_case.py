from pathlib import Path

from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import OPTIMUM, classics, policy
from cachezoo.policies.simulate import Simulator
from cachezoo.traces.pages import capacity_pages
from cachezoo.zoo.caching.case import classic_hits
from tests.rcrnn_data import make_part, make_trace


def test_the_classics_run_on_the_stream_that_an_evaluation_runs_them_on(tmp_path: Path) -> None:
    part = make_part(make_trace(4000, 2, "validation"), tmp_path).part
    capacity = capacity_pages(0.1, part.pages.n_pages)
    names = [*classics(), "reca(bar=0.5)", "rejectx+arc", OPTIMUM]
    simulator = Simulator(part.trace, part.pages)
    for name, hits in classic_hits(part, names, capacity):
        assert int(hits.sum()) == simulator.run(name, capacity, 0).hits, name
    # These look at writes, which single reads of a page would not show them.
    for name, hits in classic_hits(part, ["hystor", "reca"], capacity):
        as_reads = policy(name).hits(part.pages.page_ids, part.pages.n_pages, capacity)
        assert (hits != (as_reads == HIT)).any(), name
