"""Mixes of traces, a choice on validation alone, and figures on test mixes that are those of the simulator."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import yaml

from cachezoo import paths
from cachezoo.contest.lead import mean_of, saving
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.errors import ConfigError
from cachezoo.questions.share.columns import Chosen, Read, ShareMetrics, share_metrics
from cachezoo.questions.share.mix import Application, mix_pages
from cachezoo.questions.share.partition import Shared
from cachezoo.questions.share.partitioners import parse
from cachezoo.questions.share.stage import (
    Named,
    Settings,
    Traces,
    best_family,
    cases_of,
    choose,
    counts,
    disk_of,
    evaluate_share,
    families,
    mixes_of,
    timeline,
    tried,
)
from cachezoo.questions.share.table import app_table
from cachezoo.settings.data import TraceEntry
from cachezoo.settings.device import RealDevice, Target
from cachezoo.settings.share import SharePolicy
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import read_trace, write_trace
from tests.report_data import entry
from tests.sharing_data import named_trace, numbered

ROOT = Path(__file__).resolve().parents[4]
SIZES = [0.1, 0.3]
CATEGORIES = ["mail", "web", "zip"]
POLICY = SharePolicy(
    sizes=SIZES, order="auto", pairs=1,
    families={
        "equal": ["equal(fragment=8)"],
        "shared": ["shared(fragment=8)", "shared(policy=s3fifo, fragment=8)"],
        "gvpa": ["gvpa(fragment=8, q=100)", "gvpa(fragment=8, q=100, cost=1, reach=4)"],
    },
    bounds={"static": "static-best(fragment=8)", "hindsight": "hindsight(fragment=8, window=200)"},
    near=0.05,
)  # fmt: skip
KEYS = {f"{category}_{role}": entry(category, role) for category in CATEGORIES for role in ("validation", "test")}
KEYS["web_other"] = entry("web", "test", unseen=True)


def write_traces(keys: dict[str, TraceEntry] = KEYS) -> None:
    """Traces of unlike footprints, in the working folder."""
    for seed, (key, one) in enumerate(sorted(keys.items())):
        trace = named_trace(key, 700, 120 + 60 * seed, seed)
        write_trace(trace, paths.requests(one.category, key), expand_pages(trace))


def evaluated(keys: dict[str, TraceEntry] = KEYS, **changed: object) -> ShareMetrics:
    """The stage in the working folder."""
    values = {"device": BUILT_IN, "categories": CATEGORIES, "traces": keys, "share": POLICY, **changed}
    return evaluate_share(Settings(**values))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("project")


@pytest.fixture(scope="module")
def made(folder: Path) -> ShareMetrics:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        write_traces()
        return evaluated()


@pytest.fixture
def project(made: ShareMetrics, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(folder)
    return folder


def test_a_cache_that_does_not_say_whose_pages_it_holds_has_no_part_for_anyone(project: Path) -> None:
    virtual = "shared(policy=vrm(n=4096, fragment=8, q=100), fragment=8)"
    found = evaluated(share=POLICY.model_copy(update={"families": {"equal": ["equal(fragment=8)"], "vrm": [virtual]}}))
    rows = [row for mix in found.mixes.values() for row in mix.rows if row.family == "vrm"]
    assert rows and all(own.share is None for row in rows for own in row.apps.values())
    assert any(row.moved > 0 for row in rows)
    assert all(row.transfers == pytest.approx(1 - row.hit_ratio + row.moved) for row in rows)
    shown = app_table(found, "all", found.mixes["all"]).rows
    assert any(cell.note.startswith("not told how much of it; ") for cells in shown for cell in cells)


def test_a_mix_has_a_trace_of_each_category_and_unseen_programs_stand_in_one_of_their_own() -> None:
    found = mixes_of(KEYS, CATEGORIES, "test", 9)
    assert found[0] == Named("all", "all", ("mail_test", "web_test", "zip_test"))
    assert found[1] == Named("unseen", "unseen", ("mail_test", "web_other", "web_test", "zip_test"))
    assert sorted(one.name for one in found[2:]) == ["mail+web", "mail+zip", "web+zip"]
    assert {one.kind for one in found[2:]} == {"pair"}
    assert [one.name for one in mixes_of(KEYS, CATEGORIES, "validation", 0)] == ["all"]


def test_few_pairs_hold_all_categories() -> None:
    keys = {f"{name}_test": entry(name, "test") for name in "abcd"}
    found = mixes_of(keys, list("abcd"), "test", 2)
    assert {key for one in found if one.kind == "pair" for key in one.keys} == set(keys)


def test_two_categories_are_no_pair_beside_the_mix_and_one_is_no_mix() -> None:
    assert [one.name for one in mixes_of(KEYS, ["mail", "zip"], "test", 9)] == ["all"]
    assert mixes_of(KEYS, ["mail"], "test", 9) == []
    assert mixes_of(KEYS, CATEGORIES, "train", 9) == []


def test_what_is_kept_of_a_trace_for_its_mixes_is_what_each_mix_would_compute(project: Path) -> None:
    traces = Traces(KEYS, "auto")
    own = traces.mix(Named("x", "pair", ("mail_test", "web_test")))
    plain = [Application(one.name, one.page_ids, one.n_pages, one.trace) for one in own.applications]
    times = [np.repeat(one.trace.time_us, np.diff(expand_pages(one.trace).request_start)) for one in own.applications]
    other = mix_pages(plain, times)
    assert own.order == "clock" and np.array_equal(own.app, other.app)
    assert np.array_equal(own.distance, other.distance)
    again = traces.mix(Named("y", "pair", ("web_test", "zip_test")))
    assert again.applications[0] is own.applications[1]
    for queue in ("lru", "lfu"):
        for one, two in zip(own.moves(queue, 4096), other.moves(queue, 4096), strict=True):
            assert np.array_equal(one, two)
    ordered = np.empty(len(own), np.int64)
    for places, time in zip(own.at, times, strict=True):
        ordered[places] = time
    assert np.array_equal(ordered, np.sort(np.concatenate(times)))


def test_lockstep_is_taken_where_it_is_asked_for_or_a_trace_has_no_clock(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_traces()
    named = Named("x", "pair", ("mail_test", "web_test"))
    assert Traces(KEYS, "lockstep").mix(named).order == "lockstep"
    path = paths.requests("web", "web_test")
    trace = numbered(read_trace(path))
    write_trace(trace, path, expand_pages(trace))
    mix = Traces(KEYS, "auto").mix(named)
    assert mix.order == "lockstep" and mix.app[:6].tolist() == [0, 1, 0, 1, 0, 1]


def test_a_cache_too_small_for_a_value_is_no_choice_of_that_size(project: Path) -> None:
    mix = Traces(KEYS, "auto").mix(Named("x", "pair", ("mail_test", "web_test")))
    settings = POLICY.model_copy(update={"families": {"equal": ["equal", "equal(fragment=8)"], "ucp": ["ucp"]}})
    known, _ = families(settings)
    chosen = choose([tried(cases_of(mix, SIZES, BUILT_IN.hdd), known)], known, 0.1)
    assert list(chosen) == ["equal"] and str(chosen["equal"][0]) == "equal(fragment=8)"
    assert chosen["equal"][1].tried == 1


def test_the_choice_reads_least_on_the_mean_of_mixes_and_the_first_of_equals_is_taken() -> None:
    one, two, three = (parse(f"ucp(window={window})") for window in (10, 20, 30))

    def mix(*reads: float) -> dict:
        return {(0.1, asked): Read(hit_ratio=0.5, transfers=value) for asked, value in zip((one, two, three), reads,
                                                                                          strict=True)}  # fmt: skip

    known = {"ucp": [one, two, three]}
    asked, chosen = choose([mix(0.5, 0.3, 0.4), mix(0.2, 0.3, 0.2)], known, 0.1)["ucp"]
    assert asked == two  # 0.35, 0.3, 0.3: the second comes before the third
    assert chosen.validation.transfers == pytest.approx(0.3) and chosen.tried == 3


def test_the_best_family_has_a_choice_at_every_size() -> None:
    def made_of(value: float) -> Chosen:
        return Chosen(partitioner="x", tried=1, validation=Read(hit_ratio=0.5, transfers=value))

    sizes = [{"a": made_of(0.5), "b": made_of(0.1)}, {"a": made_of(0.4)}]
    assert best_family(sizes, ["a", "b"]) == "a"
    assert best_family(sizes, ["b"]) is None and best_family([], ["a"]) is None


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"families": {"equal": ["eqal"]}}, r"^policy\.share\.families\.equal: partitioner eqal: did you mean equal"),
        ({"bounds": {"static": "static-best(x=1)"}}, r"^policy\.share\.bounds\.static: .* x=1 is no value"),
        (
            {"families": {"parts": ["proportional"]}},
            r"^policy\.share\.families\.parts: proportional knows reference counts ahead; list it under bounds$",
        ),
        ({"families": {"equal": ["equal", "shared"]}}, r"^policy\.share\.families\.equal: .*make two of it$"),
    ],
)
def test_what_cannot_be_read_is_named_with_its_place(changed: dict, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        families(POLICY.model_copy(update=changed))


def test_every_family_and_bound_stands_at_every_size_of_every_test_mix(made: ShareMetrics) -> None:
    names = {*POLICY.families, *POLICY.bounds}
    assert list(made.mixes) == ["all", "unseen", "mail+web"] and [size.share for size in made.sizes] == SIZES
    assert made.validation["all"] == ["mail_validation", "web_validation", "zip_validation"]
    for mix in made.mixes.values():
        assert {(row.size, row.family) for row in mix.rows} == {(size, name) for size in SIZES for name in names}
        assert {row.family for row in mix.rows if row.bound} == set(POLICY.bounds)
        assert sum(app.references for app in mix.apps.values()) == mix.references > mix.counted
        for row in mix.rows:
            assert row.splits == (row.family != "shared")
            assert set(row.apps) == set(mix.apps) and row.slowest == max(one.slowdown for one in row.apps.values())
            assert set(row.saved) <= {"equal", "static", made.advised, made.rival} - {row.family}
            assert row.transfers == pytest.approx(1 - row.hit_ratio + row.moved)


def test_the_advised_read_least_on_validation_and_the_rival_does_the_other_thing(made: ShareMetrics) -> None:
    means = {
        name: np.mean([size.choices[name].validation.transfers for size in made.sizes]) for name in POLICY.families
    }
    assert made.advised == min(means, key=means.__getitem__)
    assert made.rival is not None and made.splits == (made.advised != "shared") != (made.rival != "shared")
    assert {line.family for mix in made.mixes.values() for line in mix.timelines} <= {"equal", "gvpa"}


def test_figures_and_paired_intervals_are_those_of_the_simulator(made: ShareMetrics, project: Path) -> None:
    mix = made.mixes["all"]
    own = Traces(KEYS, "auto").mix(Named("all", "all", tuple(mix.apps)))
    pages = round(0.3 * own.n_pages)
    what = np.arange(len(own)) >= len(own) // 2
    blocks = {}
    for row in (row for row in mix.rows if row.size == 0.3):
        shared = parse(row.partitioner).run(own, pages, what)
        reads = ~shared.hit[what] + shared.moved[what]
        assert row.transfers == pytest.approx(reads.mean()) and row.hit_ratio == pytest.approx(shared.hit[what].mean())
        edges = np.linspace(0, len(reads), 21).astype(int)
        blocks[row.family] = np.array([reads[a:b].mean() for a, b in pairwise(edges)])
        assert row.transfers_interval == pytest.approx(mean_of(blocks[row.family], row.transfers).ends)
    row = mix.row(0.3, "gvpa")
    assert row is not None
    saved = row.saved["equal"]
    assert saved.interval == pytest.approx(saving(blocks["gvpa"], blocks["equal"], saved.transfers).ends)


def test_counts_are_of_the_rows(made: ShareMetrics) -> None:
    assert set(made.counts) == set(POLICY.families)
    rows = [(mix, row) for mix in made.mixes.values() for row in mix.rows if not row.bound]
    least = {name: 0 for name in POLICY.families}
    for mix, row in rows:
        own = [one.transfers for one in mix.rows if one.size == row.size and not one.bound]
        least[row.family] += row.transfers == min(own)
        fixed = mix.row(row.size, "static")
        assert fixed is not None
    for name, count in made.counts.items():
        assert count.cases == 6 and count.least == least[name]
        assert count.surely_above_equal <= count.above_equal <= 6 - count.below_equal
    assert made.counts["equal"].above_equal == made.counts["equal"].below_equal == 0
    near = [counts(list(made.mixes.values()), "shared", slack).near_static for slack in (0.0, 0.05, 10.0)]
    assert near == sorted(near) and near[-1] == 6


def test_test_traces_choose_nothing(made: ShareMetrics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_traces()
    path = paths.requests("web", "web_test")
    other = named_trace("web_test", 500, 900, 77)
    write_trace(other, path, expand_pages(other))
    again = evaluated()
    assert again.sizes == made.sizes and (again.advised, again.rival) == (made.advised, made.rival)
    assert again.mixes["all"] != made.mixes["all"]


def test_the_same_inputs_give_the_same_document(made: ShareMetrics, project: Path) -> None:
    assert evaluated() == made


def test_what_is_missing_is_said(project: Path) -> None:
    alone = {key: one for key, one in KEYS.items() if one.category == "web"}
    assert evaluated(alone).reason.startswith("fewer than two page categories have a validation trace")
    untested = {key: one for key, one in KEYS.items() if one.role != "test"}
    found = evaluated(untested)
    assert found.reason.startswith("fewer than two page categories have a test trace") and found.mixes == {}
    coarse = POLICY.model_copy(update={"families": {"equal": ["equal(fragment=60000)"]}, "bounds": {}})
    found = evaluated(share=coarse)
    assert found.reason == "no cache of policy.share.sizes is large enough for equal parts" and found.sizes == []


def test_a_split_over_time_is_the_mean_of_each_block() -> None:
    begins, splits_of = np.array([0, 30, 90]), np.array([[4, 4], [6, 2], [2, 6]])
    shared = Shared.of_hits(np.zeros(100, np.bool_), begins, splits_of)
    own = np.repeat(splits_of, [30, 60, 10], axis=0)
    expected = own.reshape(10, 10, 2).mean(axis=1)
    assert timeline(shared, 100, 10) == pytest.approx(expected / 8)
    assert timeline(Shared.of_hits(shared.hit, np.append(begins, 100), np.append(splits_of, [[1, 7]], axis=0)), 100, 10
                    ) == pytest.approx(expected / 8)  # fmt: skip


def test_a_real_disk_is_not_asked() -> None:
    targets = {name: Target(path=f"/dev/{name}", name=name) for name in ("hdd", "ssd")}
    assert disk_of(RealDevice(source="real", **targets)) == disk_of(BUILT_IN) == BUILT_IN.hdd


def test_what_splits_and_what_shares() -> None:
    assert not parse("shared(policy=s3fifo)").splits and parse("ucp").splits and parse("gvpa(cost=1)").splits


def test_the_stage_depends_on_the_values_that_it_reads() -> None:
    stage = yaml.safe_load((ROOT / "dvc.yaml").read_text())["stages"]["evaluate_share"]
    own = [path for path in Settings.places().values() if not path.startswith("data.")]
    assert sorted(stage["params"]) == sorted(own) and "data/traces.json" in stage["deps"]
    assert set(stage["outs"][0]) == {str(share_metrics().parent)}
