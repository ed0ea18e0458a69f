"""Partitioners: their texts, and what each does with a mix."""

import numpy as np
import pytest

from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import policy
from cachezoo.policies.stream import Stream
from cachezoo.questions.share.learned import online_split
from cachezoo.questions.share.mix import Application, mix_pages
from cachezoo.questions.share.partition import Floor, Task
from cachezoo.questions.share.partitioners import (
    PARTITIONERS,
    equal_split,
    parse,
    parse_several,
    proportional_split,
)
from tests.sharing_data import small_mix

MIX = small_mix()
SMALL = ("equal(fragment=1)", "proportional(fragment=1)", "static-best(fragment=1)", "ucp(window=200, fragment=1)",
         "shared(fragment=1)", "hindsight(window=200, fragment=1)", "gvpa(fragment=1, q=100, n=64)",
         "gvpa(fragment=1, q=100, n=64, cost=1, reach=4)", "fixed(fragment=1, pages=16/7/1, policy=lru/s3fifo/lru)",
         "learned(fragment=1, policy=lru|s3fifo)", "learned(fragment=1, policy=lru|s3fifo, talus=1)",
         "equal(fragment=1, policy=lru|s3fifo)", "ucp(fragment=1, window=200, policy=s3fifo)",
         "climb(fragment=1, shadow=4)", "shared(fragment=1, policy=lru|s3fifo)")  # fmt: skip
HALF = np.arange(len(MIX)) >= len(MIX) // 2


@pytest.mark.parametrize(
    ("text", "canonical"),
    [
        ("equal", "equal"),
        (" gvpa ( cost = 1 , reach=4,queue=lru) ", "gvpa(cost=1, reach=4)"),
        ("gvpa(queue=arc, alpha=.5)", "gvpa(queue=arc, alpha=0.5)"),
        ("shared(policy=lru)", "shared"),
        ("shared(policy=coinflip(p=0.25)+arc, fragment=16)", "shared(policy=coinflip(p=0.25)+arc, fragment=16)"),
        ("ucp()", "ucp"),
        ("gvpa(queue=lru/lfu, cost=0/1, q=2000)", "gvpa(queue=lru/lfu, cost=0/1)"),
        ("fixed(pages=3/4, policy=lru/rejectx)", "fixed(pages=3/4, policy=lru/rejectx)"),
        ("learned(policy=auto, by=optimum)", "learned"),
    ],
)
def test_texts_have_one_form_that_reads_back(text, canonical):
    assert str(parse(text)) == canonical and parse(canonical) == parse(text)


def test_a_comma_in_brackets_parts_no_partitioners_and_each_runs_once():
    found = parse_several("gvpa(cost=1, reach=4), equal,shared(policy=lru),shared, equal")
    assert [str(one) for one in found] == ["gvpa(cost=1, reach=4)", "equal", "shared"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "partitioner (empty): "),
        ("gvp", "did you mean gvpa? use one of gvpa, equal"),
        ("equal(fragment=0)", "fragment = 0 is outside"),
        ("equal(fragment=1.5)", "is no whole number"),
        ("equal(window=3)", "window=3 is no value of equal; it takes policy, fragment"),
        ("gvpa(cost)", "cost is no value of gvpa; it takes queue, n"),
        ("gvpa(cost=1, cost=2)", "cost is given twice"),
        ("gvpa(cost=dear)", "cost = dear is no number"),
        ("gvpa(queue=mru)", "queue=mru: use one of lru, lfu, arc"),
        ("shared(policy=lru+next(n=4))", "prefetches"),
        ("gvpa(queue=lru/mru)", "queue=mru: use one of lru"),
        ("gvpa(cost=1/x)", "cost = 1/x is no number"),
        ("gvpa(step=1/2)", "step = 1/2 is no number"),
        ("fixed(pages=0/4)", "pages=0: give the pages of each part"),
        ("equal(policy=vrm)", "as parts of a cache these are gvpa's"),
        ("learned(by=luck)", "by=luck: use one of optimum, lookahead"),
        ("shared(policy=belady)", "a bound"),
        ("shared(policy=nothing)", "nothing is unknown"),
    ],
)
def test_what_names_no_partitioner_is_refused_in_one_line(text, said):
    with pytest.raises(ConfigError) as left:
        parse(text)
    assert said in str(left.value) and "\n" not in str(left.value)


def test_splits():
    assert equal_split(11, 3).tolist() == [4, 4, 3]
    assert proportional_split(11, np.array([1, 1, 6])).tolist() == [2, 2, 7]
    assert proportional_split(3, np.array([9, 1, 1])).tolist() == [1, 1, 1]
    assert proportional_split(10, np.array([1, 2, 4])).sum() == 10


@pytest.mark.parametrize("text", SMALL)
def test_every_split_is_of_the_whole_cache_and_leaves_each_something(text):
    found = parse(text).run(MIX, 24, HALF)
    assert len(found.hit) == len(MIX) and found.begins[0] == 0 and (np.diff(found.begins) > 0).all()
    if text.startswith("shared"):
        assert found.splits.sum(axis=1).max() == 24 and not found.splits[0].any()
    else:
        assert (found.splits.sum(axis=1) == 24).all() and found.splits.min() >= 1
    moved = found.moved
    assert moved.sum() == found.fragmentation.sum() + found.allocation.sum()
    assert (moved.sum() > 0) == ("gvpa" in text)


def test_all_partitioners_are_tried_here():
    assert {parse(text).partitioner for text in SMALL} == set(PARTITIONERS)


def misses(text, pages=24, counted=None):
    found = parse(text).run(MIX, pages, counted)
    return int((~found.hit & (True if counted is None else counted)).sum())


def test_no_fixed_split_beats_the_best_one_and_no_lru_partitions_the_bound():
    best = misses("static-best(fragment=1)")
    fixed = [misses(text) for text in ("equal(fragment=1)", "proportional(fragment=1)")]
    assert best < min(fixed)
    assert misses("hindsight(window=200, fragment=1)") <= min(best, misses("ucp(window=200, fragment=1)"))


def test_the_best_split_gives_the_loop_its_pages_and_the_scan_the_least():
    split = parse("static-best(fragment=1)").run(MIX, 24).splits[0]
    assert split[0] >= 16 and split[2] == 1


def test_the_best_split_is_the_best_for_what_counts():
    counted = np.arange(len(MIX)) >= 4500
    splits = [parse(f"static-best(fragment={k})").run(MIX, 24, counted) for k in (1, 4)]
    every = parse("static-best(fragment=1)").run(MIX, 24)
    assert (~splits[0].hit & counted).sum() <= min((~one.hit & counted).sum() for one in (splits[1], every))


def test_ucp_starts_equal_and_learns_from_what_was():
    found = parse("ucp(window=200, fragment=1)").run(MIX, 24)
    assert found.splits[0].tolist() == [8, 8, 8]
    assert (found.splits[1:, 0] >= 16).all() and (found.splits[1:, 2] <= 2).all()


def test_shared_is_the_policy_over_all_references_and_says_whose_pages_it_holds():
    found = parse("shared(policy=s3fifo, fragment=1)").run(MIX, 24)
    own = policy("s3fifo").hits(MIX.page_ids, MIX.n_pages, 24) == HIT
    assert (found.hit == own).all()


def test_a_shared_virtual_cache_reads_what_it_moves():
    text = "vrm(n=64, fragment=2, q=50)"
    shared = parse(f"shared(policy={text}, fragment=1)").run(MIX, 16)
    run = policy(text).simulate(Stream.of_pages(MIX.page_ids, MIX.n_pages), 16)
    assert run.moved is not None and run.moved.sum() > 0
    assert shared.moved.tolist() == run.moved.tolist()
    assert not shared.known and shared.splits.shape == (0, MIX.count)


def test_a_cache_that_is_too_small_names_what_it_takes():
    with pytest.raises(
        ConfigError, match=r"has 2 fragments of 256 pages, and 3 applications take 1 each: give at least"
    ):
        parse("equal").run(MIX, 700)
    with pytest.raises(ConfigError, match=r"3 applications take 2 each"):
        parse("gvpa(fragment=4)").run(MIX, 20)


def test_a_queue_below_the_cache_is_refused():
    with pytest.raises(ConfigError, match=r"n = 20 is below the cache of 24 pages.*gvpa\(n=24\)"):
        parse("gvpa(fragment=1, n=20)").run(MIX, 24)


def test_applications_have_settings_of_their_own():
    text = "gvpa(fragment=1, n=64, q={q}, queue={queue}, cost={cost}, optimal={optimal})"
    same = parse(text.format(q="100/100/100", queue="lru/lru/lru", cost="1/1/1", optimal="0/0/0")).run(MIX, 24)
    one = parse(text.format(q=100, queue="lru", cost=1, optimal=0)).run(MIX, 24)
    assert (same.hit == one.hit).all() and (same.splits == one.splits).all()
    own = parse(text.format(q="100/50/150", queue="lru/lfu/arc", cost="0/1/1", optimal="1/0/0")).run(MIX, 24)
    assert (own.begins == one.begins).all() and (own.hit != one.hit).any()
    with pytest.raises(ConfigError, match=r"queue=lru/lfu: 2 values for 3 applications; give one each, or one"):
        parse("gvpa(fragment=1, n=64, queue=lru/lfu)").run(MIX, 24)


def test_a_queue_of_the_usual_length_grows_with_the_cache():
    length = 262144 + 2
    wide = mix_pages([Application(str(a), np.arange(length, dtype=np.int32), length) for a in range(2)])
    found = parse("gvpa(fragment=65536, f=1, q=100000)").run(wide, 2 * 65536 * 3)
    with pytest.raises(ConfigError, match="n = 262144 is below the cache of 393216 pages"):
        parse("gvpa(n=262144, fragment=65536, f=1, q=100000)").run(wide, 2 * 65536 * 3)
    assert (found.splits.sum(axis=1) == 6 * 65536).all() and not found.hit.any()


def test_queues_are_run_once_for_all_that_have_them():
    mix = small_mix(100)
    first = mix.moves("lru", 64)
    assert mix.moves("lru", 64) is first
    for n in range(40, 44):
        mix.moves("lru", n)
    assert mix.moves("lru", 64) is not first
    assert (mix.moves("lru", 64).position == first.position).all()


def test_a_learned_split_is_of_what_was_before_and_as_good_as_any_there():
    text = "learned(fragment=1, policy=lru|s3fifo)"
    own = parse(text).run(MIX, 24, HALF)
    later = MIX.app.copy()
    assert own.splits[0, 0] >= 16 and own.policies[0] == "lru" and (later == MIX.app).all()
    before = [int((~parse(one).run(MIX, 24, HALF).hit & ~HALF).sum()) for one in (text, "equal(fragment=1)")]
    assert before[0] <= before[1]
    with pytest.raises(ConfigError, match="it learns from page accesses before those that count, and all count"):
        parse(text).run(MIX, 24)


def test_floors_hold_in_every_split_that_is_decided():
    floors = (Floor(), Floor(), Floor(pages=7))
    for text in ("learned(fragment=1, policy=lru|s3fifo)", "learned(fragment=1, policy=lru, by=lookahead)",
                 "ucp(window=200, fragment=1)", "ucp(window=200, fragment=1, policy=s3fifo)",
                 "climb(fragment=1, shadow=4)", "static-best(fragment=1)"):  # fmt: skip
        own = parse(text).run(MIX, 24, HALF, floors)
        assert own.splits[:, 2].min() >= 7 and own.splits.sum(axis=1).max() == 24, text
    own = parse("learned(fragment=1, policy=lru)").run(MIX, 24, HALF, (Floor(), Floor(hits=0.45), Floor()))
    free = parse("learned(fragment=1, policy=lru)").run(MIX, 24, HALF)
    assert own.splits[0, 1] > free.splits[0, 1]


def test_ucp_of_lru_by_shadows_is_that_by_stack_distances():
    """Shadows at every size of the grid, a fragment each, know what the histogram does."""
    plain, shadows = (parse(f"ucp(window=200, fragment=1{text})") for text in ("", ", steps=24, policy=lru|lru"))
    own = plain.run(MIX, 24, HALF)
    other = online_split(Task(MIX, 24, HALF), "lru", 200, 24, 1)
    assert str(shadows) == str(plain)
    assert (own.splits == other.splits).all() and (own.hit == other.hit).all()


def test_talus_makes_a_cliff_a_slope():
    """A loop of 64 pages in 32: LRU hits nothing, and a hash that keeps half of the loop in the cache nearly half."""
    loop = Application("loop", (np.arange(6400) % 64).astype(np.int32), 64)
    scan = Application("scan", np.arange(6400, dtype=np.int32), 6400)
    mix = mix_pages([loop, scan])
    half = np.arange(len(mix)) >= len(mix) // 2
    plain, convex = (parse(f"learned(fragment=1, policy=lru, steps=40, talus={own})").run(mix, 40, half)
                     for own in (0, 1))  # fmt: skip
    assert not plain.hit.any() and 0.35 < convex.hit[mix.app == 0].mean() < 0.65
