"""The answer a reader comes for: what to run for a workload, and whether its model is worth it.

What to run is what validation says: a promoted bundle, or the classic that validation would have chosen. Whether it is
worth it is what the test traces say, which choose nothing: the verdict of a workload is the worst of its home tests,
those of programs that train traces came from. Programs that no train trace came from have verdicts of their own.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

from cachezoo.bundles.measured import FLASH_MODEL
from cachezoo.contest.verdict import LEAST_SAVING
from cachezoo.metrics.flash import FlashMetrics, title
from cachezoo.models.measured import Model
from cachezoo.report.cases import (
    Case,
    InFlash,
    InPage,
    accepting_all,
    classic_text,
    fewer_writes,
    flash_text,
    other_models,
    page_text,
    prefetching,
    slower_by,
    surely_fewer_hits,
    surely_more_hits,
    tried,
    with_mode,
)
from cachezoo.report.gather import Category, Sources

PAGE_KINDS = ("caching", "reuse")
FLASH_KINDS = ("admission", "prefetch")
NO_MODEL = "no model is promoted on validation"


class Verdict(StrEnum):
    """Whether to run a model; in order, from best to worst."""

    DEPLOY = "Deploy"
    WRITES = "Only if SSD writes matter"
    DONT = "Don't"
    UNKNOWN = "Not measured"


TONES = {Verdict.DEPLOY: "good", Verdict.WRITES: "unsure", Verdict.DONT: "bad", Verdict.UNKNOWN: "unsure"}
Judged = tuple[Verdict, str]  # with the reason, in a few words
C = TypeVar("C", bound=Case)


@dataclass(frozen=True)
class Answer(Generic[C]):
    """Of one category and one sort of cache."""

    cache: str  # `page cache` or `flash cache`
    run: tuple[str, ...]  # what to run: bundle ids, or the id of a policy; empty where nothing can be said
    models: tuple[str, ...]  # promoted bundles that the verdict is of; empty where there is none
    verdict: Verdict
    why: str  # of the verdict, in a few words
    instead: str | None  # the policy without a model that one would run otherwise, or None
    texts: tuple[str, ...]
    cases: tuple[C, ...]  # one a test trace, each of the models, or where there is none of the policy

    @property
    def tone(self) -> str:
        """Of the verdict."""
        return TONES[self.verdict]

    @property
    def home(self) -> tuple[C, ...]:
        """Test traces of programs that train traces came from."""
        return tuple(case for case in self.cases if not case.unseen)

    @property
    def away(self) -> tuple[C, ...]:
        """Test traces of programs that no train trace came from."""
        return tuple(case for case in self.cases if case.unseen)

    @property
    def runs_model(self) -> bool:
        """Whether what to run is the models."""
        return bool(self.models) and self.run == self.models


@dataclass(frozen=True)
class Answers:
    """Of one category."""

    page: Answer[InPage]
    flash: Answer[InFlash]

    def __iter__(self) -> Iterator[Answer[InPage] | Answer[InFlash]]:
        """One after the other."""
        return iter((self.page, self.flash))


def answers(sources: Sources, category: Category) -> Answers:
    """For the page cache and for the flash cache."""
    return Answers(page_answer(sources, category), flash_answer(sources, category))


def page_verdict(case: InPage) -> Judged:
    """Of a model on a test trace: hits against the best classic, time and writes against validation's."""
    sure, slower = surely_more_hits(case.own), slower_by(case) > 0
    if sure and not slower:
        return Verdict.DEPLOY, "more hits than the best classic, and requests no slower"
    what = "requests are slower" if sure else "its hits are within the uncertainty"
    if surely_fewer_hits(case.own):
        return Verdict.DONT, "fewer hits than the best classic"
    return (Verdict.WRITES if fewer_writes(case) else Verdict.DONT), what


def flash_verdict(case: InFlash) -> Judged:
    """Of the models on a test trace: disks kept busy against the best policy without a model, at one write rate."""
    low, high = case.best.mean_dt_saved_interval
    if not case.best.no_more_writes:
        return Verdict.DONT, "it writes more than the best policy without a model"
    if low > 0 and case.best.mean_dt_saved < LEAST_SAVING:
        return Verdict.DONT, "the saving is too small to matter"
    if low > 0:
        if case.best.peak_dt_saved >= 0:
            return Verdict.DEPLOY, "fewer disks kept busy at the same write rate, in the busiest window too"
        return (
            Verdict.DONT,
            "fewer disks kept busy on the mean, but more in the busiest window",
        )
    return Verdict.DONT, "more disks kept busy" if high < 0 else "the saving is within the uncertainty"


def worst(verdicts: Sequence[Judged]) -> Judged:
    """The verdict of several test traces at home."""
    order = list(Verdict)
    return max(verdicts, key=lambda found: order.index(found[0]), default=(Verdict.UNKNOWN, "there is no test trace"))


def _unseen(sources: Sources, key: str) -> bool:
    facts = sources.trace(key)
    return facts is not None and facts.unseen


def sure_lead(model: Model) -> float:
    """Lower end of the 90 % interval of a model's lead on validation; without one it leads for nothing."""
    low = model.trained.validation.get("difference_low")
    return float("-inf") if low is None else low


def _best_model(models: Sequence[Model], kinds: Sequence[str]) -> Model | None:
    """The promoted model of these kinds; of several the one with the surest lead on validation, then the most hits."""
    found = [model for model in models if model.trained.kind in kinds and model.promoted]
    hits = "hit_ratio"
    return max(
        found, key=lambda model: (sure_lead(model), model.trained.validation.get(hits) or 0.0, model.id), default=None
    )


def _unpromoted(models: Sequence[Model], kinds: Sequence[str]) -> list[str]:
    """Why models of these kinds are not to be deployed."""
    texts = []
    for model in models:
        if model.trained.kind in kinds and not model.promoted:
            state = "has no bundle" if model.card is None else "is not promoted"
            texts.append(f"{model.id} {state}: {model.refused or model.reason}.")
    return texts


def _unmeasured(cache: str, held_back: Sequence[str]) -> Answer[C]:
    texts = (f"Nothing was measured in a {cache} for this workload.", *held_back)
    return Answer(cache, (), (), Verdict.UNKNOWN, f"nothing was measured in a {cache}", None, texts, ())


def page_models(sources: Sources, category: Category) -> list[Model]:
    """Models that may run the category's page cache: its own, and those of all categories."""
    return [
        one
        for one in sources.models
        if one.trained.kind in PAGE_KINDS and one.trained.category in (None, category.name)
    ]


def page_choice(sources: Sources) -> str | None:
    """The bundle that is to run in the page caches of most categories; None where a classic runs in all of them."""
    found = [page_answer(sources, category) for category in sources.categories]
    runs = [answer.run[0] for answer in found if answer.runs_model]
    return max(runs, key=runs.count, default=None)


def page_answer(sources: Sources, category: Category) -> Answer[InPage]:
    """What to run in the category's page cache."""
    models = page_models(sources, category)
    held_back = _unpromoted(models, PAGE_KINDS)
    if category.page is None:
        return _unmeasured("page cache", _unpromoted(category.models, PAGE_KINDS))
    if not any(one.trained.category for one in models):
        held_back.append("No model was trained for this workload's page cache alone.")
    tests, choice = category.page.tests(), category.page.validation_choice
    measured = {row.policy for trace in tests.values() for row in trace.rows} if tests else {one.id for one in models}
    model = _best_model([one for one in models if one.id in measured], PAGE_KINDS)
    shown = model.id if model else choice
    cases = []
    for key, trace in tests.items():
        rows = {row.policy: row for row in trace.rows}
        if shown in rows:
            cases.append(InPage(key, _unseen(sources, key), rows[shown], trace.best(), rows.get(choice or "")))
    if model is None:
        if choice is None:
            texts = (*held_back, "Without a validation trace nothing can be chosen.")
            return Answer("page cache", (), (), Verdict.UNKNOWN, "nothing was chosen", None, texts, ())
        lines = [classic_text(case) for case in cases] + other_models(category, choice, PAGE_KINDS)
        return Answer("page cache", (choice,), (), Verdict.DONT, NO_MODEL, choice, (*held_back, *lines), tuple(cases))
    verdict, why = worst([page_verdict(case) for case in cases if not case.unseen])
    run = choice if verdict not in (Verdict.DEPLOY, Verdict.WRITES) and choice is not None else model.id
    lines = [f"{model.id} on validation: {model.reason}."]
    lines += [text for case in cases for text in page_text(case)]
    lines += [*tried(cases), *other_models(category, model.id, PAGE_KINDS), *held_back]
    return Answer("page cache", (run,), (model.id,), verdict, why, choice, tuple(lines), tuple(cases))


def flash_answer(sources: Sources, category: Category) -> Answer[InFlash]:
    """What to put before the category's flash cache: an admission, and a prefetch model promoted besides."""
    flash = category.flash
    if flash is None:
        return _unmeasured("flash cache", _unpromoted(category.models, FLASH_KINDS))
    measured = [one for one in category.models if one.id in (flash.model_id, flash.prefetch.model_id)]
    model = _best_model(measured, FLASH_KINDS[:1])
    prefetch = _best_model(measured, FLASH_KINDS[1:]) if model else None
    cases = _flash_cases(sources, flash)
    lines = [flash_text(case) for case in cases] + [accepting_all(case) for case in cases]
    held_back, instead = _unpromoted(measured, FLASH_KINDS), flash.best_without_model
    if model is None:
        if lines:
            lines.insert(0, f"What {with_mode('the models', flash, FLASH_MODEL)} would have done:")
        held_back.append(f"Run {with_mode(title(instead), flash, instead)}.")
        texts = (*held_back, *lines)
        return Answer("flash cache", (instead,), (), Verdict.DONT, NO_MODEL, instead, texts, tuple(cases))
    deployed = [one for one in (model, prefetch) if one is not None]
    ids = tuple(one.id for one in deployed)
    verdict, why = worst([flash_verdict(case) for case in cases if not case.unseen])
    run = ids if verdict == Verdict.DEPLOY else (instead,)
    texts = (*(f"{one.id} on validation: {one.reason}." for one in deployed), *lines, *tried(cases), *held_back)
    return Answer("flash cache", run, ids, verdict, why, instead, texts, tuple(cases))


def _flash_cases(sources: Sources, flash: FlashMetrics) -> list[InFlash]:
    """Everything as shipped: with the prefetch model, or with the plain mode that goes with the admission."""
    cases = []
    for key, trace in flash.traces.items():
        found = trace.deployed
        ours, rival = found.rows[FLASH_MODEL], found.rows[found.best_policy]
        name, unseen = title(found.best_policy) + prefetching(rival.prefetch), _unseen(sources, key)
        cases.append(InFlash(key, unseen, ours, rival, found.best, found.plain, name, ours.prefetch, trace.accept_all))
    return cases
