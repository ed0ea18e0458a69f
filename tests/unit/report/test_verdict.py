import re
from typing import Any

import numpy as np
import pytest

from cachezoo.report.gather import Category, Model, Sources
from cachezoo.report.traces import TraceFacts
from cachezoo.report.verdict import Answer, InFlash, InPage, flash_answer, page_answer
from tests.metrics_data import BEST, flash_metrics, page_metrics, page_trace, row
from tests.report_data import ADMISSION, CACHING, trained

PREFETCH = "prefetch.web.lgbm"


def model(name: str, promoted: bool = True, card: str | None = "card", refused: str | None = None) -> Model:
    return Model(trained(name, promoted), [], card, refused, promoted and card is not None, "as judged")


def facts(key: str, unseen: bool) -> TraceFacts:
    return TraceFacts(key, "web", "test", unseen, (), {}, 1.0, np.zeros(1), np.zeros(1), (0.1,), {}, 1)


def test_the_flash_cache_gets_the_model_that_was_measured_whatever_is_promoted_beside_it() -> None:
    own, others = model(ADMISSION), [model(f"{ADMISSION}_small"), model(f"{ADMISSION}_block", promoted=False)]
    category = Category("web", None, flash_metrics(ADMISSION, prefetch=PREFETCH), [own, *others])
    answer = flash_answer(sources(category), category)
    assert answer.deploy == (ADMISSION,) and "_block" not in said(answer)


def ask_page(
    *hits: float, response: float = 1400.0, promoted: bool = True, choice: str | None = "lru", **more: Any
) -> Answer[InPage]:
    own = [row(CACHING, "model", hit, 55.5, response, decision_us=230.0, **more) for hit in hits]
    traces = {f"web_{k}": page_trace("test", one) for k, one in enumerate(own)}
    category = Category("web", page_metrics(traces, choice), None, [model(CACHING, promoted)])
    return page_answer(sources(category, unseen="web_1"), category)


def sources(category: Category, unseen: str = "") -> Sources:
    keys = ["web_0", "web_1", "web_test"]
    return Sources([category], {}, category.models, [facts(key, key == unseen) for key in keys], 0.1, "")


def said(answer: Answer[InPage] | Answer[InFlash]) -> str:
    return " ".join(" ".join(answer.texts).split())


def test_a_model_that_wins_in_hits_and_time_is_worth_it() -> None:
    answer = ask_page(0.36)
    assert (answer.deploy, answer.model, answer.tone, answer.worth) == ((CACHING,), True, "good", "yes")
    assert "With 230 µs for a decision a request takes 1,400 µs on average, 100 µs less than with lru." in said(answer)
    assert "It was not tried on a program that it was not trained on." in said(answer)


def test_more_hits_but_slower_is_told_with_the_cost_at_which_it_would_pay() -> None:
    answer = ask_page(0.36, response=1600.25)
    assert (answer.tone, answer.worth) == ("unsure", "for hits and SSD writes, not for response time")
    # 1600.25 - 230 without decisions, so lru's 1500.25 leave 130 µs for one
    assert "100 µs more than with lru: it pays in response time only where a decision takes less than 130 µs." in (
        said(answer)
    )


def test_slower_even_with_free_decisions() -> None:
    assert "even free decisions would not make it faster" in said(ask_page(0.36, response=1800.0))


def test_a_promoted_model_that_loses_on_test_is_told_as_losing() -> None:
    answer = ask_page(0.28)
    assert (answer.model, answer.tone, answer.worth) == (True, "bad", "no")
    assert "\N{MINUS SIGN}2.0 points against lru" in said(answer)


def test_a_loss_beyond_the_interval_is_no_chance() -> None:
    answer = ask_page(0.28, gap_closed_interval=(-0.2, -0.05))
    assert (answer.tone, answer.worth) == ("bad", "no") and "may be chance" not in said(answer)


def test_losing_on_the_unseen_program_alone() -> None:
    answer = ask_page(0.36, 0.29)
    assert (answer.tone, answer.worth) == ("bad", "not on web_1")
    assert "On web_1, recorded from a program that no train trace came from," in said(answer)
    assert "So it does not hold on a program it has not seen." in said(answer)
    assert "So it holds on a program it has not seen." in said(ask_page(0.36, 0.37))


def test_a_gain_within_the_uncertainty_is_no_yes() -> None:
    answer = ask_page(BEST + 0.005)
    assert (answer.tone, answer.worth) == ("unsure", "perhaps: hits are within the uncertainty")
    assert "the interval reaches 0, so this may be chance" in said(answer)


def test_without_a_gap_nothing_is_sure() -> None:
    answer = ask_page(0.36, gap_closed=None, gap_closed_interval=None)
    assert answer.tone == "unsure" and "hardly a gap between the best classic and the optimum" in said(answer)


def test_an_unpromoted_model_gives_way_to_validations_classic_though_it_wins_on_test() -> None:
    answer = ask_page(0.36, promoted=False, choice="fifo")
    assert (answer.deploy, answer.model, answer.tone) == (("fifo",), False, "bad")
    assert f"{CACHING} is not promoted: as judged." in said(answer)
    assert f"On web_0 {CACHING} would have hit 36.0 % of the pages, +6.0 points against lru" in said(answer)
    assert "fifo, validation's choice, hits 28.0 % of the pages, \N{MINUS SIGN}2.0 points against lru" in said(answer)


def test_a_refused_model_has_no_bundle() -> None:
    page = page_metrics({"web_test": page_trace("test")}, "lru")
    category = Category("web", page, None, [model(CACHING, True, None, "its golden rows differ")])
    answer = page_answer(sources(category), category)
    assert answer.deploy == ("lru",) and f"{CACHING} has no bundle: its golden rows differ." in said(answer)


def test_missing_parts() -> None:
    nothing = Category("web", None, None, [])
    for ask, cache in ((page_answer, "page cache"), (flash_answer, "flash cache")):
        answer = ask(sources(nothing), nothing)
        assert (answer.deploy, answer.worth) == ((), "not measured") and cache in said(answer)
    classics = Category("web", page_metrics({"web_test": page_trace("test")}, "lru"), None, [])
    assert "No caching model was trained" in said(page_answer(sources(classics), classics))
    unchosen = Category("web", page_metrics({"web_test": page_trace("test")}, None), None, [])
    assert page_answer(sources(unchosen), unchosen).worth == "cannot be told"


def ask_flash(*models: Model, saved: float = 0.05, peak: float = 0.02) -> Answer[InFlash]:
    category = Category("web", None, flash_metrics(ADMISSION, saved, peak), list(models))
    return flash_answer(sources(category), category)


@pytest.mark.parametrize(
    ("saved", "peak", "tone", "worth"),
    [
        (0.05, 0.02, "good", "yes"),
        (0.05, -0.02, "unsure", "for mean disk-head time, not its peak"),
        (0.005, 0.02, "unsure", "perhaps: the saving is within the uncertainty"),
        (-0.05, 0.02, "bad", "no"),
    ],
)
def test_flash_models_are_worth_what_they_save(saved: float, peak: float, tone: str, worth: str) -> None:
    answer = ask_flash(model(ADMISSION), model(PREFETCH), saved=saved, peak=peak)
    assert (answer.deploy, answer.tone, answer.worth) == ((ADMISSION, PREFETCH), tone, worth)
    assert "it with prefetch ml_range changes" in said(answer)
    told = said(answer).replace("\N{MINUS SIGN}", "-")
    changed = re.search(r"against RejectX, the best policy without a model on validation, by (\S+) %", told)[1]
    assert float(changed) == pytest.approx(-100 * saved, abs=0.06)
    plain = re.search(r"Against RejectX without prefetch, which is the paper's baseline, \D+ by (\S+) %", told)[1]
    assert float(plain) == pytest.approx(-100 * (saved + 0.09), abs=0.06)


def test_an_admission_without_a_prefetch_model_is_judged_as_shipped() -> None:
    answer = ask_flash(model(ADMISSION), model(PREFETCH, promoted=False))
    assert answer.deploy == (ADMISSION,)
    assert "against RejectX, the best policy without a model on validation, by \N{MINUS SIGN}5.0 %" in said(answer)
    assert f"{PREFETCH} is not promoted: as judged." in said(answer)


def test_an_unpromoted_admission_gives_way_to_the_best_policy_without_a_model() -> None:
    answer = ask_flash(model(ADMISSION, promoted=False), model(PREFETCH))
    assert (answer.deploy, answer.model, answer.tone) == (("rejectx",), False, "bad")
    assert "Deploy RejectX with prefetch all_on_partial." in said(answer)
    assert "What the models with prefetch ml_range would have done:" in said(answer)
