import re
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.models.measured import Model
from cachezoo.report.gather import Category, Sources, TraceFacts
from cachezoo.report.verdict import Answer, InFlash, InPage, Verdict, flash_answer, page_answer, page_choice
from tests.metrics_data import BEST, flash_metrics, flash_trace, gap, page_metrics, page_trace, row
from tests.report_data import ADMISSION, CACHING, REUSE, trained

PREFETCH = "prefetch.web.lgbm"
MINUS = "\N{MINUS SIGN}"


def model(name: str, promoted: bool = True, card: str | None = "card", refused: str | None = None, **figures: float):
    values = {"hit_ratio": 0.4, **figures}
    found = trained(name, promoted, validation=values)
    return Model(found, [], card, refused, promoted and card is not None, "as judged")


def facts(key: str, unseen: bool) -> TraceFacts:
    return TraceFacts(key, "web", "test", unseen, (), {}, 1.0, np.zeros(1), np.zeros(1), (0.1,), {}, 1)


def sources(category: Category, unseen: str = "", *more: Model) -> Sources:
    keys = ["web_0", "web_1", "web_2", "web_test"]
    found = [facts(key, key == unseen) for key in keys]
    return Sources(
        models=[*category.models, *more], categories=[category], traces=found, capacity_fraction=0.1, digest="", seed=4
    )


def ask_page(
    *hits: float, response: float = 1400.0, promoted: bool = True, choice: str | None = "lru", writes: float = 55.5,
    **more: Any,
) -> Answer[InPage]:  # fmt: skip
    own = [row(CACHING, "model", hit, writes, response, decision_us=230.0, **more) for hit in hits]
    traces = {f"web_{k}": page_trace("test", one) for k, one in enumerate(own)}
    category = Category("web", page_metrics(traces, choice), None, [model(CACHING, promoted)])
    return page_answer(sources(category, unseen="web_1"), category)


def said(answer: Answer[InPage] | Answer[InFlash]) -> str:
    return " ".join(" ".join(answer.texts).split())


def test_a_model_that_wins_in_hits_and_time_is_deployed() -> None:
    answer = ask_page(0.36)
    assert (answer.run, answer.models, answer.verdict, answer.tone) == ((CACHING,), (CACHING,), Verdict.DEPLOY, "good")
    assert "With 230 µs for a decision a request takes 1.40 ms on average, 100 µs less than with lru." in said(answer)
    assert "It was not tried on a program that it was not trained on." in said(answer)


def test_more_hits_but_slower_is_for_ssd_writes_alone_and_says_when_it_would_pay() -> None:
    answer = ask_page(0.36, response=1600.25)
    assert (answer.verdict, answer.why) == (Verdict.WRITES, "requests are slower")
    assert (answer.run, answer.instead) == ((CACHING,), "lru")
    # 1600.25 - 230 without decisions, so lru's 1500.25 leave 130 µs for one
    assert "100 µs more than with lru: it pays in response time only where a decision takes less than 130 µs." in (
        said(answer)
    )
    assert "even free decisions would not make it faster" in said(ask_page(0.36, response=1800.0))


def test_more_hits_but_slower_and_more_writes_is_for_nobody() -> None:
    answer = ask_page(0.36, response=1600.25, writes=99.75)  # lru writes 99.5
    assert (answer.verdict, answer.run, answer.models) == (Verdict.DONT, ("lru",), (CACHING,))


def test_a_gain_within_the_uncertainty_is_no_deploy() -> None:
    answer = ask_page(BEST + 0.005)
    assert (answer.verdict, answer.why) == (Verdict.WRITES, "its hits are within the uncertainty")
    assert "the interval reaches 0, so this may be chance" in said(answer)
    assert ask_page(BEST + 0.005, writes=120.0).verdict == Verdict.DONT


def test_a_promoted_model_that_surely_loses_on_test_gives_way_to_validations_classic() -> None:
    answer = ask_page(0.28)  # the interval of the gap is 0.05 either way, so it ends at -0.05
    assert (answer.run, answer.models, answer.verdict, answer.tone) == (("lru",), (CACHING,), Verdict.DONT, "bad")
    assert f"{MINUS}2.0 points against lru" in said(answer) and "may be chance" not in said(answer)


@pytest.mark.parametrize("interval", [(-4.42, -3.62), None])
def test_only_an_interval_that_holds_0_is_said_to_reach_it(interval: tuple[float, float] | None) -> None:
    answer = ask_page(0.28, gap_closed=-3.98, gap_closed_interval=interval)
    assert f"{MINUS}398 %" in said(answer) and answer.verdict == Verdict.DONT
    assert "reaches 0" not in said(answer) and "may be chance" not in said(answer)


def test_an_unseen_program_has_a_verdict_of_its_own_and_leaves_that_of_home() -> None:
    answer = ask_page(0.36, 0.28)
    assert answer.verdict == Verdict.DEPLOY and [case.trace for case in answer.away] == ["web_1"]
    assert "On web_1, recorded from a program that no train trace came from," in said(answer)
    assert "So it does not hold on a program it has not seen." in said(answer)
    assert "So it holds on a program it has not seen." in said(ask_page(0.36, 0.37))


def test_the_worst_of_several_home_traces_is_the_verdict() -> None:
    assert ask_page(0.36, 0.36, 0.36).verdict == Verdict.DEPLOY
    assert ask_page(0.36, 0.36, BEST + 0.005).verdict == Verdict.WRITES
    assert ask_page(0.28, 0.36, 0.36).verdict == Verdict.DONT


def test_without_a_test_trace_at_home_nothing_is_deployed() -> None:
    own = row(CACHING, "model", 0.36, 55.5, 1400.0, decision_us=230.0)
    category = Category("web", page_metrics({"web_1": page_trace("test", own)}, "lru"), None, [model(CACHING)])
    answer = page_answer(sources(category, unseen="web_1"), category)
    assert (answer.verdict, answer.run) == (Verdict.UNKNOWN, ("lru",))


def test_without_a_gap_nothing_is_sure() -> None:
    answer = ask_page(0.36, gap_closed=None, gap_closed_interval=None)
    assert answer.verdict == Verdict.WRITES
    assert "hardly a gap between the best classic and the optimum" in said(answer)


def test_an_unpromoted_model_gives_way_to_validations_classic_though_it_wins_on_test() -> None:
    answer = ask_page(0.36, promoted=False, choice="fifo")
    assert (answer.run, answer.models, answer.verdict) == (("fifo",), (), Verdict.DONT)
    assert f"{CACHING} is not promoted: as judged." in said(answer)
    assert f"On web_0 {CACHING} would have hit 36.0 % of the pages, +6.0 points against lru" in said(answer)
    assert f"fifo, validation's choice, hits 28.0 % of the pages, {MINUS}2.0 points against lru" in said(answer)


def test_a_refused_model_has_no_bundle() -> None:
    page = page_metrics({"web_test": page_trace("test")}, "lru")
    category = Category("web", page, None, [model(CACHING, True, None, "its golden rows differ")])
    answer = page_answer(sources(category), category)
    assert answer.run == ("lru",) and f"{CACHING} has no bundle: its golden rows differ." in said(answer)


@pytest.mark.parametrize(("own", "every", "taken"), [(0.02, 0.01, CACHING), (0.01, 0.02, REUSE), (None, 0.02, REUSE)])
def test_of_two_promoted_models_the_one_with_the_surest_lead_on_validation_runs(
    own: float | None, every: float, taken: str
) -> None:
    rows = [row(CACHING, "model", 0.36, 55.5, 1400.0), row(REUSE, "model", 0.35, 55.5, 1400.0)]
    page = page_metrics({"web_0": page_trace("test", *rows)}, "lru")
    mine = model(CACHING, **({} if own is None else {"difference_low": own}))
    category = Category("web", page, None, [mine])
    answer = page_answer(sources(category, "", model(REUSE, difference_low=every)), category)
    assert answer.run == (taken,) and answer.verdict == Verdict.DEPLOY


def test_a_model_of_all_workloads_that_was_not_measured_here_is_not_run_here() -> None:
    page = page_metrics({"web_0": page_trace("test")}, "lru")
    category = Category("web", page, None, [])
    assert page_answer(sources(category, "", model(REUSE)), category).run == ("lru",)


def test_missing_parts() -> None:
    nothing = Category("web", None, None, [])
    for ask, cache in ((page_answer, "page cache"), (flash_answer, "flash cache")):
        answer = ask(sources(nothing), nothing)
        assert (answer.run, answer.verdict) == ((), Verdict.UNKNOWN) and cache in said(answer)
    classics = Category("web", page_metrics({"web_test": page_trace("test")}, "lru"), None, [])
    assert "No model was trained for this workload" in said(page_answer(sources(classics), classics))
    unchosen = Category("web", page_metrics({"web_test": page_trace("test")}, None), None, [])
    assert page_answer(sources(unchosen), unchosen).verdict == Verdict.UNKNOWN


ENDS = st.tuples(st.floats(-5, 5), st.floats(-5, 5)).map(lambda pair: (min(pair), max(pair)))
HOME = st.tuples(
    st.none() | ENDS, st.floats(0.2, 0.45), st.floats(1000, 2000), st.floats(0, 200), st.booleans()
)  # fmt: skip


@given(st.lists(HOME, min_size=1, max_size=3))
def test_a_page_cache_is_deployed_only_where_every_home_trace_surely_gains_and_is_no_slower(
    cases: list[tuple[tuple[float, float] | None, float, float, float, bool]],
) -> None:
    traces = {}
    for at, (ends, hits, response, writes, _) in zip((0, 2, 1), cases, strict=False):
        own = row(CACHING, "model", hits, writes, response, gap_closed_interval=ends)
        traces[f"web_{at}"] = page_trace("test", own)
    category = Category("web", page_metrics(traces, "lru"), None, [model(CACHING)])
    answer = page_answer(sources(category, unseen="web_1"), category)
    if answer.verdict == Verdict.DEPLOY:
        for ends, _, response, _, _ in cases[:2]:
            assert ends is not None and ends[0] > 0 and response <= 1500.25  # lru's
    if answer.verdict == Verdict.WRITES:
        # Each home trace is one to deploy on, or writes less than lru without surely losing hits.
        for ends, _, response, writes, _ in cases[:2]:
            sure = ends is not None and ends[0] > 0
            assert (sure and response <= 1500.25) or (writes < 99.5 and (ends is None or ends[1] >= 0))
    assert (answer.run == (CACHING,)) == (answer.verdict in (Verdict.DEPLOY, Verdict.WRITES))


def ask_flash(*models: Model, saved: float = 0.05, peak: float = 0.02) -> Answer[InFlash]:
    category = Category("web", None, flash_metrics(ADMISSION, saved, peak), list(models))
    return flash_answer(sources(category), category)


def test_the_flash_cache_gets_the_model_that_was_measured_whatever_is_promoted_beside_it() -> None:
    own, others = model(ADMISSION), [model(f"{ADMISSION}_small"), model(f"{ADMISSION}_block", promoted=False)]
    category = Category("web", None, flash_metrics(ADMISSION, prefetch=PREFETCH), [own, *others])
    answer = flash_answer(sources(category), category)
    assert answer.run == (ADMISSION,) and "_block" not in said(answer)


@pytest.mark.parametrize(
    ("saved", "peak", "verdict", "why"),
    [
        (0.05, 0.02, Verdict.DEPLOY, "fewer disks kept busy at the same write rate, in the busiest window too"),
        (0.05, -0.02, Verdict.DONT, "fewer disks kept busy on the mean, but more in the busiest window"),
        (0.005, 0.02, Verdict.DONT, "the saving is within the uncertainty"),
        (-0.05, 0.02, Verdict.DONT, "more disks kept busy"),
    ],
)
def test_flash_models_are_worth_what_they_save(saved: float, peak: float, verdict: Verdict, why: str) -> None:
    answer = ask_flash(model(ADMISSION), model(PREFETCH), saved=saved, peak=peak)
    assert (answer.models, answer.verdict, answer.why) == ((ADMISSION, PREFETCH), verdict, why)
    assert answer.run == ((ADMISSION, PREFETCH) if verdict == Verdict.DEPLOY else ("rejectx",))
    told = said(answer).replace(MINUS, "-")
    assert "the models with prefetch ml_range change the disks kept busy with reads by" in told
    changed = re.search(r"change the disks kept busy with reads by (\S+) % against RejectX, the best policy", told)[1]
    assert float(changed) == pytest.approx(-100 * saved, abs=0.06)
    plain = re.search(r"Against RejectX without prefetch, which is the paper's baseline, \D+ by (\S+) %", told)[1]
    assert float(plain) == pytest.approx(-100 * (saved + 0.09), abs=0.06)
    assert ("reaches 0" in told) == (abs(saved) <= 0.01)


@given(ENDS, st.floats(-1, 1), st.booleans())
def test_a_flash_model_is_deployed_only_where_it_surely_saves(
    ends: tuple[float, float], peak: float, no_more: bool
) -> None:
    found = gap(sum(ends) / 2, peak).model_copy(update={"mean_dt_saved_interval": ends, "no_more_writes": no_more})
    trace = flash_trace()
    trace = trace.model_copy(update={"deployed": trace.deployed.model_copy(update={"best": found})})
    category = Category("web", None, flash_metrics(ADMISSION, traces={"web_0": trace}), [model(ADMISSION)])
    answer = flash_answer(sources(category), category)
    assert (answer.verdict == Verdict.DEPLOY) == (ends[0] > 0 and peak >= 0 and no_more)


def test_a_cache_that_accepts_all_is_told_apart_with_what_it_writes() -> None:
    answer = ask_flash(model(ADMISSION))
    every = "AcceptAll with prefetch all_on_miss, which has no write budget, keeps 1.50 disks busy and writes 1.0 times"
    assert every in said(answer)


def test_an_admission_without_a_prefetch_model_is_judged_as_shipped() -> None:
    answer = ask_flash(model(ADMISSION), model(PREFETCH, promoted=False))
    assert answer.run == (ADMISSION,)
    assert f"by {MINUS}5.0 % against RejectX, the best policy without a model on validation" in said(answer)
    assert f"{PREFETCH} is not promoted: as judged." in said(answer)


def test_an_unpromoted_admission_gives_way_to_the_best_policy_without_a_model() -> None:
    answer = ask_flash(model(ADMISSION, promoted=False), model(PREFETCH))
    assert (answer.run, answer.models, answer.verdict) == (("rejectx",), (), Verdict.DONT)
    assert "Run RejectX with prefetch all_on_partial." in said(answer)
    assert "What the models with prefetch ml_range would have done:" in said(answer)


def test_the_choice_for_page_caches_is_the_bundle_that_most_categories_run() -> None:
    def category(name: str, run: str, *others: str) -> Category:
        rows = [row(one, "model", 0.36, 55.5, 1400.0, decision_us=230.0) for one in (run, *others)]
        return Category(name, page_metrics({"web_0": page_trace("test", *rows)}, "lru"), None, [])

    def choice(*categories: Category, lead: float = 0.0) -> str | None:
        own = model("caching.mail.lstm8", difference_low=lead)
        models = [replace(own, trained=own.trained.model_copy(update={"category": "mail"}))]
        models.append(replace(of_all, trained=of_all.trained.model_copy(update={"category": None})))
        return page_choice(
            Sources(
                models=models,
                categories=[*categories],
                traces=[facts("web_0", False)],
                capacity_fraction=0.1,
                digest="",
                seed=4,
            )
        )

    of_all = model(REUSE, difference_low=0.01)
    mail = category("mail", "caching.mail.lstm8", REUSE)
    assert choice(mail, category("web", REUSE), category("blob", REUSE), lead=0.02) == REUSE
    assert choice(mail, lead=0.02) == "caching.mail.lstm8" and choice(mail) == REUSE
    classic = Category("web", page_metrics({"web_0": page_trace("test")}, "lru"), None, [])
    assert choice(classic) is None
