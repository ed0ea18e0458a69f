"""What is advised for a system, on traces whose answer is known beforehand."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from cachezoo.contest.choice import Goal
from cachezoo.errors import ConfigError, TraceError
from cachezoo.kernels.targets.log import LATER, ON_SSD, WRITE
from cachezoo.questions.targets.bench import Bench
from cachezoo.questions.targets.choice import Answer, advise, commands, trials
from cachezoo.questions.targets.nbdkit import NBDKIT
from cachezoo.questions.targets.open_cas import OPEN_CAS
from cachezoo.questions.targets.options import DISK, NAME, SSD, TargetOptions, checked
from cachezoo.questions.targets.sentences import MEANINGS, answer, caption, cells, risk, sureness, times
from cachezoo.questions.targets.target import Devices, TargetRun
from cachezoo.show.formats import latency, ordinary
from cachezoo.sizes import Size
from tests.tiers_data import DEVICE, page_stream, stream_of

N = 1200
rng = np.random.default_rng(5)
FRESH = page_stream(rng.permutation(N) * 101)
HOT = page_stream(rng.integers(0, 40, N) * 11)
REWRITTEN = page_stream(rng.integers(0, 40, N) * 11, write=np.ones(N))


@cache
def advised(ts, target=OPEN_CAS, **options):
    """What is advised; equal questions are answered once."""
    seen = []
    given = TargetOptions(target, **options)
    found = advise(ts, DEVICE, given, lambda done, _="": seen.append(done))
    assert seen == sorted(seen) and 0 < seen[-1] <= trials(given)
    return found


def test_pages_that_never_come_back_need_no_cache():
    found = advised(FRESH, NBDKIT)
    assert found.answer is Answer.NOTHING
    assert found.sizes.ssd == N  # all that may be had does not pay
    assert commands(found) == []
    assert answer(found).startswith("Do not put the nbdkit filter before this disk: ")
    assert cells(found)[0][""] == ">"
    assert found.values()["answer"] == "nothing"


def test_a_hot_set_is_cached_as_the_system_comes_if_no_setting_saves_more():
    found = advised(HOT)
    assert found.answer is Answer.DEFAULTS
    assert found.advised.mode == "wt"
    assert found.advised.settings == OPEN_CAS.defaults
    assert found.default.ran.hits > 0.9
    assert found.over_none.value > 0.9
    assert commands(found)[0].endswith("--cache-mode wt --cache-line-size 4")


def test_what_is_written_again_and_again_is_written_back():
    found = advised(REWRITTEN)
    assert found.answer is Answer.FOUND
    assert found.target.mode(found.advised.mode).writes == "back"
    assert found.advised.ran.at_risk > 0
    assert "lost with it" in risk(found)
    assert found.advised.ran.mean < 0.2 * found.none.mean
    assert found.rival.writes == "back"


def test_without_write_back_its_rivals_write_through_too():
    found = advised(REWRITTEN, modes=("wt", "wa"))
    assert {row.mode for row in found.rows} == {"wt", "wa"}
    assert [row.writes for row in found.zoo] == ["through"]
    assert risk(found) == ""


def test_the_size_is_the_least_that_takes_hardly_longer():
    found = advised(HOT)
    assert 40 <= found.sizes.ssd <= 40 * 1.25
    spread = page_stream(
        np.concatenate([rng.integers(0, 30, N) * 11, 10_000 + rng.permutation(N) * 101])[rng.permutation(2 * N)]
    )
    assert advised(spread).sizes.ssd < spread.pages.n_pages / 3
    assert advised(HOT, most=Size.parse("50%")).sizes.ssd <= 20


def test_the_mean_is_that_of_its_blocks_and_of_reads_and_writes():
    ts = stream_of([(k % 3 == 0, (k * 5) % 60, 1 + k % 4) for k in range(600)])
    found = advised(ts)
    for row in found.rows:
        own = row.ran
        parts = (~found.bench._write[found.bench.first :]).mean()
        assert parts * own.read_us + (1 - parts) * own.write_us + own.owed_us == pytest.approx(own.mean)
        assert own.blocks.mean() == pytest.approx(own.mean, rel=0.02)


def test_what_is_still_to_be_written_back_is_charged():
    ts = page_stream(np.arange(400) * 50, write=np.ones(400))
    bench = Bench.of(ts, DEVICE)
    n = len(ts.trace)
    late = np.arange(n, dtype=np.int32)
    ssd = TargetRun(np.full(n, 3, np.uint8), np.full(n, ON_SSD | WRITE, np.uint8), late, late.astype(np.int64),
                    np.ones(n, np.int32), np.arange(1, n + 1, dtype=np.int32))  # fmt: skip
    through = bench.no_cache()
    put_off = bench.ran(ssd)
    assert put_off.owed == n - bench.first
    assert put_off.write_us < 0.1 * through.mean
    assert put_off.mean == pytest.approx(through.mean, rel=0.05)
    assert put_off.later == 1.0
    assert put_off.disk_us == pytest.approx(through.disk_us, rel=0.05)


def test_what_nobody_waits_for_delays_who_comes_after_it():
    ts = page_stream(np.arange(400) * 50)
    bench = Bench.of(ts, DEVICE)
    n = len(ts.trace)
    request = np.repeat(np.arange(n, dtype=np.int32), 2)
    code = np.tile(np.array([0, WRITE | LATER], np.uint8), n)
    place = np.repeat(np.arange(n) * 50, 2)
    run = TargetRun(np.full(n, 3, np.uint8), code, request, place, np.ones(2 * n, np.int32), np.zeros(n, np.int32))
    assert bench.ran(run).mean > 1.8 * bench.no_cache().mean
    assert bench.ran(run).later == pytest.approx(0.5, abs=0.1)


def test_the_words_say_what_the_figures_are():
    found = advised(REWRITTEN)
    text = answer(found)
    assert text.startswith("Run Open CAS in mode w")
    assert "as it comes" in text
    assert "Of cachezoo's policies the fastest on the first half, " in text
    assert f"against Open CAS's {latency(found.advised.ran.mean)}" in text
    assert "counted from request 600 of 1,200 on" in caption(found, "x")
    assert sureness(found)[0].startswith("Best found on the first half")
    assert "On the second half it saves" in sureness(found)[0]
    assert "against mode wt with its defaults" in sureness(found)[0]
    assert sureness(found)[-1].startswith(f"Against no cache mode {found.advised.mode} with ")
    assert {*MEANINGS} <= {*cells(found)[0]}
    assert [row[""] for row in cells(found)].count(">") == 1


def test_the_words_say_why_the_defaults_stay():
    found = advised(HOT)
    slower = replace(found.default, ran=replace(found.default.ran))
    kept = replace(found, found=slower, rows=(found.default, slower))
    assert kept.answer is Answer.DEFAULTS
    said = [line[:16] for line in sureness(kept)]
    assert said == ["Best found on th", "So the defaults ", "Against no cache"]
    assert sureness(kept)[0].endswith(" It is not taken: it saves nothing.")
    assert times(kept).startswith("Times are with 1 request outstanding, which waits for what is written back.")
    mean, blocks = found.default.ran.mean, found.default.ran.blocks
    swing = np.where(np.arange(len(blocks)) % 4 < 3, 0.5, 2.0)
    for share, scale, why in (
        (0.828, swing, "its interval is not all above 0"), (0.99, np.full(len(blocks), 0.99), "save 2 % or more"),
    ):  # fmt: skip
        unsure = replace(found.default, ran=replace(found.default.ran, mean=share * mean, blocks=scale * blocks))
        again = replace(found, found=unsure, rows=(found.default, unsure))
        assert again.answer is Answer.DEFAULTS
        assert ordinary(sureness(again)[0]).endswith(f"{why}.")
    faster = replace(found.default, ran=replace(found.default.ran, mean=1.0))
    late = replace(found, found=found.default, rows=(found.default, faster))
    assert "Other rows that take less time were not the best on the first half, which chooses." in sureness(late)


def test_where_no_setting_pays_a_mode_with_its_defaults_may():
    """What the first half found fails on the second; the mode that it would choose by defaults does not."""
    found = advised(REWRITTEN)
    head = Bench.of(REWRITTEN, DEVICE).head
    assert found.plain.settings == OPEN_CAS.defaults and found.plain.writes == "back"
    most = replace(found.sizes, ssd=40)
    means = {
        mode.id: head.ran(OPEN_CAS.run(head.ts, most, mode.id, OPEN_CAS.defaults)).mean
        for mode in found.options.allowed
    }
    assert means[found.plain.mode] == min(means.values())
    failed = replace(found.found, ran=found.default.ran)
    kept = replace(found, found=failed, rows=(*found.rows, failed))
    assert kept.answer is Answer.MODE
    assert kept.advised is kept.plain
    assert kept.values()["saved_of_defaults"]["gain"] == kept.over_default(kept.plain).value > 0.5
    assert [row[""] for row in cells(kept)].count(">") == 1
    first, second, *_ = sureness(kept)
    assert first.endswith("It is not taken: it saves nothing.")
    assert second.startswith("Best of the modes with their defaults on the first half: w")
    assert "not taken" not in second and not any("defaults stay" in line for line in sureness(kept))
    neither = replace(kept, plain=replace(kept.plain, ran=found.default.ran))
    assert neither.answer is Answer.NOTHING  # as the defaults do not pay either
    assert sum("It is not taken: " in line for line in sureness(neither)) == 2


def test_trials_are_those_of_the_knobs_that_a_mode_has():
    options = TargetOptions(OPEN_CAS, modes=("wt",))
    zoo, counted = 12, 2 + 1 + 1
    assert trials(options) == 2 * (1 + 4 + 4 + 2 + 3) + 6 + zoo + counted


def test_choosing_twice_says_the_same():
    assert advised(HOT, NBDKIT).values() == advised.__wrapped__(HOT, NBDKIT).values()


def test_the_second_half_chooses_nothing():
    """Whatever follows the first half, size, mode, settings and the zoo's policy are the same."""
    first = rng.integers(0, 40, N) * 11
    one, other = (page_stream(np.concatenate([first, rest])) for rest in (first, 50_000 + rng.permutation(N) * 101))
    own, again = (advised(ts, NBDKIT, most=Size.parse("32p")) for ts in (one, other))
    assert (own.sizes.ssd, own.found.mode) == (again.sizes.ssd, again.found.mode)
    assert own.plain.mode == again.plain.mode
    assert own.found.settings == again.found.settings
    assert own.rival.label == again.rival.label
    assert own.found.ran.mean < again.found.ran.mean


def test_a_trace_that_is_too_short_is_refused():
    with pytest.raises(TraceError, match="longer trace"):
        advised(page_stream([1]))


@pytest.mark.parametrize(("options", "says"), [
    ({"modes": ("writeback",)}, "caches in wt, wb, wa, wo"),
    ({"modes": ("pt",)}, "caches in wt, wb, wa, wo"),
    ({"ram": Size.parse("1MiB")}, "no cache in RAM"),
])  # fmt: skip
def test_what_a_system_has_not_is_refused(options, says):
    with pytest.raises(ConfigError, match=says):
        TargetOptions(OPEN_CAS, **options)


@pytest.mark.parametrize("devices", [
    Devices("/dev/a; rm -rf /", SSD, NAME), Devices(DISK, "ssd", NAME), Devices(DISK, DISK, NAME),
    Devices(DISK, SSD, "-rf"), Devices(DISK, SSD, "a b"),
])  # fmt: skip
def test_what_cannot_be_written_into_a_command_is_refused(devices):
    with pytest.raises(ConfigError):
        checked(devices)


def test_a_lead_over_the_zoo_is_a_share_of_time():
    found = advised(HOT)
    assert found.loss.value == Goal.COST.lead(found.rival.ran.mean, found.advised.ran.mean)


def test_what_was_found_is_advised_where_it_alone_surely_beats_no_cache():
    found = advised(REWRITTEN)
    far, near = found.found.ran, replace(found.found.ran, blocks=found.none.blocks, mean=found.none.mean)
    usual = replace(found.default, ran=near)
    assert replace(found, default=usual, found=replace(found.found, ran=far)).answer is Answer.FOUND
    none = replace(found, default=usual, found=replace(found.found, ran=near), plain=usual)
    assert none.answer is Answer.NOTHING
