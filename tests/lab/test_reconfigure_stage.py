"""The stage reconfigure of lab/dvc.yaml, and the table and plot that it wrote."""

from pathlib import Path

import yaml

from lab.reconfigure.bench import Settings
from lab.reconfigure.document import FILE, FIXED, PLOT, SWITCHING, read_reconfigured, summary_of

ROOT = Path(__file__).resolve().parents[2]
STAGES = yaml.safe_load((ROOT / "lab/dvc.yaml").read_text())["stages"]


def test_it_depends_on_the_params_traces_and_models_that_it_reads():
    stage = STAGES["reconfigure"]
    assert sorted(stage["params"][0]["../params.yaml"]) == sorted(Settings.places().values())
    categories = yaml.safe_load((ROOT / "params.yaml").read_text())["data"]["page_categories"]
    made = [f"../data/{kind}/{category}" for kind in ("requests", "responses") for category in categories]
    made += [f"../models/trained/caching/caching.{category}.${{models.caching}}" for category in categories]
    made += [f"../models/trained/{kind}/{kind}.${{models.{kind}}}" for kind in ("workload", "reuse")]
    assert set(stage["deps"]) == {"sources.reconfigure.json", *made}
    assert [Path("lab") / name for out in stage["outs"] for name in out] == [FILE, PLOT]


def test_the_stored_table_is_of_test_traces_by_what_validation_chose():
    params = yaml.safe_load((ROOT / "params.yaml").read_text())
    found = read_reconfigured(ROOT / FILE)
    traces = params["data"]["traces"]
    assert all(traces[one.trace]["role"] == "test" for stream in found.streams for one in stream.phases)
    assert found.chosen == max(found.candidates, key=lambda one: one.hit_ratio)
    assert found.summary == summary_of(found.streams, found.rows)
    keys = [(row.stream, row.mode, row.policy) for row in found.rows]
    assert len(set(keys)) == len(keys)
    for stream in found.streams:
        modes = [row.mode for row in found.rows if row.stream == stream.name]
        assert modes[: len(SWITCHING)] == list(SWITCHING)
        assert modes.count(FIXED) == len({one.category for one in stream.phases})
