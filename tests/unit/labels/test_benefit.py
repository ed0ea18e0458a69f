from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import TraceError
from cachezoo.io import read_table, write_table
from cachezoo.kernels.outcome import HIT
from cachezoo.labels import part as parts
from cachezoo.labels.benefit import (
    Worth,
    belady_worth,
    label_part,
    label_requests,
    label_trace,
    reach_of,
    run_of,
    tags_of,
    write_benefit_labels,
)
from cachezoo.labels.part import Part
from cachezoo.labels.tags import BELADY, COST_BELADY, Labels, Tags, read_benefit_labels, tag_column, teacher_names
from cachezoo.policies.bounds import BELADY_BYPASS
from cachezoo.settings.page_cache import BenefitLabel
from cachezoo.traces import memory, spill
from cachezoo.traces.pages import capacity_pages, expand_pages, percent
from tests.oracles.benefit import naive_benefit
from tests.oracles.oracle_cache import naive_decided, naive_oracle, naive_tags, naive_useful
from tests.oracles.request_oracle import naive_fates_settled, naive_request_oracle, naive_time_saved
from tests.page_data import (
    in_row_groups,
    lists_of,
    page_requests,
    pages_of,
    seeded_requests,
    seeded_trace,
    service_times,
)

LABEL = BenefitLabel(oracle="benefit", horizons=[1, 3], capacities=[0.05, 0.2])
COST_LABEL = BenefitLabel(oracle="cost_belady", horizons=[1, 3], capacities=[0.05, 0.2])
TRACE = seeded_trace(500, 120, 6)
PAGES = expand_pages(TRACE)
HDD, SSD = service_times(len(TRACE), 9)


def label(params: BenefitLabel = LABEL) -> Labels:
    return label_trace(TRACE, PAGES, HDD, SSD, params)


def test_matches_the_naive_oracles() -> None:
    labels = label()
    requests, ids, m = lists_of(PAGES), PAGES.page_ids.tolist(), len(PAGES.page_ids)
    assert set(labels.tags) == {(t, c) for t in ("benefit_1", "benefit_3", "belady") for c in (5, 20)}
    for (teacher, size), tags in labels.tags.items():
        capacity = round(size / 100 * PAGES.n_pages)
        if teacher == BELADY:
            later = [next((q for q in range(p + 1, m) if ids[q] == ids[p]), None) for p in range(m)]
            worth = [-float("inf") if q is None else -float(q) for q in later]
            reach = min(3 * capacity, m // 4)
            oracle = naive_oracle(ids, worth, capacity)
            run = naive_useful(ids, oracle, reach)
            ends = [max(oracle.contested, m - reach)] * 2
        else:
            reach = int(teacher[-1]) * capacity
            worth = naive_benefit(requests, TRACE.op.tolist(), HDD.tolist(), SSD.tolist(), reach)
            run = oracle = naive_oracle(ids, worth, capacity)
            run = replace(run, reuse=[r if r <= reach else 0 for r in run.reuse])
            ends = [m - reach, m - 2 * reach]
        expected = naive_tags(requests, run, *ends, capacity)
        for name in expected[0]:
            assert getattr(tags, name).tolist() == [row[name] for row in expected], (teacher, size, name)
        assert labels.hit_ratio[teacher, size] == oracle.outcome.count("hit") / m
        hits = naive_decided(requests, worth, [int(row["cached"]) for row in expected], capacity)
        assert labels.decided_hit_ratio[teacher, size] == pytest.approx(sum(hits) / m)
        if (teacher, size) == ("benefit_1", 5):
            means, p = [], 0
            for request in requests:
                means.append(sum(worth[p : p + len(request)]) / len(request))
                p += len(request)
            np.testing.assert_allclose(labels.benefit, means, rtol=1e-6)


def test_the_oracle_that_saves_time_matches_the_naive_one_and_leaves_the_others_as_they_are() -> None:
    labels, plain = label(COST_LABEL), label()
    requests, m = lists_of(PAGES), len(PAGES.page_ids)
    assert set(labels.tags) - set(plain.tags) == {(COST_BELADY, 5), (COST_BELADY, 20)}
    for key, tags in plain.tags.items():
        assert labels.tags[key].bits.tobytes() == tags.bits.tobytes()
    for size in (5, 20):
        capacity = round(size / 100 * PAGES.n_pages)
        reach = min(3 * capacity, m // 2)
        saved = naive_time_saved(requests, HDD.tolist(), SSD.tolist(), reach)
        run = naive_request_oracle(requests, saved, capacity)
        run = replace(run, reuse=[r if r <= reach else 0 for r in run.reuse])
        end = m - reach
        expected = naive_tags(requests, run, end, m - 2 * reach, capacity)
        for row, sure in zip(expected, naive_fates_settled(requests, run, end), strict=True):
            row["kept_settled"] = row["kept_settled"] or sure
        for name in expected[0]:
            assert getattr(labels.tags[COST_BELADY, size], name).tolist() == [row[name] for row in expected], name
        hits = run.outcome.count("hit") / m
        assert labels.hit_ratio[COST_BELADY, size] == labels.decided_hit_ratio[COST_BELADY, size] == hits


def test_readings_that_count_all_uses_match_the_naive_oracles_and_take_the_part_for_the_whole() -> None:
    labels = label(BenefitLabel(oracle="benefit", horizons=[3, "future", "trace"], capacities=[0.05, 0.2]))
    requests, m = lists_of(PAGES), len(PAGES.page_ids)
    for name, horizon in (("benefit_future", m), ("benefit_trace", None)):
        worth = naive_benefit(requests, TRACE.op.tolist(), HDD.tolist(), SSD.tolist(), horizon)
        for size in (5, 20):
            run = naive_oracle(PAGES.page_ids.tolist(), worth, round(size / 100 * PAGES.n_pages))
            expected = naive_tags(requests, run, m, m, round(size / 100 * PAGES.n_pages))
            for tag in expected[0]:
                assert getattr(labels.tags[name, size], tag).tolist() == [row[tag] for row in expected], (name, size)
            assert labels.tags[name, size].settled.all()
    assert labels.tags["benefit_3", 5].bits.tobytes() == label().tags["benefit_3", 5].bits.tobytes()
    assert labels.tags[BELADY, 5].bits.tobytes() == label().tags[BELADY, 5].bits.tobytes()


def test_belady_is_the_optimum_and_no_oracle_beats_it() -> None:
    labels = label()
    for fraction in LABEL.capacities:
        capacity = capacity_pages(fraction, PAGES.n_pages)
        optimum = (BELADY_BYPASS.hits(PAGES.page_ids, PAGES.n_pages, capacity) == HIT).mean()
        ratios = {teacher: labels.hit_ratio[teacher, percent(fraction)] for teacher in teacher_names(LABEL)}
        assert ratios[BELADY] == optimum == max(ratios.values())
        decided = [labels.decided_hit_ratio[t, percent(fraction)] for t in teacher_names(LABEL)]
        assert max(decided) <= optimum


def test_what_is_taught() -> None:
    for tags in label().tags.values():
        assert tags.taught.any() and not (tags.taught & ~tags.consulted).any()
        assert not (tags.taught & tags.forced).any() and not (tags.taught & ~tags.settled).any()
        assert tags.cached[~tags.consulted].all()
        assert (tags.kept_settled <= tags.settled).all()


def tags_at(requests: list[list[int]], rest: list[list[int]], teacher: str, capacity: int, reach: int) -> Tags:
    """Tags of `requests` when the trace goes on with `rest`; all else equal."""
    pages = pages_of([*requests, *rest])
    n = pages.n_requests
    rng = np.random.default_rng(1)
    op, hdd, ssd = rng.integers(0, 2, 4000).astype(np.uint8)[:n], *(times[:n] for times in service_times(4000, 1))
    part = Part.of(op, pages, hdd, ssd)
    run = run_of(part, teacher, Worth(part, teacher, reach), capacity)
    return Tags(tags_of(part, teacher, run, capacity, reach).bits[: len(requests)])


def settled_stays(requests: list[list[int]], rest: list[list[int]], teacher: str, capacity: int, reach: int) -> float:
    """Assert that a longer trace changes nothing that is settled; returns the settled share."""
    part = tags_at(requests, [], teacher, capacity, reach)
    whole = tags_at(requests, rest, teacher, capacity, reach)
    sure, kept, known = part.settled, part.kept_settled, part.settled & (part.duration > 0)
    assert (whole.settled >= sure).all() and (whole.kept_settled >= kept).all()
    for name in ("cached", "consulted", "forced"):
        np.testing.assert_array_equal(getattr(part, name)[sure], getattr(whole, name)[sure], name)
    np.testing.assert_array_equal(part.kept[kept], whole.kept[kept])
    np.testing.assert_array_equal(part.duration[known], whole.duration[known])
    return float(sure.mean())


@given(
    page_requests(most=60, pages=8),
    page_requests(most=40, pages=12),
    st.sampled_from(["benefit", BELADY, COST_BELADY]),
    st.integers(1, 6),
    st.integers(1, 25),
)
def test_whatever_follows_a_part_changes_no_settled_tag(
    requests: list[list[int]], rest: list[list[int]], teacher: str, capacity: int, reach: int
) -> None:
    settled_stays(requests, rest, teacher, capacity, reach)


@pytest.mark.parametrize("teacher", ["benefit", BELADY, COST_BELADY])
@pytest.mark.parametrize("capacity", [1, 4, 20, 60])
def test_whatever_follows_a_longer_part_changes_no_settled_tag(teacher: str, capacity: int) -> None:
    requests = seeded_requests(400, 100, 5)
    reach = 3 * capacity
    for rest in (requests, requests[::-1], seeded_requests(400, 150, 6), [[200 + k] for k in range(400)]):
        assert settled_stays(requests, rest, teacher, capacity, reach) > 0.5


def test_a_page_idle_in_an_uncontested_cache_is_not_settled_for_belady_within_its_reach() -> None:
    # A cache of 2 with one page in use: the other place is for whatever page the continuation asks for.
    requests = [[0], [1], *([page] for k in range(10) for page in (0, 2 + k))]
    asked = tags_at(requests, [[1]], BELADY, 2, 30)
    part = tags_at(requests, [], BELADY, 2, 30)
    assert asked.cached[1] and not part.cached[1] and not part.settled[1]
    # A use beyond a reach of 5 is none.
    asked = tags_at(requests, [[1]], BELADY, 2, 5)
    part = tags_at(requests, [], BELADY, 2, 5)
    assert not asked.cached[1] and not part.cached[1] and part.settled[1]


def test_the_reach_of_belady_is_the_longest_horizon_and_at_most_a_quarter() -> None:
    assert reach_of(BELADY, 10, 1000, LABEL) == 30
    assert reach_of(BELADY, 100, 1000, LABEL) == 250
    assert reach_of(BELADY, 1, 1, LABEL) == 1
    assert reach_of("benefit_3", 100, 10, LABEL) == 300
    assert [reach_of(COST_BELADY, capacity, 1000, LABEL) for capacity in (10, 200)] == [30, 500]


@pytest.mark.parametrize("params", [LABEL, COST_LABEL])
def test_round_trip(tmp_path: Path, params: BenefitLabel) -> None:
    path = tmp_path / "labels.parquet"
    written = write_benefit_labels(TRACE, PAGES, HDD, SSD, params, path)
    table, metadata = read_table(path)
    assert len(table) == len(TRACE) and metadata["cachezoo.trace_id"] == "seeded"
    read = read_benefit_labels(path, params)
    assert ((COST_BELADY, 5) in read.tags) == (params is COST_LABEL)
    assert (read.hit_ratio, read.decided_hit_ratio) == (written.hit_ratio, written.decided_hit_ratio)
    assert read.benefit.tobytes() == written.benefit.tobytes()
    for key, tags in written.tags.items():
        assert read.tags[key].bits.tobytes() == tags.bits.tobytes()
    fewer = params.model_copy(update={"oracle": "benefit", "capacities": [0.2], "horizons": [3]})
    assert set(read_benefit_labels(path, fewer).tags) == {("benefit_3", 20), ("belady", 20)}


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The trace with its pages, in row groups of their own lengths, and the service times."""
    requests, responses = tmp_path / "requests.parquet", tmp_path / "responses.parquet"
    in_row_groups(requests, TRACE, (0, 180, 181, len(TRACE)))
    write_table(responses, pa.table({"t_hdd_us": HDD, "t_ssd_us": SSD}))
    return requests, responses


WHOLE_USES = LABEL.model_copy(update={"horizons": [3, "future", "trace"]})


@pytest.mark.parametrize("params", [LABEL, COST_LABEL, WHOLE_USES])
def test_a_long_trace_has_the_same_bytes(
    files: tuple[Path, Path], tmp_path: Path, params: BenefitLabel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ours, theirs, short = (tmp_path / f"{name}.parquet" for name in ("ours", "theirs", "short"))
    write_benefit_labels(TRACE, PAGES, HDD, SSD, params, theirs)
    label_requests(*files, params, short)
    monkeypatch.setenv(memory.FROM, "1")
    monkeypatch.setattr(parts, "AT_ONCE", 100)
    label_requests(*files, params, ours)
    assert ours.read_bytes() == theirs.read_bytes() == short.read_bytes()


def test_a_part_in_files_has_spans_of_whole_requests_and_leaves_nothing_behind(
    files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "spilled"
    folder.mkdir()
    monkeypatch.setenv(spill.FOLDER, str(folder))
    monkeypatch.setattr(parts, "AT_ONCE", 100)
    part = Part.read(*files, shares=True)
    spans = list(part.spans())
    assert len(spans) >= len(PAGES.page_ids) // 110 and max(len(part.flags[span.places]) for span in spans) < 105
    assert np.concatenate([span.start[:-1] for span in spans]).tolist() == PAGES.request_start[:-1].tolist()
    assert [span.rows for span in part.spans(backwards=True)] == [span.rows for span in spans][::-1]
    whole = Part.of(TRACE.op, PAGES, HDD, SSD)
    for name in ("page_ids", "flags", "ratio", "share"):
        assert getattr(part, name).tobytes() == getattr(whole, name).tobytes(), name
    assert not list(folder.iterdir())


@pytest.mark.parametrize(("params", "more"), [(LABEL, 0), (COST_LABEL, 8)])
def test_what_files_take(files: tuple[Path, Path], params: BenefitLabel, more: int) -> None:
    part = Part.read(*files, shares=bool(more))
    labels = label_part(part, params)
    assert part.spill is not None
    found = sum(part.spill.column(name).nbytes for name in part.spill.names)
    assert found == (14 + more) * len(part) + (12 + len(labels.tags) + more) * part.requests


def test_files_of_a_long_trace_that_do_not_belong_together(files: tuple[Path, Path], tmp_path: Path) -> None:
    requests, responses = files
    write_table(responses, pa.table({"t_hdd_us": HDD[1:], "t_ssd_us": SSD[1:]}))
    with pytest.raises(TraceError, match="499 rows for 500 requests; run the stage replay again"):
        Part.read(requests, responses, shares=False)
    write_table(responses, pa.table({"t_hdd_us": HDD, "t_ssd_us": np.where(np.arange(500) == 300, np.nan, SSD)}))
    with pytest.raises(TraceError, match="row 301: t_ssd_us is nan, no time above 0"):
        Part.read(requests, responses, shares=False)
    write_table(responses, pa.table({"t_hdd_us": HDD}))
    with pytest.raises(TraceError, match="columns t_ssd_us are missing"):
        Part.read(requests, responses, shares=False)


def test_rules(tmp_path: Path) -> None:
    with pytest.raises(TraceError, match=r"seeded: 499 responses for 500 requests"):
        label_trace(TRACE, PAGES, HDD[:-1], SSD, LABEL)
    with pytest.raises(TraceError, match="replay the trace again"):
        label_trace(TRACE, PAGES, HDD, SSD[:-1], LABEL)
    path = tmp_path / "labels.parquet"
    with pytest.raises(TraceError, match="no such file"):
        read_benefit_labels(path, LABEL)
    write_benefit_labels(TRACE, PAGES, HDD, SSD, LABEL, path)
    with pytest.raises(TraceError, match=r"no tags_cost_belady_05; run the stage label_benefit"):
        read_benefit_labels(path, COST_LABEL)
    more = LABEL.model_copy(update={"horizons": [1, 3, 10]})
    with pytest.raises(TraceError, match=r"no tags_benefit_10_05; run the stage label_benefit"):
        read_benefit_labels(path, more)
    table, _ = read_table(path)
    write_table(path, table, {})
    with pytest.raises(TraceError, match="no labels; run the stage label_benefit"):
        read_benefit_labels(path, LABEL)
    write_table(path, pa.table({"benefit": [1.0]}), {"cachezoo.benefit_labels": "{}"})
    with pytest.raises(TraceError, match="no tags_benefit_1_05"):
        read_benefit_labels(path, LABEL)


def test_names() -> None:
    assert [tag_column(t, 5) for t in teacher_names(LABEL)] == [
        "tags_benefit_1_05", "tags_benefit_3_05", "tags_belady_05",
    ]  # fmt: skip
    assert [percent(f) for f in (0.05, 0.1, 0.29, 0.57, 1.0)] == [5, 10, 29, 57, 100]
    assert capacity_pages(0.05, 3) == 1
    assert belady_worth(np.array([2, 3, 3], np.int32), 3).tolist() == [-2.0, -np.inf, -np.inf]
