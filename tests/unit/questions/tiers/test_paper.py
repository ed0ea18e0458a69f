"""The paper's metrics under their names, and its own numbers where it prints enough to check them."""

import pytest

from cachezoo.errors import ConfigError
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.paper import paper_metrics, reduction, usd_per_io
from cachezoo.questions.tiers.response import DRAM_US, response
from cachezoo.questions.tiers.run import run_tiers
from cachezoo.questions.tiers.stream import tier_stream
from tests.page_data import seeded_trace
from tests.tiers_data import DEVICE


@pytest.fixture(scope="module")
def pair():
    ts = tier_stream(seeded_trace(6000, 800, 2))
    return [response(ts, run_tiers(parse_hierarchy(text), ts, 40, 200), DEVICE) for text in ("hca", "hcalfu")]


def test_each_equation_as_printed(pair):
    own, base = (found.tiered for found in pair)
    found = paper_metrics(own, base)
    assert found.xcrta == pytest.approx(own.rta_ssd_us * own.shr)
    assert found.hcrta == pytest.approx(own.rhr * DRAM_US + own.shr * own.shr * own.rta_ssd_us)
    assert found.xciops == pytest.approx(own.iops_ssd * own.shr)
    assert found.bdrta == pytest.approx(base.dhr * base.rta_hdd_us)
    assert found.hcdrta == pytest.approx(own.dhr * own.rta_hdd_us)
    assert own.amat_us == pytest.approx(own.rhr * DRAM_US + found.xcrta + found.hcdrta)
    assert found.rhr + found.shr + found.dhr == pytest.approx(1)


def test_hcrta_ranks_a_hierarchy_that_does_nothing_first(pair):
    own, base = (found.tiered for found in pair)
    assert base.amat_us > own.amat_us
    assert paper_metrics(base, base).hcrta < paper_metrics(own, base).hcrta


@pytest.mark.parametrize(
    ("base", "hybrid", "printed", "true"),
    [(0.09, 0.04, 0.3077, 0.5556), (1.89, 0.94, 0.3322, 0.5026),
     (0.80, 0.22, 0.2157, 0.725), (1.44, 0.71, 0.3302, 0.5069)],
)  # fmt: skip
def test_the_tables_reductions_are_none(base, hybrid, printed, true):
    """Tables I and II: latency and cost of an I/O."""
    assert hybrid / (base + hybrid) == pytest.approx(printed, abs=1e-4)
    assert reduction(base, hybrid) == pytest.approx(true, abs=1e-4)
    assert reduction(base, base) == 0


def test_reductions_of_nothing_are_refused():
    with pytest.raises(ConfigError, match="a reduction from 0: the base must be above 0"):
        reduction(0.0, 1.0)


def test_dollars_per_io_are_a_mean_over_snapshots(pair):
    found = pair[0]
    snapshots = found.iops_by_snapshot()
    assert usd_per_io(found, 250.0) == pytest.approx((250.0 / snapshots).mean())
    assert usd_per_io(found, 500.0) == pytest.approx(2 * usd_per_io(found, 250.0))
