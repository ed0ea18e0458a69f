from pathlib import Path

import pytest

from cachezoo import paths
from cachezoo.errors import CachezooError
from cachezoo.plots import CARRIED, CONFUSION
from cachezoo.systems.registry import SYSTEMS
from cachezoo.tracking.records import figures, gather, read_curves, unseen_traces
from tests.metrics_data import reuse_metrics, workload_metrics, write
from tests.report_data import add_model, trained

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
        write(tmp_path / paths.metrics(name.split(".")[0]), metrics(name))
        (tmp_path / paths.REPORT / plot).write_bytes(b"drawn")
    records = {record.model_id: record for record in gather(tmp_path)}
    for name, (_, plot) in made.items():
        headline = set(SYSTEMS[name.split(".")[0]].headline)
        assert headline - {"hit_ratio", "gap_points"} <= set(records[name].metrics)
        assert records[name].tags["champion"] == "no"  # neither has a bundle
        assert [path.name for path in records[name].plots] == [plot]
    own = records["reuse.follow"].metrics
    assert own["home_gap_closed"] == pytest.approx(0.2) and own["program_gap_closed"] == pytest.approx(-0.1)
    assert own["gap_closed"] == own["home_gap_closed"] and own["unseen/gap_closed"] == own["program_gap_closed"]
    (tmp_path / paths.metrics("reuse")).unlink()
    assert "gap_closed" not in gather(tmp_path)[0].metrics


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
