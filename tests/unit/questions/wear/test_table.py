"""What a placement learns from, and is tuned on."""

from dataclasses import replace

import numpy as np
import pytest

from cachezoo.coded import Coded
from cachezoo.contest.verdict import Verdict
from cachezoo.flash_drive.names import BOUNDS
from cachezoo.flash_drive.writes import drive_writes
from cachezoo.questions.wear.options import WearOptions
from cachezoo.questions.wear.table import Placing, wear_table
from cachezoo.questions.wear.verdict import answer
from cachezoo.settings.wear import Drive
from cachezoo.show.formats import ordinary
from cachezoo.traces.chunks import CHUNK_BYTES
from cachezoo.traces.table import OP_READ, Trace
from cachezoo.zoo.streams.bench import Bench
from cachezoo.zoo.streams.deaths import MOST_PARTS
from tests.wear_data import CHUNKS, on_volume, skewed, written

CYCLES = [skewed(seed, 12_000) for seed in range(3)]
DRIVE = Drive(over_provisioning=0.25, gc_free_blocks=2)
COLUMNS = ("time_us", "op", "offset", "size")
EVERYTHING = written(np.arange(4 * CHUNKS))


def placing_of(cycles, drive=DRIVE):
    return Placing(Bench(drive_writes(cycles), drive), cycles, 0)


def test_a_saving_that_chance_moves_as_far_is_none():
    options = WearOptions(("legacy", "equal"), (1, 4), (0.25,), DRIVE, 0, ("greedy", "cost-benefit"))
    writes = drive_writes(CYCLES)
    table = wear_table(writes, CYCLES, options, lambda done, note="": None)
    greedy, by_age = table.advice
    assert (greedy.victim, by_age.victim) == ("greedy", "cost-benefit")
    assert greedy.legacy.waf != by_age.legacy.waf and greedy.noise > 0
    assert greedy.rival is None  # there is one placement alone

    def said(saved, noise):
        won = replace(greedy.chosen, fewer=saved, verdict=Verdict.BETTER)
        return ordinary(answer(replace(table, advice=(replace(greedy, chosen=won, noise=noise),))))

    assert said(0.1, 0.05).startswith("Do streams pay? Yes. At 25 % over-provisioning the drive without streams")
    assert said(0.1, 0.1).startswith("Do streams pay? No, chance moves as much. At 25 %")
    assert "ties between blocks move it by 10.0 %" in said(0.1, 0.1)
    # Under two victims that differ, both are named.
    won = replace(greedy, chosen=replace(greedy.chosen, fewer=0.1, verdict=Verdict.BETTER), noise=0.01)
    lost = replace(by_age, chosen=replace(by_age.chosen, fewer=-0.1, verdict=Verdict.WORSE), noise=0.01)
    text = ordinary(answer(replace(table, advice=(won, lost))))
    assert text.startswith(
        "Do streams pay? It depends on the rule by which the drive chooses the block to erase (greedy: yes; "
        "cost-benefit: no). At 25 % over-provisioning and with greedy the drive without streams writes "
    )
    assert f" With cost-benefit it writes {by_age.legacy.waf:.2f} without streams. With " in text


@pytest.mark.parametrize("page_bytes", [4096, 8192])
def test_a_forest_learns_from_pages_as_large_as_the_drives(page_bytes):
    drive = Drive(page_bytes=page_bytes, over_provisioning=0.25, gc_free_blocks=2)
    placing = Placing(Bench(drive_writes(CYCLES, page_bytes), drive), CYCLES, 0)
    placing.of("lifetime", 4)
    train = drive_writes(CYCLES[:1], page_bytes)
    assert placing.forest is not None
    assert placing.forest.horizon == min(train.footprint, len(train) // 2)


def test_a_forest_that_no_cycle_is_left_to_tune_says_so():
    notes = {}
    for count in (2, 3):
        placing = placing_of(CYCLES[:count])
        notes[count] = placing.of("lifetime", 4).note
    assert notes[2] == "lifetime: two cycles leave none to choose its classes and parts on: it takes classes 2, parts 1"
    assert notes[3] == ""


def test_no_placement_changes_by_what_is_written_later():
    """But for the oracle; and a drive's size follows from all cycles, so that the first one here writes all places."""
    drive = Drive(over_provisioning=0.25, gc_free_blocks=8)
    known = [EVERYTHING, *CYCLES[:2]]
    begun = len(drive_writes(known))
    placed, writes = [], []
    for last in (CYCLES[2], CYCLES[2].rows(0, 6000)):
        cycles = [*known, last]
        placing = placing_of(cycles, drive)
        placed.append([placing.of(name, 8) for name in ("fios:FC", "lifetime", "autostream")])
        writes.append(placing.bench.writes)
    for long, short in zip(*placed, strict=True):
        assert long.parameters == short.parameters
        early = short.place(writes[1])
        np.testing.assert_array_equal(long.place(writes[0])[: begun + 6000], early)
        assert len(np.unique(early[begun:])) > 1, short.policy


def test_a_forest_is_not_learned_from_cycles_that_only_read_and_says_so():
    reads = written(np.arange(CHUNKS), op=OP_READ)
    for cycles in ([reads, *CYCLES[:2]], [reads, CYCLES[0]]):
        placed = placing_of(cycles).of("lifetime", 4)
        assert placed.note == "lifetime: the cycles that it learns on write too little, so that all goes to stream 0"
        assert not placed.place(None).any()
    assert len(np.unique(placing_of([reads, *CYCLES]).of("lifetime", 4).place(None))) > 1


@pytest.mark.parametrize("few", [written(np.arange(CHUNKS), op=OP_READ), written(np.arange(19))])
def test_a_cycle_that_writes_too_little_to_tune_on_is_named_and_the_first_parameters_are_taken(few):
    cycles = [CYCLES[0], few, CYCLES[1]]
    placing = placing_of(cycles)
    count = 0 if few.op[0] == OP_READ else 19
    for name, told, taken in (
        ("autostream", {"decay": 0.5, "chunk_bytes": 1 << 15}, "decay 0.5, chunk_bytes 32768"),
        ("sepbit", {"collected": 4}, "collected 4"),
        ("oracle", {"rule": "both", "share": 0.0625}, "rule both, share 0.0625"),
        ("lifetime", {"classes": 2, "parts": 1}, "classes 2, parts 1"),
    ):
        placed = placing.of(name, 4)
        assert placed.parameters == told
        assert placed.note == f"{name}: cycle 2 of 3 writes {count} pages, too few to tune on: it takes {taken}"
    assert placing.of("equal", 4).note == ""


def grown(trace, chunks):
    """The trace with a last write so many chunks above the others."""
    return replace(trace, offset=np.append(trace.offset[:-1], trace.offset.max() + chunks * CHUNK_BYTES))


def volumes_joined(one, other):
    """The requests of two traces by turns."""
    order = np.arange(len(one) + len(other)).reshape(2, -1).T.ravel()
    columns = {name: np.concatenate([getattr(one, name), getattr(other, name)])[order] for name in COLUMNS}
    codes = np.repeat(np.array([0, 1], np.int32), [len(one), len(other)])[order]
    columns["time_us"] = np.arange(len(order), dtype=np.int64)
    return Trace(volume=Coded(codes, (one.volume.names[0], other.volume.names[0])), meta=one.meta, **columns)


def test_a_forest_sees_addresses_of_the_drive_that_it_serves_also_where_a_volume_grows_later():
    """Volume a grows in the last cycle, so that b begins higher on the drive than the train cycle alone would say."""
    base = [
        volumes_joined(on_volume(one, "a"), on_volume(other, "b"))
        for one, other in zip(CYCLES, [skewed(seed, 12_000) for seed in range(3, 6)], strict=True)
    ]
    cycles = [*base[:2], volumes_joined(grown(on_volume(CYCLES[2], "a"), 4000), on_volume(skewed(5, 12_000), "b"))]
    writes = drive_writes(cycles)
    placing = Placing(Bench(writes, DRIVE), cycles, 0)
    placing.of("lifetime", 8)
    train = np.unique(writes.address[writes.pages[writes.cycle(0)]])
    assert placing.forest is not None
    assert placing.forest.addresses.tolist() == train[np.arange(1, MOST_PARTS) * len(train) // MOST_PARTS].tolist()


def test_features_that_are_named_are_not_said_to_be_missing_where_nothing_is_written():
    reads = written(np.arange(CHUNKS), op=OP_READ)
    cycles = [CYCLES[0], reads, CYCLES[1]]
    for name in ("fios:FASC", "fios"):
        said = placing_of(cycles).of(name, 4).note
        assert said == f"{name}: cycle 2 writes nothing to learn from, so that all of cycle 3 goes to stream 0"


def test_what_fios_clusters_by_is_said_in_words_that_fit_any_number_of_streams():
    placing = placing_of(CYCLES)
    more = "fios:F: the chunks' features have 2 distinct points, and no more streams are used"
    assert [placing.of("fios:F", count).note for count in (2, 4, 16)] == ["", more, more]


def test_what_a_drive_places_or_nobody_can_is_shown_but_not_advised():
    by = ("legacy", "equal", "mida", "foresight", *BOUNDS)
    options = WearOptions(by, (1, 4), (0.25,), Drive(over_provisioning=0.25), 0, ("greedy",))
    table = wear_table(drive_writes(CYCLES), CYCLES, options, lambda done, note="": None)
    assert [row.placement for row in table.rows] == list(by)
    assert [row.streams for row in table.rows] == [1, 4, 6, 6, 4, 6]
    assert table.advice[0].chosen.placement == "equal"
    own = {row.placement: row for row in table.rows}
    best = min((own["mida"], own["foresight"]), key=lambda row: row.waf)
    assert (f"{best.waf:.2f} ({best.placement})" in ordinary(answer(table))) == (best.waf < own["equal"].waf)
    assert f"Known lifetimes would allow {min(own[name].waf for name in BOUNDS):.2f}" in ordinary(answer(table))
    assert best.shown == best.placement
