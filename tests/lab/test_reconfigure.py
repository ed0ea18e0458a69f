from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from cachezoo import paths
from cachezoo.console import out
from cachezoo.errors import CachezooError, ConfigError, TraceError
from cachezoo.io import write_json, write_table
from cachezoo.kernels.outcome import ADMITTED, HIT
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import simulate
from cachezoo.questions.page.monitored import UNKNOWNS
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.zoo.caching.switching import REQUEUES
from lab.reconfigure import bench as bench_module
from lab.reconfigure import measure as stage
from lab.reconfigure.bench import Bench, Way
from lab.reconfigure.document import FIXED, SWITCHING, Candidate, read_reconfigured, summary_of
from lab.reconfigure.measure import choose, measure, re_evaluating, read_models, rows_of, streams_of
from lab.reconfigure.monitor import loading_plan
from lab.reconfigure.plot import draw, shown, tables
from tests.lab.changing_data import CLASSES, models, part, settings, stream
from tests.lstm_data import CLASSES as KINDS
from tests.lstm_data import fit_and_judge, make_stream, write_caching
from tests.lstm_data import parts as lstm_parts

NAMES = ("mail_test", "web_test", "three", "four")
WAY = Way("alone", "keep", 2)
DECISION_US = 230.0


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """Periods and windows that small streams have several of."""
    monkeypatch.setattr(bench_module, "PERIOD", 50)
    monkeypatch.setattr(bench_module, "AFTER", 40)
    monkeypatch.setattr(stage, "LOAD_US", 60_000)


def own_bench(**changed):
    return Bench(stream(**changed), models(), settings())


def test_a_row_counts_what_a_loop_over_requests_counts():
    own = own_bench(periods=2, requests=155)
    made, plan = own.stream, own.plan(WAY)
    found, simulation = own.run(plan, WAY.requeue)
    base = own.run(np.zeros(len(plan), np.int32), "none")[1]
    row = own.row("multiple_model", "", simulation, base, own.charged(plan, found), own.cost(plan, found))
    outcome, starts = found.outcomes.outcome, made.pages.request_start
    first = next(i for i in range(len(plan)) if starts[i] >= made.warmup)
    assert 0 < first < made.phases[1].first
    steps = {one.request: one.steps for one in found.takeovers}
    served = made.times.served(simulation.missing)
    us = [served[i] + DECISION_US * (plan[i] >= 0) + DECISION_US * steps.get(i, 0) for i in range(len(plan))]

    def ratio(rows):
        hits = [outcome[k] == HIT for i in rows for k in range(starts[i], starts[i + 1])]
        return sum(hits) / len(hits)

    phases = [range(max(first, phase.first), phase.end) for phase in made.phases]
    soon = [i for phase in made.phases[1:] for i in range(phase.first, phase.first + 40)]
    counted = range(first, len(plan))
    writes = sum(
        outcome[k] == ADMITTED or (outcome[k] == HIT and made.trace.op[i] == 1)
        for i in range(len(plan)) for k in range(starts[i], starts[i + 1]) if k >= made.warmup
    )  # fmt: skip
    assert row.hit_ratio == pytest.approx(np.mean(outcome[made.warmup :] == HIT))
    assert row.phase_hit_ratios == pytest.approx([ratio(rows) for rows in phases])
    assert row.phase_response_us == pytest.approx([np.mean([us[i] for i in rows]) for rows in phases])
    assert row.after_hit_ratio == pytest.approx(ratio(soon))
    assert row.after_response_us == pytest.approx(np.mean([us[i] for i in soon]))
    assert row.mean_response_us == pytest.approx(np.mean([us[i] for i in counted]))
    assert row.ssd_writes_per_100_io == pytest.approx(100 * writes / len(counted))
    wanted = [ratio(range(low, min(low + 50, len(plan)))) for low in range(0, len(plan), 50)]
    assert row.periods == pytest.approx(wanted, abs=5e-5)
    assert row.lead == pytest.approx(100 * (simulation.hit_ratio - base.hit_ratio))
    assert row.lead_interval[0] <= row.lead <= row.lead_interval[1] and row.lead != 0
    cost = row.cost
    assert cost.takeovers == len(steps) == 4 and cost.wrong_takeovers == 0
    assert cost.steps == sum(steps.values()) > 0
    assert cost.steps_us == pytest.approx(DECISION_US * cost.steps / len(plan))
    assert (cost.resident, cost.moved) == tuple(
        sum(getattr(one, name) for one in found.takeovers) for name in ("resident", "moved")
    )
    assert cost.right == np.mean([who == truth for who, truth in zip(plan, own.truth, strict=True)])


def test_a_phase_within_the_warm_up_has_no_figures():
    own = own_bench(periods=4, requests=60)
    made = replace(own.stream, warmup=int(own.stream.pages.request_start[130]))
    own = Bench(made, models(), settings())
    plan = own.truth
    found, simulation = own.run(plan, "none")
    row = own.row("exact_monitor", "", simulation, simulation, own.charged(plan, found), None)
    assert row.phase_hit_ratios[:2] == [None, None] and None not in row.phase_hit_ratios[2:]
    assert row.phase_response_us[:2] == [None, None] and None not in row.phase_response_us[2:]


def test_wrong_takeovers_are_by_models_of_another_category():
    own = own_bench()
    plan = 1 - own.truth
    cost = own.cost(plan, own.run(plan, "alone")[0])
    assert (cost.takeovers, cost.wrong_takeovers, cost.right, cost.delays) == (2, 2, 0.0, [None])


def test_one_model_renewed_that_leaves_the_pages_alone_is_that_model_begun_again():
    own = own_bench(periods=2, requests=155)
    plan = own.plan(WAY)
    kept, found, simulation = own.renewed(plan, 0, "none")
    alone = Bench(own.stream, replace(models(), caching=[models().caching[0]] * 2), settings()).run(plan, "none")
    assert simulation.hits == alone[1].hits
    assert [one.model for one in found.takeovers] == [0] * 4
    np.testing.assert_array_equal(kept, np.where(plan < 0, plan, 0))


def candidate(requeue, unknown, votes, hit_ratio):
    return Candidate(requeue=requeue, unknown=unknown, switch_votes=votes, hit_ratio=hit_ratio)


def test_the_paper_s_way_is_the_best_of_all_its_own():
    ours = [candidate("empty", "keep", 1, 0.9), candidate("in_order_out", "no_model", 2, 0.8)]
    own = [candidate("in_order", "no_model", 3, 0.5), candidate("alone", "keep", 1, 0.4)]
    alike = candidate("in_order", "keep", 1, 0.3)
    assert re_evaluating([*ours, *own, alike]) == Way("in_order", "no_model", 3)
    assert re_evaluating([*ours, own[1], alike]) == Way("alone", "keep", 1)


def test_every_cache_of_a_stream_has_its_row():
    own = own_bench(periods=2, requests=155)
    paper = Way("in_order", "no_model", 1)
    rows, best = rows_of(own, WAY, paper, models(), settings().decision_us)
    made = own.stream
    names = [(row.mode, row.policy) for row in rows]
    assert names[:9] == [*((mode, "") for mode in SWITCHING), (FIXED, "mail"), (FIXED, "web")]
    assert names[9:] == [("rival", name) for name in dict.fromkeys(("lru", "arc", best, OPTIMUM))]
    by_name = dict(zip(names, rows, strict=True))
    assert by_name[FIXED, "mail"].lead == 0
    hits = {
        name: simulate(made.trace, made.pages, name, made.capacity, made.warmup).hit_ratio
        for name in (*classics(), OPTIMUM)
    }
    assert by_name["rival", best].hit_ratio == max(hits[name] for name in classics())
    assert by_name["rival", OPTIMUM].hit_ratio == hits[OPTIMUM]
    plan = own.plan(WAY)
    loaded = loading_plan(plan, made.trace.time_us, 60_000)
    plans = {
        ("multiple_model", ""): (plan, "alone"), ("single_model", ""): (loaded, "alone"),
        ("each_minute", ""): (own.plan(replace(WAY, switch_votes=1), 60), "alone"),
        ("exact_monitor", ""): (own.truth, "alone"), ("queues_kept", ""): (plan, "none"),
        ("re_evaluated", ""): (own.plan(paper), "in_order"),
        (FIXED, "web"): (np.ones_like(plan), "alone"),
    }  # fmt: skip
    assert (own.plan(paper) != plan).any()
    for name, (wanted, requeue) in plans.items():
        assert by_name[name].hit_ratio == own.run(wanted, requeue)[1].hit_ratio, name
    assert by_name["exact_monitor", ""].cost.delays == [0, 0, 0]
    single, multiple = (by_name[mode, ""].cost.delays for mode in ("single_model", "multiple_model"))
    assert all(a > b for a, b in zip(single, multiple, strict=True))
    assert by_name["queues_kept", ""].cost.steps == 0
    renewed = by_name["one_model_renewed", ""]
    assert renewed.cost.takeovers == by_name["multiple_model", ""].cost.takeovers == 4
    assert (renewed.cost.wrong_takeovers, renewed.cost.delays) == (2, [None, 0, None])
    assert renewed.hit_ratio not in (by_name["multiple_model", ""].hit_ratio, by_name[FIXED, "mail"].hit_ratio)
    assert all(row.cost is None for row in rows if row.mode == "rival")


def test_a_trained_forest_is_a_rival(monkeypatch):
    asked = []

    def bundle(serving, name, trace, pages, capacity, warmup):
        asked.append((serving, capacity, warmup))
        return simulate(trace, pages, "lru", capacity, warmup)

    monkeypatch.setattr(bench_module, "page_bundle", bundle)
    own = Bench(stream(), models(("reuse.tiny", "serving")), settings())
    rows, _ = rows_of(own, WAY, Way("in_order", "keep", 2), models(), settings().decision_us)
    by_policy = {row.policy: row for row in rows if row.mode == "rival"}
    assert asked == [("serving", own.stream.capacity, own.stream.warmup)]
    assert by_policy["reuse.tiny"].hit_ratio == by_policy["lru"].hit_ratio
    assert by_policy["reuse.tiny"].mean_response_us == pytest.approx(by_policy["lru"].mean_response_us + 25.0)


def test_the_way_with_the_best_mean_on_validation_is_chosen():
    benches = [own_bench(role="validation"), own_bench(role="validation", periods=2, requests=155)]
    found = choose(benches)
    ways = {Way(one.requeue, one.unknown, one.switch_votes): one.hit_ratio for one in found}
    assert len(ways) == len(REQUEUES) * len(UNKNOWNS) * 3
    for way, hit_ratio in ways.items():
        each = [own.run(own.plan(way), way.requeue)[1].hit_ratio for own in benches]
        assert hit_ratio == pytest.approx(np.mean(each))
    assert found[0].hit_ratio == max(ways.values()) > min(ways.values())


@pytest.fixture
def measured():
    validation = [stream(role="validation")]
    return measure(settings(), models(), validation, [("two", stream()), ("alternating", stream(155, 2))])


def test_the_document_says_what_was_chosen_and_is_the_same_again(measured, tmp_path):
    again = measure(
        settings(), models(), [stream(role="validation")], [("two", stream()), ("alternating", stream(155, 2))]
    )
    assert again.model_dump_json() == measured.model_dump_json()
    assert measured.chosen == measured.candidates[0]
    assert [one.kind for one in measured.streams] == ["two", "alternating"]
    assert {row.stream for row in measured.rows} == {one.name for one in measured.streams}
    write_json(tmp_path / "found.json", measured.model_dump(mode="json"))
    assert read_reconfigured(tmp_path / "found.json") == measured
    write_json(tmp_path / "found.json", {"rows": []})
    with pytest.raises(CachezooError, match=r"found\.json: is not as `make figures` writes it"):
        read_reconfigured(tmp_path / "found.json")


def test_the_summary_is_of_one_row_for_each_stream(measured):
    lines = {one.mode: one for one in measured.summary}
    fixed = [[row for row in measured.rows if row.stream == one.name and row.mode == FIXED] for one in measured.streams]
    best = np.mean([max(row.hit_ratio for row in own) for own in fixed])
    assert lines["fixed_model, the best in hindsight"].hit_ratio == pytest.approx(best)
    assert lines["fixed_model, of the first phase"].lead == lines["fixed_model, of the first phase"].lowest_lead == 0
    own = [row for row in measured.rows if row.mode == "multiple_model"]
    assert lines["multiple_model"].hit_ratio == pytest.approx(np.mean([row.hit_ratio for row in own]))
    assert lines["multiple_model"].lowest_lead == min(row.lead for row in own)
    assert lines["exact_monitor"].right == 1 and lines["lru"].right is None
    top = [row for row in measured.rows if row.policy == OPTIMUM]
    assert lines[OPTIMUM].after_hit_ratio == pytest.approx(np.mean([row.after_hit_ratio for row in top]))
    assert summary_of(measured.streams, measured.rows) == measured.summary


def test_the_plot_and_the_tables_are_of_the_document_alone(measured, tmp_path):
    for name in ("one.png", "other.png"):
        draw(measured, tmp_path / name)
    assert (tmp_path / "one.png").read_bytes() == (tmp_path / "other.png").read_bytes()
    rows = shown(measured.streams[0], measured)
    assert rows["fixed_model"].policy == "mail" and rows["best classic"].policy == measured.streams[0].best_classic
    other = measured.model_copy(update={"rows": [row.model_copy(update={"periods": [0.5]}) for row in measured.rows]})
    draw(other, tmp_path / "other.png")
    assert (tmp_path / "one.png").read_bytes() != (tmp_path / "other.png").read_bytes()
    console = out()
    console.width = 240
    with console.capture() as capture:
        console.print(*tables(measured))
    text = capture.get()
    for word in (*SWITCHING, "fixed_model web", OPTIMUM, "in_order", "no_model", f"{measured.chosen.hit_ratio:.4f}"):
        assert word in text, word


def written(folder: Path, own, provenance="analytic"):
    """A trace and its responses where the pipeline has them."""
    write_trace(own.trace, folder / paths.requests(own.category, own.key), expand_pages(own.trace))
    table = pa.table({"t_hdd_us": own.hdd_us, "t_ssd_us": own.ssd_us})
    metadata = {"cachezoo.provenance": provenance, "cachezoo.stage": "replay"}
    write_table(folder / paths.responses(own.category, own.key), table, metadata)


def test_streams_are_of_the_first_seen_trace_of_each_category_and_of_unseen_ones(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for category in CLASSES:
        for own in (part(category, "validation"), part(category), part(category, unseen=True)):
            written(tmp_path, own)
    tests = list(streams_of(settings(), "test"))
    assert [(kind, one.name) for kind, one in tests] == [
        ("two", "mail_test-web_test"), ("two", "web_test-mail_test"), ("alternating", "mail_test/web_test"),
        ("unseen programs", "mail_other-web_other"),
    ]  # fmt: skip
    assert [phase.key for phase in tests[2][1].phases] == ["mail_test", "web_test"] * 2
    validation = list(streams_of(settings(), "validation"))
    assert [kind for kind, _ in validation] == ["alternating"]
    assert {phase.key for _, one in validation for phase in one.phases} == {"mail_validation", "web_validation"}
    written(tmp_path, part("web"), "real")
    with pytest.raises(TraceError, match="its times are of another device"):
        list(streams_of(settings(), "test"))


def test_of_more_than_two_categories_all_take_turns(monkeypatch):
    parts = {key: part("mail" if key == "mail_test" else "web", seed=3 * k) for k, key in enumerate(NAMES)}
    for key, own in parts.items():
        meta = replace(own.trace.meta, trace_id=key)
        parts[key] = replace(own, key=key, trace=replace(own.trace, meta=meta))
    monkeypatch.setattr(stage, "_part", lambda _, key: parts[key])
    monkeypatch.setattr(stage, "one_provenance", list)
    traces = {key: settings().traces["web_test"] for key in NAMES}
    own = settings(categories=list(NAMES), roles={key: {"test": [key]} for key in NAMES}, traces=traces)
    found = [(kind, [phase.key for phase in one.phases]) for kind, one in streams_of(own, "test")]
    a, b, c, d = NAMES
    assert found == [
        ("two", [a, b]), ("two", [b, c]), ("two", [c, d]), ("two", [d, a]),
        ("alternating", [a, c, a, c]), ("alternating", [b, d, b, d]), ("all in turn", [*NAMES, *NAMES]),
    ]  # fmt: skip


def test_models_are_read_in_the_order_of_the_monitor_s_classes(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    made = fit_and_judge(KINDS, lstm_parts(400, 1), lstm_parts(400, 11))
    made.write(paths.trained("workload.lstm8"))
    for k, kind in enumerate(KINDS):
        write_caching(
            make_stream(300, k, kind), paths.trained(f"caching.{kind}.lstm1x8"), queues=("three", "single")[k]
        )
    own = settings(categories=KINDS[::-1], caching="lstm1x8", workload="lstm8")
    found = read_models(own)
    assert found.classes == tuple(KINDS) and found.follower is None
    assert [one.policy["queues"] for one in found.caching] == ["three", "single"]
    assert {votes: one.switch_votes for votes, one in found.monitors.items()} == {1: 1, 2: 2, 3: 3}
    assert made.trained.policy["switch_votes"] == 2
    said = "workload.lstm8: tells pairs, turns apart, but page categories are mail, web"
    with pytest.raises(ConfigError, match=said):
        read_models(settings(workload="lstm8"))


def test_refuses_a_category_without_a_trace_and_models_that_do_not_fit(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    bare = settings()
    lacking = replace(bare, roles={**bare.roles, "web": {"test": ["web_other"]}})
    with pytest.raises(ConfigError, match="web: has no test trace of a seen program; add one to the matrix"):
        list(streams_of(lacking, "test"))
    with pytest.raises(ConfigError, match="page categories: web is one alone; a workload changes between two"):
        list(streams_of(settings(categories=["web"]), "test"))
    with pytest.raises(CachezooError, match=r"workload\.tiny.train\.json: no such file"):
        read_models(bare)
