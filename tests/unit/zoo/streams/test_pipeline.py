"""From labels to the verdict and the test cycle, on generated writes of one volume."""

import re
from dataclasses import replace

import numpy as np
import pytest

from cachezoo.contest.lead import saving
from cachezoo.errors import ConfigError, TraceError, TrainingError
from cachezoo.flash_drive.placements import Placement, rule
from cachezoo.io import write_json
from cachezoo.labels.streams import label_trace, labels_of, read_stream_labels
from cachezoo.models.trained import TrainedModel
from cachezoo.settings.wear import Drive
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import OP_READ, Trace
from cachezoo.zoo.streams import evaluate as test_stage
from cachezoo.zoo.streams import fit, judge
from cachezoo.zoo.streams.bench import Bench
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, FILE
from cachezoo.zoo.streams.learn import learn, nearest, read_variants, write_variants
from cachezoo.zoo.streams.settings import Baselines, Fit, Judge, Model
from tests.wear_data import PAGE, on_volume, skewed, written

DRIVE = Drive(over_provisioning=0.25, gc_free_blocks=5)
BASELINES = Baselines.model_validate(
    {"equal": {"streams": [2, 4]}, "sepbit": {"collected": [4]}, "dac": {}, "warcip": {}, "oracle": {"share": [0.125]}}
)
JUDGE = Judge(baselines=BASELINES, least_gain=0.02, least_waf=1.05, over_provisioning=[0.4])
EXACT = 200e6  # bytes for a TB that no dictionary takes
FIT = Fit(windows=["1s", "100th"], sid_bytes_per_tb=EXACT)
MODEL = Model(arch="fios", streams=4, window="100th")


def fitted(traces: dict[str, Trace]):
    settings = fit.Settings(MODEL, FIT, {}, 7)
    return fit.fit_prepared(
        "ledger", traces, [labels_of(trace, expand_pages(trace)) for trace in traces.values()], settings
    )


@pytest.fixture(scope="module")
def made():
    """A model, what it learned, and its cycles."""
    cycles = {role: [skewed(seed, key=role)] for seed, role in enumerate(("train", "validation", "test"))}
    model, variants = fitted({"train": cycles["train"][0]})
    bench = Bench.of(cycles["train"], cycles["validation"], DRIVE, MODEL.streams)
    return model, variants, cycles, bench


@pytest.fixture(scope="module")
def verdict_and_selection(made):
    model, variants, cycles, bench = made
    return judge.judge(model, variants, cycles["train"], bench, JUDGE)[:2]


def test_hot_and_cold_chunks_in_between_are_told_apart_and_the_verdict_says_so(verdict_and_selection):
    verdict, judged = verdict_and_selection
    wafs = {row.policy: row.waf for row in judged.rows if row.kind in ("fios", "ours", "legacy")}
    assert verdict.beats_baseline, verdict.reason
    assert judged.chosen == min(sorted(wafs), key=wafs.get) or wafs[judged.chosen] == min(wafs.values())
    assert wafs["F"] < 0.95 * wafs["legacy"], wafs
    rival = min((row for row in judged.rows if row.kind in ("legacy", "baseline", "drive")), key=lambda row: row.waf)
    assert verdict.validation["rival_waf"] == rival.waf and f"with {rival.policy}, the best placement" in verdict.reason
    assert verdict.validation["saved_low"] > 0
    assert re.search(r"; [0-9.]+% of \w+'s under cost-benefit victims$", verdict.reason)
    assert verdict.calibration["waf"] == wafs[judged.chosen] == verdict.validation["waf"]
    assert sum(verdict.calibration["writes_by_stream"]) == 20_000
    assert {"type", "unknown"} <= set(verdict.policy)


def test_what_copies_to_more_blocks_than_the_drive_keeps_free_is_left_out(verdict_and_selection):
    kinds = {policy: row.kind for policy, row in verdict_and_selection[1].least.items()}
    assert kinds == {
        "legacy": "legacy", "equal": "baseline", "sepbit": "drive", "warcip": "drive", "oracle": "bound"
    }  # fmt: skip


def test_each_baseline_goes_to_the_test_with_its_best_arguments_alone(made, verdict_and_selection):
    (_, variants, _, bench), (_, judged) = made, verdict_and_selection
    tried = [row for row in judged.rows if row.policy == "equal"]
    assert [row.parameters["streams"] for row in tried] == [2, 4]
    assert judged.least["equal"].waf == min(row.waf for row in tried)
    found = test_stage.placements_of(bench, judged, variants, test_stage.Further())
    assert [one.parameters for one in found if one.policy == "equal"] == [judged.least["equal"].parameters]
    assert {"legacy", "equal", "sepbit", "oracle", judged.chosen} <= {one.policy for one in found}


def test_a_dictionary_has_to_win_under_each_victim(made, monkeypatch):
    model, variants, cycles, bench = made
    original, asked = judge._under, []

    def under(bench, victim, chosen, plain):
        _, rival = original(bench, victim, chosen, plain)
        assert "bound" not in {one.kind for one in plain} and rival.policy in {one.policy for one in plain}
        asked.append(victim)
        return saving(np.full(20, 1.1), np.ones(20)), rival

    assert judge.judge(model, variants, cycles["train"], bench, JUDGE)[0].beats_baseline
    monkeypatch.setattr(judge, "_under", under)
    assert not judge.judge(model, variants, cycles["train"], bench, JUDGE)[0].beats_baseline
    assert asked == ["cost-benefit"]


def test_nothing_to_gain_is_said_with_figures_and_promotes_nothing(made):
    model, variants, cycles, bench = made
    verdict, _, _ = judge.judge(model, variants, cycles["train"], bench, JUDGE.model_copy(update={"least_waf": 9.0}))
    assert not verdict.beats_baseline
    assert verdict.reason.startswith("nothing to gain: without streams the WAF is ")
    assert "times its footprint" in verdict.reason


def test_a_dictionary_that_is_no_better_than_an_equal_partition_does_not_beat_its_baseline():
    """Hot and cold lie side by side in halves of the volume: the equal partition finds them, too."""
    rng = np.random.default_rng(3)
    pages = [
        np.where(rng.random(12000) < 0.9, rng.integers(0, 1800, 12000), rng.integers(1800, 3600, 12000))
        for _ in range(2)
    ]
    train, validation = (written(part, key=str(i)) for i, part in enumerate(pages))
    model, variants = fitted({"0": train})
    bench = Bench.of([train], [validation], DRIVE, MODEL.streams)
    verdict, _, _ = judge.judge(model, [one for one in variants if one.name == "A.1s"], [train], bench, JUDGE)
    assert verdict.validation["saved_low"] <= 0 and not verdict.beats_baseline


def test_the_test_cycle_is_counted_alone_and_what_is_served_there_was_learned_on_train(made, verdict_and_selection):
    (model, variants, cycles, _), (verdict, judged) = made, verdict_and_selection
    trained = TrainedModel.of(model, verdict, {})
    own = labels_of(cycles["test"][0], expand_pages(cycles["test"][0]))
    hindsight = learn(own, [judged.chosen], MODEL.streams, MODEL.window, 1, EXACT)
    settings = test_stage.Settings(JUDGE, DRIVE, "fios", {})
    found = test_stage.evaluate(trained, judged, variants, test_stage.Further(hindsight), cycles, settings)
    assert found.host_pages == 20_000
    rows = {row.policy: row for row in found.rows}
    assert len(rows) == len(found.rows)
    assert rows["legacy"].of_legacy == 1 and rows["legacy"].of_legacy_interval == (1, 1)
    assert set(rows["legacy"].over_provisioning_waf) == {"0.4"}
    assert rows["legacy"].over_provisioning_waf["0.4"] < rows["legacy"].waf
    for row in found.rows:
        (victim,) = row.victim_waf
        there = row.victim_waf[victim] / rows["legacy"].victim_waf[victim]
        assert victim == "cost-benefit" and row.victim_of_legacy[victim] == pytest.approx(there)
    assert rows["legacy"].victim_waf["cost-benefit"] != rows["legacy"].waf
    own = rows[judged.chosen]
    assert rows["legacy"].noise == 0 < own.noise < 1 - own.of_legacy
    assert own.of_legacy < 0.95 and own.waf_interval[0] <= own.waf <= own.waf_interval[1]
    assert rows[f"hindsight.{judged.chosen}"].kind == "hindsight"
    assert {"equal.4"} <= set(rows)


def test_a_write_goes_where_the_dictionary_says_and_all_of_the_cycle_that_it_learned_on_to_stream_0(made):
    _, variants, _, bench = made
    variant = next(one for one in variants if one.name == "F")
    placed = variant.streams_of(bench.writes, bench.since)
    assert not placed[: bench.since].any() and placed[bench.since :].any()
    at = bench.since + np.arange(50)
    chunks = bench.writes.address[bench.writes.pages[at]] // CHUNK_BYTES
    assert placed[at].tolist() == variant.dictionary.look_up(chunks).tolist()


def test_a_request_goes_where_its_first_chunk_goes():
    trace = written(np.array([3, 4, 9]))
    trace = replace(trace, size=np.array([3 * PAGE, PAGE, PAGE], np.int64))
    bench = Bench.of([trace], [trace], DRIVE, 4)
    found = np.zeros(10, np.uint8)
    bench.writes.by_chunk(slice(0, 10), lambda chunks: chunks, found)
    assert found.tolist() == [0, 0, 0, 1, 2] * 2


def test_chunks_between_learned_ones_go_with_the_nearest():
    known = nearest(np.array([2, 8, 9]), np.array([1, 3, 3], np.uint8), 4)
    assert known.look_up(np.arange(12)).tolist() == [1] * 5 + [3] * 7
    alone = nearest(np.array([5]), np.array([2], np.uint8), 4)
    assert alone.look_up(np.array([0, 5, 10**6])).tolist() == [2, 2, 2]


def test_names_say_what_is_clustered(made):
    _, variants, _, _ = made
    names = [one.name for one in variants]
    assert len(names) == len(set(names))
    assert {"F", "S", "FS", "FASC.1s", "FASC.100th", "FASP.100th", "heat", "parts+near", "heat+at10+near"} <= set(names)
    assert "FASP.1s" not in names and "F.1s" not in names
    kinds = {one.name: one.kind for one in variants}
    assert (kinds["FSC.1s"], kinds["FSP.100th"], kinds["heat"]) == ("fios", "ours", "ours")


def test_variants_come_back_from_their_folder(made, tmp_path):
    _, variants, _, _ = made
    write_variants(variants, tmp_path)
    names = [one.name for one in variants]
    assert [one.dictionary.to_bytes() for one in read_variants(tmp_path, names)] == [
        one.dictionary.to_bytes() for one in variants
    ]
    (tmp_path / "variants/F.sid").write_bytes(b"no")
    with pytest.raises(TrainingError, match=r"F\.sid: "):
        read_variants(tmp_path, names)
    (tmp_path / "variants/F.sid").unlink()
    with pytest.raises(TrainingError, match=r"F\.sid: is missing; fit the model again"):
        read_variants(tmp_path, names)


def test_fios_chooses_by_the_train_cycle_and_without_features_it_is_a_drive_without_streams(made):
    model, _, _, _ = made
    assert fit.automatic(model.model_copy(update={"learned": {"features": "AC", "window": "60s"}})) == "AC.60s"
    assert fit.automatic(model.model_copy(update={"learned": {"features": "F", "window": "60s"}})) == "F"
    assert fit.automatic(model.model_copy(update={"learned": {"features": "", "window": "60s"}})) == "legacy"


def settings_of(tmp_path, cycles: dict[str, Trace]):
    files = {}
    for role, trace in cycles.items():
        path = tmp_path / f"ledger_{role}.parquet"
        write_trace(trace, path, expand_pages(trace))
        files[role] = [str(path)]
    return judge.Settings(JUDGE, DRIVE, "fios", files)


def test_another_test_cycle_changes_no_verdict(tmp_path, made):
    model, variants, cycles, _ = made
    told = []
    for seed in (3, 4):
        folder = tmp_path / str(seed)
        folder.mkdir()
        own = {"train": cycles["train"][0], "validation": cycles["validation"][0], "test": skewed(seed, 5000 * seed)}
        verdict, judged, _, uses = judge.judge_category(model, variants, settings_of(folder, own))
        told.append((verdict, judged, uses))
    assert told[0] == told[1] and told[0][0].beats_baseline


@pytest.mark.parametrize(
    ("train", "reason"),
    [
        ({}, "no train trace of ledger writes anything"),
        ({"t": written(np.array([1, 2, 3, 1]))}, "one chunk alone is written"),
        ({"a": skewed(1), "b": on_volume(skewed(2), "sdb")}, "2 volumes"),
    ],
)
def test_what_cannot_be_learned_is_said_and_judged_no_further(tmp_path, train, reason):
    model, variants = fitted(train)
    assert not model.trained and reason in model.reason and "\n" not in model.reason
    settings = settings_of(tmp_path, {"validation": skewed(2)})
    verdict, judged, _, told = judge.judge_category(model, variants, settings)
    assert (verdict.beats_baseline, verdict.reason, judged.reason) == (False, model.reason, model.reason)
    assert [one.role for one in told] == ["validation"]


@pytest.mark.parametrize(
    ("validation", "drive", "reason"),
    [
        ({}, DRIVE, "not judged: no validation trace of the category writes anything"),
        ({"validation": written(np.arange(9), OP_READ)}, DRIVE, "no validation trace of the category writes"),
        ({"validation": written(np.arange(9))}, DRIVE, "not judged: the counted cycle writes 9 pages"),
        ({"validation": skewed(2)}, Drive(over_provisioning=0.01), "not judged: .* spare blocks"),
        (
            {"validation": on_volume(skewed(2), "sdb")},
            DRIVE,
            r"^not judged: the train and validation traces write to 2 volumes \(sda, sdb …\), a drive has one$",
        ),
    ],
)
def test_what_cannot_be_judged_is_said_in_one_line(tmp_path, made, validation, drive, reason):
    model, variants, cycles, _ = made
    settings = settings_of(tmp_path, {"train": cycles["train"][0], **validation})
    settings = replace(settings, drive=drive)
    verdict, judged, _, _ = judge.judge_category(model, variants, settings)
    assert not verdict.beats_baseline and judged.chosen == "" and verdict.validation == {}
    assert "\n" not in verdict.reason
    with pytest.raises(AssertionError, match=reason):
        raise AssertionError(verdict.reason)


def test_a_test_cycle_of_another_volume_is_not_served_by_what_was_learned_of_the_first(
    tmp_path, made, verdict_and_selection, monkeypatch
):
    (model, variants, cycles, _), (verdict, judged) = made, verdict_and_selection
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "models/trained/streams/streams.ledger.fios"
    folder.mkdir(parents=True)
    TrainedModel.of(model, verdict, {}).write(folder)
    write_json(folder / judge.JUDGED_FILE, judged.model_dump(mode="json"))
    (folder / FILE).write_bytes(variants[0].dictionary.to_bytes())
    test = on_volume(cycles["test"][0], "sdb")
    own = {"train": cycles["train"][0], "validation": cycles["validation"][0], "test": test}
    found = test_stage.evaluate_category("ledger", settings_of(tmp_path, own))
    assert found.reason == "the train, validation and test traces write to 2 volumes (sda, sdb …), a drive has one"
    assert found.traces == {}


def test_a_trace_that_writes_nothing_has_labels_without_rows(tmp_path):
    trace = written(np.arange(9), OP_READ)
    write_trace(trace, tmp_path / "t.parquet", expand_pages(trace))
    label_trace(tmp_path / "t.parquet", tmp_path / "labels.parquet")
    found = read_stream_labels(tmp_path / "labels.parquet")
    assert len(found) == 0 and found.figures.writes == 0 and found.figures.features == ""
    assert set(found.columns) == set(labels_of(skewed(1), expand_pages(skewed(1))).columns)


def test_labels_of_other_requests_are_named(tmp_path):
    trace = skewed(1, 500)
    write_trace(trace, tmp_path / "t.parquet", expand_pages(trace))
    label_trace(tmp_path / "t.parquet", tmp_path / "labels.parquet")
    assert len(fit.read_labels(tmp_path / "labels.parquet", trace)) > 0
    with pytest.raises(TraceError, match=r"labels\.parquet: .* of 500 requests where t has 499"):
        fit.read_labels(tmp_path / "labels.parquet", trace.rows(0, 499))


def test_a_drive_of_other_pages_than_those_that_were_learned_in_is_refused():
    with pytest.raises(ConfigError, match=r"policy\.drive\.page_bytes: 4096, but streams are learned in .* 8192 bytes"):
        Bench.of([skewed(1)], [skewed(2)], Drive(page_bytes=4096), 4)


def test_placements_that_agree_are_run_once(made):
    _, _, _, bench = made
    first = bench.run(rule("legacy", {}, 4))
    count = len(bench.runs)
    again = Placement("other", "ours", lambda writes: np.zeros(len(writes.pages), np.uint8))
    assert bench.run(again) is first and len(bench.runs) == count


def test_intervals_are_of_paired_blocks(made):
    _, _, _, bench = made
    legacy, equal = (bench.run(rule(name, {}, 4)) for name in ("legacy", "equal"))
    assert legacy.saved(legacy).ends == (0, 0)
    saved = equal.saved(legacy)
    assert saved.value == pytest.approx(1 - equal.waf / legacy.waf) and saved.ends[0] <= saved.value <= saved.ends[1]
    assert legacy.waf_mean.value == pytest.approx(legacy.waf)
