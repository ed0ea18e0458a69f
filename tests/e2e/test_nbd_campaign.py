"""The campaign of tests/nbd_campaign.py: whatever happens to disk, SSD and label, no byte is stale and none is lost."""

import pytest

from tests.c_library import make
from tests.nbd_campaign import run, set_up
from tests.nbd_filter import build_plugin

pytestmark = pytest.mark.needs("nbdkit", "gcc", "root")


@pytest.mark.parametrize(
    "requests", [3_000, pytest.param(1_000_000, marks=[pytest.mark.long, pytest.mark.slow(seconds=1800)])]
)
def test_nothing_that_may_happen_makes_a_stale_byte(tmp_path, tmp_path_factory, requests):
    built = make(tmp_path_factory, "filter") / "nbdkit-cachezoo-filter.so"
    counts = run(set_up(tmp_path, built, build_plugin(tmp_path / "slow.so")), requests)
    assert counts["checked"] >= requests
    assert counts["after: taken up"] > 0
    assert counts["taken up"] > 0 or requests < 1_000_000
