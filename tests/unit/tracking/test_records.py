from pathlib import Path

import pytest

from cachezoo import paths
from cachezoo.bundles.measured import figures, measured, read_metrics, unseen_traces
from cachezoo.errors import CachezooError
from cachezoo.metrics.files import read_flash
from cachezoo.show.plots import CARRIED, CONFUSION
from cachezoo.tracking.records import gather, read_curves
from cachezoo.zoo.registry import SYSTEMS
from cachezoo.zoo.reuse.metrics import CHOSEN, DEFAULTS, OPTIMAL, SETTINGS
from tests.metrics_data import (
    beside_model,
    flash_metrics,
    page_metrics,
    page_model,
    page_trace,
    reuse_metrics,
    row,
    workload_metrics,
    write,
)
from tests.report_data import ADMISSION, ROOT, add_model, trained

SECTION = {
    "beats_baseline": True,
    "reason": "r",
    "training": {"accuracy": 0.5, "rejectx_peak_dt": None},
    "baselines": {},
    "evaluated": {
        "promoted": True,
        "paired_difference_interval": [0.1, 0.2],
        "validation": {"gap_closed": 0.3},
        "test": {
            "a": {"policy": "m", "hit_ratio": 0.4, "hit_ratio_interval": [0.3, 0.5], "gap_closed": None},
            "b": {"policy": "m", "hit_ratio": 0.6, "gap_closed": 0.1},
        },
        "flash": {
            "a": {"peak_dt": 2.0, "mean_dt": 1.0, "no_more_writes": True},
            "b": {"peak_dt": 3.0, "peak_gap_closed": None},
        },
    },
}


def test_figures_have_the_same_names_in_every_kind() -> None:
    assert figures(SECTION, ["hit_ratio", "gap_closed", "peak_dt"]) == {
        "validation/accuracy": 0.5,
        "validation/gap_closed": 0.3,
        "validation/paired_difference_low": 0.1,
        "validation/paired_difference_high": 0.2,
        "hit_ratio": 0.5,
        "a/hit_ratio": 0.4,
        "b/hit_ratio": 0.6,
        "test/hit_ratio_low": 0.3,
        "a/hit_ratio_low": 0.3,
        "test/hit_ratio_high": 0.5,
        "a/hit_ratio_high": 0.5,
        "gap_closed": 0.1,
        "b/gap_closed": 0.1,
        "peak_dt": 2.5,
        "a/peak_dt": 2.0,
        "b/peak_dt": 3.0,
        "flash/mean_dt": 1.0,
        "a/mean_dt": 1.0,
    }
    flat = {**SECTION, "evaluated": {"test": {"hit_ratio": 0.45, "windows": 60}}}
    assert figures(flat, ["hit_ratio"]) == {"validation/accuracy": 0.5, "hit_ratio": 0.45, "test/windows": 60}


def test_no_headline_is_a_mean_over_unseen_programs() -> None:
    found = figures(SECTION, ["hit_ratio", "peak_dt"], {"b"})
    assert (found["hit_ratio"], found["unseen/hit_ratio"], found["b/hit_ratio"]) == (0.4, 0.6, 0.6)
    assert (found["peak_dt"], found["unseen/peak_dt"]) == (2.0, 3.0)
    assert "hit_ratio" not in figures(SECTION, ["hit_ratio"], {"a", "b"})


def test_a_kind_has_its_own_headlines_alone() -> None:
    """What an admission does as a page cache is not its job, and stands in no column."""
    found = figures(SECTION, ["peak_dt"])
    assert "hit_ratio" not in found and found["test/hit_ratio"] == 0.5 and found["peak_dt"] == 2.5


def test_a_model_of_all_categories_is_headed_by_its_median_at_home() -> None:
    test = {"gap_closed": -0.03, "hit_ratio": 0.3, "home_gap_closed": 0.1, "program_gap_closed": -0.04}
    found = figures({**SECTION, "evaluated": {"test": test}}, ["gap_closed", "hit_ratio", "home_gap_closed"])
    assert (found["gap_closed"], found["unseen/gap_closed"], found["home_gap_closed"]) == (0.1, -0.04, 0.1)
    assert (found["test/gap_closed"], found["test/hit_ratio"]) == (-0.03, 0.3) and "hit_ratio" not in found


def test_unseen_traces_are_those_of_params(tmp_path: Path) -> None:
    assert unseen_traces(tmp_path) == frozenset()
    file = tmp_path / "params.yaml"
    file.write_text("data: {traces: {a: {unseen: true}, b: {unseen: false}, c: {}}}")
    assert unseen_traces(tmp_path) == {"a"}
    for damaged in ("data: {}", "[1]", "", "data: [1]"):
        file.write_text(damaged)
        with pytest.raises(CachezooError, match=r"params\.yaml: holds no data\.traces; run"):
            unseen_traces(tmp_path)


def test_models_of_all_categories_have_their_headlines_and_plots(tmp_path: Path) -> None:
    """From metrics/<system>.json alone, where export has not seen the model yet."""
    made = {"reuse.follow": (reuse_metrics, CARRIED), "workload.lstm8": (workload_metrics, CONFUSION)}
    assert {name.split(".")[0] for name in made} == {name for name, own in SYSTEMS.items() if own.scope == "all"}
    (tmp_path / paths.REPORT).mkdir()
    for name, (metrics, plot) in made.items():
        add_model(tmp_path, trained(name), card=False)
        write(tmp_path / paths.overall_metrics(name.split(".")[0]), metrics(name))
        (tmp_path / paths.REPORT / plot).write_bytes(b"drawn")
    records = {record.model_id: record for record in gather(tmp_path)}
    for name, (_, plot) in made.items():
        headline = set(SYSTEMS[name.split(".")[0]].headline)
        assert headline - {"hit_ratio", "gap_points"} <= set(records[name].metrics)
        assert records[name].tags["seat"] == {"reuse.follow": "page/all"}.get(name, "none")
        assert [path.name for path in records[name].plots] == [plot]
    own = records["reuse.follow"].metrics
    assert own["home_gap_closed"] == pytest.approx(0.2) and own["program_gap_closed"] == pytest.approx(-0.1)
    assert own["gap_closed"] == own["home_gap_closed"] and own["unseen/gap_closed"] == own["program_gap_closed"]
    found = reuse_metrics("reuse.follow")
    hindsight = {DEFAULTS: "best_default", SETTINGS: "best_setting", OPTIMAL: "optimum"}
    names = {"reuse.follow": "own", CHOSEN: "rival", **hindsight}
    for size in found.fractions:
        logged = {name: value for name, value in own.items() if name.startswith(f"saved/{100 * size:g}pct_")}
        saved = [one for one in found.reductions(size) if one.name in names]
        figures_of = [(one.mean, one.tenth, one.median, one.ninetieth, one.worst, one.first) for one in saved]
        assert sorted(logged.values()) == sorted(value for own in figures_of for value in own if value is not None)
        assert logged[f"saved/{100 * size:g}pct_own_p90"] == next(
            one.ninetieth for one in saved if names[one.name] == "own"
        )
    assert records["reuse.follow"].results.startswith("Misses saved against LRU, ")
    assert records["workload.lstm8"].results == ""
    (tmp_path / paths.overall_metrics("reuse")).unlink()
    assert "gap_closed" not in gather(tmp_path)[0].metrics


def test_models_of_a_system_that_an_earlier_release_had_are_left_out(tmp_path: Path) -> None:
    add_model(tmp_path, trained("workload.lstm8"), card=False)
    assert len(gather(tmp_path)) == 1
    (tmp_path / paths.TRAINED / "workload").rename(tmp_path / paths.TRAINED / "gone")
    assert gather(tmp_path) == []


def test_curves(tmp_path: Path) -> None:
    path = tmp_path / "curves.csv"
    assert read_curves(path) == []
    path.write_text("epoch,train_loss,holdout_loss\n1,0.5,0.6\n2,0.4,\n")
    assert read_curves(path) == [("train_loss", 1, 0.5), ("holdout_loss", 1, 0.6), ("train_loss", 2, 0.4)]
    path.write_text("forest,round,train_loss,holdout_loss\nstart,1,0.5,0.6\nwhen,1,0.4,\n")
    wanted = [("start_train_loss", 1, 0.5), ("start_holdout_loss", 1, 0.6), ("when_train_loss", 1, 0.4)]
    assert read_curves(path) == wanted
    path.write_text("epoch,train_loss\n1,low\n")
    with pytest.raises(CachezooError, match=r"curves\.csv: a cell is no number"):
        read_curves(path)


def test_variants_are_ranked_by_what_is_deployed_of_them(tmp_path: Path) -> None:
    """By themselves, without their prefetch, the small forest would look best and the full one worst."""
    means = {"": 1.0, "_block": 1.5, "_small": 1.75}
    full = flash_metrics(ADMISSION, saved=0.5)
    names = [f"{ADMISSION}{end}" for end in means]
    beside = {f"{ADMISSION}{end}": beside_model(f"{ADMISSION}{end}", mean) for end, mean in means.items() if end}
    write(tmp_path / paths.flash_metrics("web"), full.model_copy(update={"beside": beside}))
    for name in names:
        add_model(tmp_path, trained(name), card=False)
    told = {record.model_id: record.metrics for record in gather(tmp_path)}
    assert sorted(names, key=lambda name: -told[name]["best_mean_dt_saved"]) == names
    deployed = {ADMISSION: full.traces["web_test"], **{name: one.traces["web_test"] for name, one in beside.items()}}
    for name, trace in deployed.items():
        row = trace.deployed.rows["baleen"]
        assert (told[name]["web_test/mean_dt"], told[name]["peak_dt"]) == (row.read_dt.mean, row.read_dt.peak)
        assert told[name]["web_test/usd_a_year"] == row.year.usd


def test_released_variants_are_ranked_as_deployed(tmp_path: Path) -> None:
    """By committed metrics, of the file server and the web."""
    for category in ("fileserver", "web"):
        found = read_flash(ROOT / paths.flash_metrics(category))
        for key, trace in found.traces.items():
            runs = {name: one.traces[key].deployed for name, one in found.beside.items()}
            runs[found.model_id] = trace.deployed
            saved = {name: figures_of(name, tmp_path)[f"{key}/best_mean_dt_saved"] for name in runs}
            by_mean = sorted(runs, key=lambda name: runs[name].rows["baleen"].read_dt.mean)
            assert sorted(saved, key=lambda name: -saved[name]) == by_mean


def figures_of(name: str, project: Path) -> dict[str, float]:
    """A released model's figures, from committed metrics alone, whatever a run has left below the root."""
    model = trained(name)
    if not (project / "metrics").exists():
        (project / "metrics").symlink_to(ROOT / "metrics")
    section = measured(model, read_metrics(project, model, needed=True))
    return figures(section, SYSTEMS[model.kind].headline, unseen_traces(ROOT))


def test_a_page_cache_stands_beside_the_best_classic_and_the_optimum(tmp_path: Path) -> None:
    own = row("caching.web.lstm8", "model", 0.4, 20.0, 1500.0)
    best, optimum = row("fifo", "classic", 0.3, 60.0, 2000.0), row("belady", "bound", 0.6)
    trace = page_trace("test", own).model_copy(update={"best_classic": "fifo", "optimum": "belady"})
    trace = trace.model_copy(update={"rows": [optimum, own, best]})
    model = page_model({"web_test": own})
    write(tmp_path / paths.metrics("web"), page_metrics({"web_test": trace}, "fifo", {own.policy: model}))
    add_model(tmp_path, trained(own.policy), card=False)
    told = gather(tmp_path)[0].metrics
    wanted = {
        "hit_ratio": 0.4, "best_classic_hit_ratio": 0.3, "optimum_hit_ratio": 0.6, "mean_response_us": 1500.0,
        "best_classic_mean_response_us": 2000.0, "ssd_writes_per_100_io": 20.0,
        "best_classic_ssd_writes_per_100_io": 60.0,
    }  # fmt: skip
    assert {name: told[f"web_test/{name}"] for name in wanted} == wanted


def test_several_trainings_have_their_mean_beside_the_one_that_is_kept(tmp_path: Path) -> None:
    found = reuse_metrics("reuse.follow")
    key, trace = next((key, trace) for key, trace in found.traces.items() if trace.where == "home")
    own = next(one for one in trace.rows if one.capacity_fraction == found.capacity_fraction)
    changed = own.model_copy(update={"hit_ratio": 0.5, "seed_hit_ratios": [0.5, 0.25, 0.75]})
    rows = [changed if one is own else one for one in trace.rows]
    traces = {**found.traces, key: trace.model_copy(update={"rows": rows})}
    write(tmp_path / paths.overall_metrics("reuse"), found.model_copy(update={"traces": traces}))
    add_model(tmp_path, trained("reuse.follow", calibration={"capacity": found.capacity_fraction}), card=False)
    told = gather(tmp_path)[0].metrics
    names = ("hit_ratio", "hit_ratio_mean", "hit_ratio_sd", "gap_closed", "best_classic_hit_ratio", "optimum_hit_ratio")
    wanted = (0.5, 0.5, 0.25, own.gap_closed, own.best_classic_hit_ratio, own.optimum_hit_ratio)
    assert [told[f"{key}/{name}"] for name in names] == list(wanted)
