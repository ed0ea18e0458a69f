"""Equal money, a choice on validation alone, and figures on test traces that are those of the simulator."""

from pathlib import Path

import numpy as np
import pytest
import yaml

from cachezoo import paths
from cachezoo.contest.lead import mean_of, saving
from cachezoo.devices.analytic import t_hdd_us
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.errors import ConfigError
from cachezoo.questions.tiers import stage
from cachezoo.questions.tiers.bench import Bench, blocks_of
from cachezoo.questions.tiers.budget import Market
from cachezoo.questions.tiers.columns import TiersMetrics
from cachezoo.questions.tiers.hierarchy import parse_hierarchy
from cachezoo.questions.tiers.response import depth_of, loop_of, response
from cachezoo.questions.tiers.run import counts, run_tiers
from cachezoo.questions.tiers.stage import Settings, choose, enough, evaluate, families, modelled
from cachezoo.questions.tiers.stream import tier_stream
from cachezoo.settings.device import RealDevice, Target
from cachezoo.settings.prices import Prices
from cachezoo.settings.tiers import TiersPolicy
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.store import write_trace
from cachezoo.traces.table import Trace
from tests.page_data import seeded_trace

ROOT = Path(__file__).resolve().parents[4]
PRICES = Prices.model_validate(yaml.safe_load((ROOT / "conf/prices/retail2022.yaml").read_text()))
SHARES = (0.1, 0.3)
POLICY = TiersPolicy(
    budgets=list(SHARES), splits=[0.2, 0.5, 0.8], least_pages=4,
    families={"ram": ["lru", "lfu"], "hca": ["hca", "hcalfu | lru"], "inclusive": ["inclusive: lru | lru"]},
    zoo={"orders": ["{ram} | {ssd}", "promotion: {ram} | {ssd}"], "ram": ["lru", "arc"], "ssd": ["fifo", "lru"]},
    finalists=3, shortlist=2, enough=0.1,
)  # fmt: skip


def market(pages: int = 600, least: int = 4) -> Market:
    return Market.of(PRICES, pages, least)


def trace_of(seed: int, n: int = 1500, pages: int = 600) -> Trace:
    """A trace whose latencies say how many requests were outstanding."""
    return seeded_trace(n, pages, seed, latency_us=np.full(n, 6000, np.int64))


def bench(seed: int = 1, n: int = 1500, pages: int = 600) -> Bench:
    return Bench.of(f"t{seed}", tier_stream(trace_of(seed, n, pages)), BUILT_IN, PRICES)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> TiersMetrics:
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("project"))
        return evaluated()


def evaluated(**changed: object) -> TiersMetrics:
    """The stage in the working folder, over three traces that it writes there."""
    for seed, key in enumerate(("web_validation", "web_test", "web_other")):
        trace = trace_of(seed)
        write_trace(trace, paths.requests("web", key), expand_pages(trace))
    roles = {"train": [], "validation": ["web_validation"], "test": ["web_test", "web_other"]}
    values = {"device": BUILT_IN, "prices": PRICES, "roles": roles, "tiers": POLICY, **changed}
    return evaluate("web", Settings(**values))


def test_a_bench_counts_the_second_half_and_keeps_what_ram_does() -> None:
    one = bench()
    first = one.first
    assert len(one.ts) / 2 - 8 <= first <= len(one.ts) / 2 + 8
    assert one.reads.sum() == int((~one.ts.write[first:]).sum())
    for text in ("lru | fifo", "lru | lru", "promotion: lru | lru", "lru", "l2arc"):
        point = market().split(parse_hierarchy(text), market().usd(0.3), 0.5)
        assert point is not None
        fresh = run_tiers(point.hierarchy, one.ts, point.ram_pages, point.ssd_pages)
        kept = one.run(point)
        assert (kept.tier == fresh.tier).all() and (kept.event_page == fresh.event_page).all()
        found = counts(fresh, one.ts, first)
        ssd = BUILT_IN.ssd
        read, write = ssd.read_us + 4096 / ssd.read_mb_s, ssd.write_us + 4096 / ssd.write_mb_s
        times = found.ssd * read + found.ssd_writes * write + found.disk * one.usual.disk
        assert one.estimate_us(point) == pytest.approx(times + (found.ram + found.buffer) * 0.1)
    assert one.usual.disk == pytest.approx(t_hdd_us(one.ts.trace, BUILT_IN.hdd).mean())


def test_a_choice_is_the_fastest_of_what_was_replayed() -> None:
    one, own = bench(), market()
    hierarchies = families(POLICY)["zoo"]
    everything = POLICY.model_copy(update={"finalists": 100, "shortlist": 100})
    found = choose([one], hierarchies, own, own.usd(0.04), everything)
    every = (own.split(h, own.usd(0.04), split) for h in hierarchies for split in POLICY.splits)
    times = {
        point: response(one.ts, one.run(point), BUILT_IN, one.first, loop=one.loop).tiered.amat_us
        for point in every
        if point is not None
    }
    assert found is not None
    assert found.validation.amat_us == pytest.approx(min(times.values())) == pytest.approx(times[found.point])
    assert found.tried == found.replayed == len(times)
    few = choose([one], hierarchies, own, own.usd(0.04), POLICY)
    assert few is not None and few.replayed == POLICY.shortlist
    assert few.tried == 2 * len(hierarchies) + POLICY.finalists  # two splits for all, the third for the best


def test_a_family_that_the_budget_does_not_buy_has_no_choice() -> None:
    own = market(least=500)
    assert choose([bench()], [parse_hierarchy("lru | lru")], own, own.usd(0.3), POLICY) is None


def test_a_family_s_text_that_is_no_hierarchy_is_named() -> None:
    bad = POLICY.model_copy(update={"families": {"hca": ["hca", "lru | lruu"]}})
    with pytest.raises(ConfigError, match=r"^policy\.tiers\.families\.hca: hierarchy lru \| lruu: .*lruu") as error:
        families(bad)
    assert "\n" not in str(error.value)
    orders = POLICY.zoo.model_copy(update={"orders": ["upwards: {ram} | {ssd}"]})
    with pytest.raises(ConfigError, match=r"^policy\.tiers\.zoo: hierarchy upwards: .*promotion, inclusive"):
        families(POLICY.model_copy(update={"zoo": orders}))


def test_the_same_hierarchy_is_tried_once() -> None:
    twice = POLICY.model_copy(update={"families": {"hca": ["hca", "hcalfu | tb=64K | lru", " hcalfu |  lru"]}})
    assert [str(one) for one in families(twice)["hca"]] == ["hcalfu | tb=64K | lru", "hcalfu | lru"]


def test_every_family_is_at_every_budget_of_every_test_trace(made: TiersMetrics) -> None:
    assert made.reason == "" and set(made.traces) == {"web_test", "web_other"}
    names = {"ram", "hca", "inclusive", "zoo"}
    for budget in made.budgets:
        assert set(budget.choices) == names
        assert budget.best == min(names, key=lambda name: budget.choices[name].validation.amat_us)
        for trace in made.traces.values():
            for name in names:
                row = trace.row(budget.share, name)
                assert row is not None and row.rhr + row.shr + row.dhr == pytest.approx(1)
                assert row.hierarchy == budget.choices[name].hierarchy
                assert (row.ram_bytes, row.ssd_bytes) == (
                    budget.choices[name].ram_bytes,
                    budget.choices[name].ssd_bytes,
                )
                assert set(row.saved) == names - {name}
                assert (row.waf is None) == (row.ssd_bytes == 0) and row.usd_month > 0


def test_figures_and_intervals_are_those_of_the_simulator(made: TiersMetrics) -> None:
    trace = trace_of(1)
    ts = tier_stream(trace, expand_pages(trace))
    rows, blocks = {}, {}
    for name in ("hca", "ram"):
        row = made.traces["web_test"].row(SHARES[1], name)
        assert row is not None
        run = run_tiers(parse_hierarchy(row.hierarchy), ts, row.ram_bytes // 4096, row.ssd_bytes // 4096)
        found = response(ts, run, BUILT_IN, ts.second_half, loop=loop_of(ts))
        blocks[name] = found.blocks(blocks_of(found.reduced.reads))
        assert row.amat_us == pytest.approx(found.tiered.amat_us) and row.p99_us == pytest.approx(found.tiered.p99_us)
        assert row.ssd_writes == found.tiered.ssd_written and row.iops == pytest.approx(found.tiered.iops)
        assert row.amat_interval == pytest.approx(mean_of(blocks[name], row.amat_us).ends)
        assert row.alone_us == pytest.approx(found.tiered.alone_us)
        rows[name] = row
    test = made.traces["web_test"]
    assert (test.loop, test.depth) == ("closed", depth_of(ts)) and test.depth > 1
    saved = rows["hca"].saved["ram"]
    assert saved.share == pytest.approx(1 - rows["hca"].amat_us / rows["ram"].amat_us)
    assert saved.alone_share == pytest.approx(1 - rows["hca"].alone_us / rows["ram"].alone_us)
    assert saved.interval == pytest.approx(saving(blocks["hca"], blocks["ram"], saved.share).ends)


def test_test_traces_choose_nothing(made: TiersMetrics, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(stage, "read_trace", _other_tests)
    other = evaluated()
    assert other.budgets == made.budgets and other.advised == made.advised
    assert other.traces["web_test"] != made.traces["web_test"]


def _other_tests(path: Path):
    seed = {"web_validation": 0}.get(path.stem, 7)
    trace = trace_of(seed)
    write_trace(trace, path, expand_pages(trace))
    return trace


def test_the_advice_is_the_cheapest_budget_that_is_hardly_slower() -> None:
    one, own = bench(), market()
    made = {
        share: {"zoo": choose([one], [parse_hierarchy("lru | lru")], own, own.usd(share), POLICY)}
        for share in (0.05, 0.2, 0.4)
    }
    times = {share: found["zoo"].validation.amat_us for share, found in made.items()}
    assert times[0.05] > times[0.2]
    for slack in (0.0, times[0.2] / times[0.4] - 1 + 1e-9, times[0.05] / times[0.4] - 1 + 1e-9):
        wanted = min(share for share in times if times[share] <= (1 + slack) * times[0.4])
        assert enough(made, slack) == wanted
    assert enough(made, 10.0) == 0.05


@pytest.mark.parametrize(("role", "reason"), [("validation", "no validation trace"), ("test", "no test trace")])
def test_without_traces_nothing_is_measured(role: str, reason: str, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    roles = {"train": [], "validation": ["web_validation"], "test": ["web_test"], role: []}
    found = evaluated(roles=roles)
    assert reason in found.reason and found.traces == {} and found.budgets == [] and found.advised is None


def test_a_trace_with_too_few_reads_for_its_blocks_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    trace = trace_of(3, 380)
    write_trace(trace, paths.requests("web", "short"), expand_pages(trace))
    write_trace(trace_of(1), paths.requests("web", "long"), expand_pages(trace_of(1)))
    found = stage.benches("web", ["short", "long"], BUILT_IN, PRICES)
    assert [one.key for one in found] == ["long"]
    assert (found[0].reads > 0).sum() >= 200


def test_a_budget_that_buys_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found = evaluated(tiers=POLICY.model_copy(update={"least_pages": 900}))
    assert found.reason == "no budget of policy.tiers buys its least pages" and found.traces == {}


def test_real_devices_are_modelled_and_the_metrics_say_so() -> None:
    targets = {name: Target(path=f"/dev/{name}", name=name) for name in ("hdd", "ssd")}
    device, note = modelled(RealDevice(source="real", **targets))
    assert device == BUILT_IN and "the real devices were not asked" in note
    assert modelled(BUILT_IN) == (BUILT_IN, "the models of conf/device")
