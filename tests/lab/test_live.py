"""What is made of runs of programs in turn before a mounted cache."""

from itertools import product
from pathlib import Path
from statistics import fmean, geometric_mean, stdev

import numpy as np
import pytest
from scipy.stats import t as student

from cachezoo.io import write_json
from cachezoo.seeds import derive_seed
from cachezoo.show.output import drawn
from lab.reconfigure.live import (
    FILE,
    IN_TURN,
    NAMING,
    NO_CACHE,
    PLOT,
    Live,
    Load,
    Run,
    Turn,
    draw,
    read_live,
    rows_of,
    table,
)

ROOT = Path(__file__).resolve().parents[2]
CACHES = (NO_CACHE, "lru", "pairs's model", IN_TURN, NAMING)


def turn(rng, cache):
    """A turn with figures that are drawn; without a cache nothing reaches one."""
    cached, found = cache != NO_CACHE, cache in (IN_TURN, NAMING) and rng.random() < 0.7
    after = float(rng.choice([0.0, rng.uniform(0, 2)]))
    accesses = int(rng.integers(1, 900)) if cached else 0
    return Turn(
        program="nginx",
        seconds=2.0,
        operations=float(rng.uniform(1, 900)),
        response_ms=float(rng.uniform(1, 90)),
        read_ms=1.0,
        accesses=accesses,
        hits=int(rng.integers(0, accesses + 1)),
        ssd_mib=float(rng.uniform(0, 9)) if cached else 0.0,
        takeovers=int(found),
        right_after_s=after if found else None,
        right_after_requests=int(900 * after) if found else None,
        periods=[float(rng.random()) if cached else None, None],
    )


def live(repeats, turns=2, seed=0):
    rng = np.random.default_rng(derive_seed(seed, "live", repeats))
    runs = [
        Run(repeat=repeat, cache=cache, turns=[turn(rng, cache) for _ in range(turns)])
        for repeat, cache in product(range(repeats), CACHES)
    ]
    loads = [Load(program=one, recipe="made", category=one) for one in ("postgres", "nginx")]
    return Live(
        loads=loads, turn_s=4, turns=turns, repeats=repeats, cache_pages=1024, disk_ms=1, period_s=2.0,
        models={"caching.pairs": "0"}, checked=len(runs), runs=runs, rows=rows_of(runs),
    )  # fmt: skip


def interval(values):
    half = student.ppf(0.95, len(values) - 1) * stdev(values) / len(values) ** 0.5
    return [fmean(values) - half, fmean(values) + half]


@pytest.mark.parametrize("repeats", [2, 5])
def test_a_row_is_of_all_repeats_and_pairs_them(repeats):
    found = live(repeats)
    by_place = {(run.cache, run.repeat): run for run in found.runs}
    for row in found.rows:
        own, models, bare = ([by_place[name, k] for k in range(repeats)] for name in (row.cache, IN_TURN, NO_CACHE))
        ratios = [sum(one.hits for one in run.turns) / max(1, sum(one.accesses for one in run.turns)) for run in own]
        theirs = [sum(one.hits for one in run.turns) / sum(one.accesses for one in run.turns) for run in models]
        assert row.hit_ratio == pytest.approx(fmean(ratios))
        assert row.hit_ratio_interval == pytest.approx(interval(ratios))
        gains = [[a.operations / b.operations for a, b in zip(x.turns, y.turns, strict=True)]
                 for x, y in zip(own, bare, strict=True)]  # fmt: skip
        assert row.speed == pytest.approx(geometric_mean(gain for each in gains for gain in each))
        assert row.speed_interval == pytest.approx(np.exp(interval([float(np.mean(np.log(each))) for each in gains])))
        wrong = [one for run in own for one in run.turns if one.right_after_s != 0]
        after = [one for one in wrong if one.right_after_s is not None]
        counted = row.cache in (IN_TURN, NAMING)
        assert (row.changes, row.found) == ((len(wrong), len(after)) if counted else (0, 0))
        if row.cache == IN_TURN:
            assert (row.behind, row.slower) == (None, None)
        else:
            leads = [100 * (mine - other) for mine, other in zip(theirs, ratios, strict=True)]
            assert row.behind == pytest.approx(fmean(leads))
            assert row.behind_interval == pytest.approx(interval(leads))
        if counted:
            assert row.right_after_s == (pytest.approx(fmean(one.right_after_s for one in after)) if after else None)


def test_of_one_repeat_there_is_no_interval_and_the_document_comes_back(tmp_path):
    found = live(1)
    assert all(row.hit_ratio_interval is row.speed_interval is row.behind_interval is None for row in found.rows)
    write_json(tmp_path / "live.json", found.model_dump(mode="json"))
    assert read_live(tmp_path / "live.json") == found
    assert [str(cell) for cell in drawn(table(found)).columns[0].cells] == list(CACHES)


def test_the_plot_depends_on_the_figures_alone(tmp_path):
    for name in ("one.png", "other.png"):
        draw(live(2, turns=4), tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "other.png").read_bytes()


def test_the_stored_table_is_of_the_stored_runs():
    found = read_live(ROOT / FILE)
    assert found.rows == rows_of(found.runs)
    assert found.checked == len(found.runs) == found.repeats * len(found.rows)
    assert (ROOT / PLOT).is_file()
