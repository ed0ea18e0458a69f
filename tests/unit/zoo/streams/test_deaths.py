"""Forests of lifetimes: what they may see, what they learn, and how they place."""

import numpy as np
import pytest

from cachezoo.errors import TrainingError
from cachezoo.flash_drive.placements import rule
from cachezoo.flash_drive.writes import drive_writes
from cachezoo.kernels.deaths import NAMES
from cachezoo.settings.wear import Drive
from cachezoo.traces.table import Trace
from cachezoo.zoo.streams.bench import Bench, classes_and_parts, online
from cachezoo.zoo.streams.deaths import MOST_PARTS, NUMBERS, fit_lifetimes, inputs_of, read_lifetimes, rows_of
from cachezoo.zoo.streams.dictionary import Dictionary
from cachezoo.zoo.streams.learn import Variant
from cachezoo.zoo.streams.settings import Classes, Lifetime
from tests.wear_data import skewed, written

DRIVE = Drive(over_provisioning=0.25, gc_free_blocks=2)
SMALL = Lifetime(seeds=3, rows=4000, trees=12, leaves=15)
STREAMS = 4


def moving(seed: int, n: int = 12_000) -> Trace:
    """A log that goes round in a region of its own, and scattered pages that are written once in a while.

    The log's place changes with the seed, so that no dictionary of another cycle knows it.
    """
    rng = np.random.default_rng(seed)
    log = 2400 + 600 * seed + np.arange(n) % 300
    return written(np.where(rng.random(n) < 0.7, log, rng.integers(0, 2400, n)), key=str(seed))


@pytest.fixture(scope="module")
def made():
    cycles = [moving(seed) for seed in range(3)]
    return cycles, fit_lifetimes(drive_writes(cycles[:1]), SMALL, 7, "ledger")


def described(writes):
    return np.concatenate([rows for _, rows in inputs_of(writes)])


def test_no_input_sees_what_is_written_later():
    trace, cut = skewed(1, 3000), 1700
    ends = [skewed(seed, 3000).rows(cut, 3000) for seed in (2, 3)]
    known = drive_writes([trace.rows(0, cut)])
    before = described(known)
    for end in ends:
        both = described(drive_writes([trace.rows(0, cut), end]))
        assert both[: len(known)].tobytes() == before.tobytes()
        assert len(both) > len(known)


def test_forests_are_the_same_bytes_each_time_and_differ_by_their_seeds(made, tmp_path):
    cycles, lifetimes = made
    found = []
    for name, forests in (("one", lifetimes), ("two", fit_lifetimes(drive_writes(cycles[:1]), SMALL, 7, "ledger"))):
        (tmp_path / name).mkdir()
        forests.write(tmp_path / name)
        found.append({file.name: file.read_bytes() for file in (tmp_path / name / "lifetime").iterdir()})
    assert found[0] == found[1]
    assert set(found[0]) == {"0.lgb.txt", "1.lgb.txt", "2.lgb.txt", NUMBERS}
    assert len({found[0][f"{seed}.lgb.txt"] for seed in range(3)}) == 3


def test_a_write_is_placed_whatever_is_written_after_it(made):
    cycles, lifetimes = made
    known = Bench.of(cycles[:1], [cycles[1]], DRIVE, STREAMS)
    longer = Bench.of(cycles[:1], [cycles[1], cycles[2]], DRIVE, STREAMS)
    short, long = (lifetimes.streams_of(0, one.writes, one.since, 3, 2) for one in (known, longer))
    assert np.array_equal(long[: len(short)], short) and len(np.unique(short)) > 2


def test_only_writes_whose_horizon_lies_in_the_cycle_are_learned_from():
    pages = np.array([0, 1, 0, 2, 0, 3, 1, 0, 0, 4])
    rows = rows_of(drive_writes([written(pages)]))
    assert rows.horizon == 5
    assert rows.inputs.shape == (5, len(NAMES))
    # Lifetimes 2, 5, 2, never and 3; what lives longer than the horizon counts as the horizon.
    np.testing.assert_allclose(rows.targets, np.log2([2, 5, 2, 5, 3]), rtol=1e-6)


def test_a_log_that_moves_is_told_apart_from_what_is_scattered(made):
    cycles, lifetimes = made
    bench = Bench.of(cycles[:1], cycles[1:2], DRIVE, STREAMS)
    tries = classes_and_parts(Classes(classes=[2, 3], parts=[1, 2]), STREAMS)
    rows = [bench.tried(bench.forests(lifetimes, own)[0]) for own in tries]
    chosen = min(rows, key=lambda row: row.waf)
    legacy = bench.run(rule("legacy", {}, STREAMS)).waf
    assert chosen.kind == "forest" and chosen.policy == "lifetime"
    test = Bench.of(cycles[:1], cycles[1:], DRIVE, STREAMS)
    found = {one.policy: test.run(one).waf for one in test.forests(lifetimes, chosen.parameters)}
    assert list(found) == ["lifetime", "lifetime.1", "lifetime.2", "lifetime.3"]
    assert found["lifetime"] == sorted(found[f"lifetime.{seed}"] for seed in (1, 2, 3))[1]
    assert found["lifetime"] < 0.9 * test.run(rule("legacy", {}, STREAMS)).waf
    assert chosen.waf < 0.9 * legacy


def test_the_longest_lived_class_is_cut_by_address_and_others_follow(made):
    cycles, lifetimes = made
    bench = Bench.of(cycles[:1], cycles[1:], DRIVE, STREAMS)
    whole = lifetimes.streams_of(0, bench.writes, bench.since, 3, 1)
    cut = lifetimes.streams_of(0, bench.writes, bench.since, 3, 2)
    assert not whole[: bench.since].any() and not cut[: bench.since].any()
    served = slice(bench.since, None)
    long = whole[served] == 0
    assert np.array_equal(cut[served][~long], whole[served][~long] + 1)
    address = bench.writes.address[bench.writes.pages[served]][long]
    assert np.array_equal(cut[served][long], (address >= lifetimes.addresses[MOST_PARTS // 2 - 1]).astype(np.uint8))
    assert set(cut[served][long].tolist()) == {0, 1}


def test_no_more_streams_are_tried_than_the_drive_has():
    tried = classes_and_parts(Classes(classes=[2, 3, 6], parts=[1, 4]), 5)
    assert [(one["classes"], one["parts"]) for one in tried] == [(2, 1), (2, 4), (3, 1)]


def test_forests_come_back_from_their_folder(made, tmp_path):
    _, lifetimes = made
    lifetimes.write(tmp_path)
    back = read_lifetimes(tmp_path)
    assert back is not None and list(back.forests) == list(lifetimes.forests)
    assert back.addresses.tolist() == lifetimes.addresses.tolist()
    assert (back.horizon, back.rows) == (lifetimes.horizon, lifetimes.rows)


@pytest.mark.parametrize("text", ["{}", '{"ranges": [[1]], "addresses": [], "horizon": 1, "rows": 1}'])
def test_a_damaged_folder_is_named_in_one_line(made, tmp_path, text):
    made[1].write(tmp_path)
    (tmp_path / "lifetime" / NUMBERS).write_text(text)
    with pytest.raises(TrainingError, match=r"lifetime\.json: not as this release writes it .* fit the model again"):
        read_lifetimes(tmp_path)
    assert read_lifetimes(tmp_path / "nowhere") is None


@pytest.mark.parametrize("count", [1, 2, 30])
@pytest.mark.filterwarnings("error")
def test_too_few_writes_make_no_forest(count):
    assert fit_lifetimes(drive_writes([written(np.arange(count))]), SMALL, 7, "ledger") is None


def test_the_dictionary_that_is_learned_anew_serves_from_its_cycle_on(made):
    cycles, _ = made
    bench = Bench.of(cycles[:1], cycles[1:], DRIVE, STREAMS)
    chunks = np.unique(bench.writes.chunks)
    first, anew = (
        Variant(name, Dictionary.of(chunks, np.full(len(chunks), stream, np.uint8), STREAMS))
        for stream, name in ((1, "F"), (2, "S"))
    )
    test = bench.writes.cycle(-1).start
    placed = online([(bench.since, first), (test, anew)]).place(bench.writes)
    assert not placed[: bench.since].any()
    assert set(placed[bench.since : test].tolist()) == {1} and set(placed[test:].tolist()) == {2}
