"""What a placement learns from, and is tuned on."""

import numpy as np
import pytest

from cachezoo.evaluation.wear.placing import Placing
from cachezoo.settings.wear import Drive
from cachezoo.wear.writes import drive_writes
from tests.unit.systems.streams.test_pipeline import CHUNKS, skewed, written

CYCLES = [skewed(seed, 12_000) for seed in range(3)]
EVERYTHING = written(np.arange(4 * CHUNKS))


@pytest.mark.parametrize("page_bytes", [4096, 8192])
def test_a_forest_learns_from_pages_as_large_as_the_drives(page_bytes):
    drive = Drive(page_bytes=page_bytes, over_provisioning=0.25, gc_free_blocks=2)
    placing = Placing(drive_writes(CYCLES, page_bytes), CYCLES, drive, 0)
    placing.of("lifetime", 4)
    train = drive_writes(CYCLES[:1], page_bytes)
    assert placing.forest is not None
    assert placing.forest.horizon == min(train.footprint, len(train) // 2)


def test_a_forest_that_no_cycle_is_left_to_tune_says_so():
    drive = Drive(over_provisioning=0.25, gc_free_blocks=2)
    notes = {}
    for count in (2, 3):
        placing = Placing(drive_writes(CYCLES[:count]), CYCLES[:count], drive, 0)
        notes[count] = placing.of("lifetime", 4).note
    assert notes[2] == "lifetime: two cycles leave none to choose its classes and parts on: it takes 2 and 1"
    assert notes[3] == ""


def test_no_placement_changes_by_what_is_written_later():
    """But for the oracle; and a drive's size follows from all cycles, so that the first one here writes all places."""
    drive = Drive(over_provisioning=0.25, gc_free_blocks=8)
    known = [EVERYTHING, *CYCLES[:2]]
    begun = len(drive_writes(known))
    placed = []
    for last in (CYCLES[2], CYCLES[2].rows(0, 6000)):
        cycles = [*known, last]
        placing = Placing(drive_writes(cycles), cycles, drive, 0)
        placed.append([placing.of(name, 8) for name in ("fios:FC", "lifetime", "autostream")])
    for long, short in zip(*placed, strict=True):
        assert long.parameters == short.parameters
        np.testing.assert_array_equal(long.place[: begun + 6000], short.place)
        assert len(np.unique(short.place[begun:])) > 1, short.name
