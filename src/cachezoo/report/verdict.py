"""The answer a reader comes for: which model to deploy for a workload, and is it worth it.

What to deploy is what validation says: a promoted bundle, or the classic that validation would have chosen. Whether it
is worth it is what the test traces say, which decide nothing.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from cachezoo.bundles.measured import FLASH_MODEL
from cachezoo.metrics.flash import TITLES, FlashMetrics, FlashRow, Gap
from cachezoo.metrics.page import PolicyRow
from cachezoo.report.gather import Category, Model, Sources
from cachezoo.view import number, percent, points, span, words

PAGE_KIND = "caching"
FLASH_KINDS = ("admission", "prefetch")
NO_MODEL = "no: a classic does"


@dataclass(frozen=True)
class Case:
    """What was deployed on a test trace.

    Attributes:
        trace: its key.
        unseen: of a program that no train trace of the category was recorded from.
    """

    trace: str
    unseen: bool


@dataclass(frozen=True)
class InPage(Case):
    """In the page cache.

    Attributes:
        own: figures of what is deployed.
        best: of the trace's best classic.
        choice: of the classic that validation would have chosen; None without validation.
    """

    own: PolicyRow
    best: PolicyRow
    choice: PolicyRow | None

    @property
    def rival(self) -> PolicyRow:
        """What one would deploy instead."""
        return self.choice or self.best


@dataclass(frozen=True)
class InFlash(Case):
    """In the flash cache.

    Attributes:
        own: figures of what is deployed.
        best: the models' comparison with the best policy without a model, at the same writes, and OPT.
        plain: the same with RejectX without prefetch.
        rival: that best policy, for people.
        mode: the prefetch mode of the models.
    """

    own: FlashRow
    best: Gap
    plain: Gap
    rival: str
    mode: str


C = TypeVar("C", bound=Case)


@dataclass(frozen=True)
class Answer(Generic[C]):
    """Of one category and one sort of cache.

    Attributes:
        cache: `page cache` or `flash cache`.
        deploy: bundle ids, or the id of a policy; empty where nothing was measured.
        model: whether `deploy` is of bundles.
        tone: `good`, `unsure` or `bad`.
        worth: in a few words.
        texts: sentences.
        cases: one a test trace.
    """

    cache: str
    deploy: tuple[str, ...]
    model: bool
    tone: str
    worth: str
    texts: tuple[str, ...]
    cases: tuple[C, ...]


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


def _unseen(sources: Sources, key: str) -> bool:
    facts = sources.trace(key)
    return facts is not None and facts.unseen


def _best_model(models: Sequence[Model], kind: str) -> Model | None:
    """The promoted model of a kind; of several the one with the best hit ratio on validation."""
    found = [model for model in models if model.trained.kind == kind and model.promoted]
    return max(found, key=lambda model: (model.trained.validation.get("hit_ratio") or 0.0, model.id), default=None)


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
    return Answer(cache, (), False, "unsure", "not measured", texts, ())


def page_answer(sources: Sources, category: Category) -> Answer[InPage]:
    """What to put into the category's page cache."""
    if category.page is None:
        return _unmeasured("page cache", _unpromoted(category.models, [PAGE_KIND]))
    model = _best_model(category.models, PAGE_KIND)
    choice = category.page.validation_choice
    deploy = model.id if model else choice
    cases = []
    for key, trace in category.page.tests().items():
        rows = {row.policy: row for row in trace.rows}
        if deploy in rows:
            chosen = rows.get(choice) if choice else None
            cases.append(InPage(key, _unseen(sources, key), rows[deploy], trace.best(), chosen))
    held_back = _unpromoted(category.models, [PAGE_KIND])
    if not any(m.trained.kind == PAGE_KIND for m in category.models):
        held_back.append("No caching model was trained for this workload.")
    if deploy is None:
        why_not = (*held_back, "Without a validation trace nothing can be chosen.")
        return Answer("page cache", (), False, "unsure", "cannot be told", why_not, ())
    if model is None:
        told = [_classic_text(case) for case in cases] + _beside(category, deploy)
        return Answer("page cache", (deploy,), False, "bad", NO_MODEL, (*held_back, *told), tuple(cases))
    told = [text for case in cases for text in _page_text(case)]
    tone, worth = _page_worth(cases)
    why = f"{model.id} on validation: {model.reason}."
    return Answer("page cache", (deploy,), True, tone, worth, (why, *told, *_tried(cases), *held_back), tuple(cases))


def surely_better(row: PolicyRow) -> bool:
    """More hits than the best classic, the interval of the gap closed above 0."""
    return row.gap_closed_interval is not None and row.gap_closed_interval[0] > 0


def slower_by(case: InPage) -> float:
    """µs of mean response time lost to the classic that one would deploy instead; negative where it is won."""
    return case.own.mean_response_us - case.rival.mean_response_us


def break_even_us(case: InPage) -> float:
    """What a decision may cost for the mean response time to equal that classic's."""
    return case.own.decision_us - slower_by(case)


def _page_worth(cases: Sequence[InPage]) -> tuple[str, str]:
    if not cases:
        return "unsure", "cannot be told: no test trace"
    if not all(case.own.gap_points > 0 for case in cases):
        lost = [case.trace for case in cases if case.own.gap_points <= 0]
        return "bad", "no" if len(lost) == len(cases) else f"not on {words(lost)}"
    sure = all(surely_better(case.own) for case in cases)
    fast = all(slower_by(case) <= 0 for case in cases)
    if fast:
        return ("good", "yes") if sure else ("unsure", "perhaps: hits are within the uncertainty")
    few = all(case.own.ssd_writes_per_100_io < case.rival.ssd_writes_per_100_io for case in cases)
    gains = "hits and SSD writes" if few else "hits"
    return "unsure", f"for {gains}, not for response time" if sure else f"perhaps for {gains}, not for response time"


def _on(case: Case) -> str:
    return f"On {case.trace}" + (", recorded from a program that no train trace came from," if case.unseen else "")


def _page_text(case: InPage) -> list[str]:
    own, best = case.own, case.best
    if own.gap_closed is None:
        room = "there is hardly a gap between the best classic and the optimum there"
    else:
        low, high = own.gap_closed_interval or (0.0, 0.0)
        sure = "; the interval reaches 0, so this may be chance" if low <= 0 <= high else ""
        room = f"{percent(own.gap_closed, 0)} {span(own.gap_closed_interval)} of the gap to the optimum is closed{sure}"
    texts = [
        f"{_on(case)} {percent(own.hit_ratio)} of the page accesses hit, {points(own.gap_points)} against "
        f"{best.policy}, the best classic there{_against_choice(case)}: {room}. It writes "
        f"{number(own.ssd_writes_per_100_io, 1)} pages to the SSD for 100 requests ({best.policy}: "
        f"{number(best.ssd_writes_per_100_io, 1)}).{_holds(case, surely_better(own), own.gap_points > 0)}"
    ]
    return [*texts, _response_text(case)]


def _holds(case: Case, sure: bool, likely: bool) -> str:
    """Whether a gain is there on a program that the model was not trained on."""
    if not case.unseen:
        return ""
    if sure:
        return " So it holds on a program it has not seen."
    if likely:
        return " Whether it holds on unseen programs stays open."
    return " So it does not hold on a program it has not seen."


def _tried(cases: Sequence[Case]) -> list[str]:
    return [] if any(case.unseen for case in cases) else ["It was not tried on a program that it was not trained on."]


def _against_choice(case: InPage) -> str:
    if case.choice is None:
        return ""
    if case.choice.policy == case.best.policy:
        return " and validation's choice"
    gain = 100 * (case.own.hit_ratio - case.choice.hit_ratio)
    return f", and {points(gain)} against {case.choice.policy}, which validation would have chosen"


def _response_text(case: InPage) -> str:
    rival, lost = case.rival, slower_by(case)
    said = (
        f"With {number(case.own.decision_us)} µs for a decision a request takes {number(case.own.mean_response_us)} µs "
        "on average"
    )
    if lost <= 0:
        return f"{said}, {number(-lost)} µs less than with {rival.policy}."
    said += f", {number(lost)} µs more than with {rival.policy}"
    even = break_even_us(case)
    if even <= 0:
        return f"{said}; even free decisions would not make it faster."
    return f"{said}: it pays in response time only where a decision takes less than {number(even)} µs."


def _classic_text(case: InPage) -> str:
    own, best = case.own, case.best
    if own.policy == best.policy:
        place = "the best classic there"
    else:
        place = f"{points(own.gap_points)} against {best.policy}, the best classic there"
    return f"{_on(case)} {own.policy}, validation's choice, hits {percent(own.hit_ratio)} of the pages, {place}."


def _beside(category: Category, deployed: str) -> list[str]:
    """What the caching models that are not deployed do on the test traces."""
    texts = []
    for model in category.models:
        for key, trace in (category.page.tests() if category.page else {}).items():
            row = trace.row(model.id)
            if model.trained.kind == PAGE_KIND and model.id != deployed and row is not None:
                gained = f"{points(row.gap_points)} against {trace.best_classic}"
                texts.append(
                    f"On {key} {model.id} would have hit {percent(row.hit_ratio)} of the pages, {gained}, at "
                    f"{number(row.mean_response_us)} µs a request on average."
                )
    return texts


def flash_answer(sources: Sources, category: Category) -> Answer[InFlash]:
    """What to put before the category's flash cache: an admission, and a prefetch model promoted besides."""
    if category.flash is None:
        return _unmeasured("flash cache", _unpromoted(category.models, FLASH_KINDS))
    measured = [one for one in category.models if one.id in (category.flash.model_id, category.flash.prefetch.model_id)]
    model = _best_model(measured, FLASH_KINDS[0])
    prefetch = _best_model(measured, FLASH_KINDS[1]) if model else None
    cases = _flash_cases(sources, category.flash, model)
    told = [_flash_text(case) for case in cases]
    held_back = _unpromoted(measured, FLASH_KINDS)
    if model is None:
        if told:
            told.insert(0, f"What {_with_mode('the models', category.flash, FLASH_MODEL)} would have done:")
        baseline = category.flash.best_without_model
        held_back.append(f"Deploy {_with_mode(_title(baseline), category.flash, baseline)}.")
        return Answer("flash cache", (baseline,), False, "bad", NO_MODEL, (*held_back, *told), tuple(cases))
    deployed = [m for m in (model, prefetch) if m is not None]
    why = [f"{m.id} on validation: {m.reason}." for m in deployed]
    tone, worth = _flash_worth(cases)
    told += _tried(cases)
    ids = tuple(m.id for m in deployed)
    return Answer("flash cache", ids, True, tone, worth, (*why, *told, *held_back), tuple(cases))


def _flash_cases(sources: Sources, flash: FlashMetrics, model: Model | None) -> list[InFlash]:
    """Everything as shipped: with the prefetch model, or with the plain mode that goes with the admission."""
    cases = []
    for key, trace in flash.traces.items():
        found = trace.deployed
        ours, rival = found.rows[FLASH_MODEL], found.rows[found.best_policy]
        name = _title(found.best_policy) + _prefetching(rival.prefetch)
        own = ours if model else rival
        cases.append(InFlash(key, _unseen(sources, key), own, found.best, found.plain, name, ours.prefetch))
    return cases


def _title(policy: str) -> str:
    return TITLES.get(policy, policy)


def _with_mode(name: str, flash: FlashMetrics, policy: str) -> str:
    """A policy with the prefetch mode that validation chose for it."""
    return name + _prefetching(flash.modes[policy].mode)


def _flash_worth(cases: Sequence[InFlash]) -> tuple[str, str]:
    if not cases:
        return "unsure", "cannot be told: no test trace"
    if not all(case.best.mean_dt_saved > 0 for case in cases):
        lost = [case.trace for case in cases if case.best.mean_dt_saved <= 0]
        return "bad", "no" if len(lost) == len(cases) else f"not on {words(lost)}"
    if not all(case.best.mean_dt_saved_interval[0] > 0 for case in cases):
        return "unsure", "perhaps: the saving is within the uncertainty"
    if all(case.best.peak_dt_saved >= 0 for case in cases):
        return "good", "yes"
    return "unsure", "for mean disk-head time, not its peak"


def _prefetching(mode: str) -> str:
    return "" if mode == "none" else f" with prefetch {mode}"


def _flash_text(case: InFlash) -> str:
    best = case.best
    closed = (
        ("mean", best.mean_gap_closed, f" {span(best.mean_gap_closed_interval)}".rstrip()),
        ("peak", best.peak_gap_closed, ""),
    )
    shares = [
        f"{percent(share, 0)}{ends} of the {name} gap from it to OPT"
        for name, share, ends in closed
        if share is not None
    ]
    beside = f" ({words(shares)})" if shares else ""
    more = "" if best.no_more_writes else ", with more writes than that can make"
    return (
        f"{_on(case)} it{_prefetching(case.mode)} changes the mean read disk-head time against {case.rival}, the best "
        f"policy without a model on validation, by {percent(-best.mean_dt_saved, 1, signed=True)} (90 % interval of "
        f"the saving {span(best.mean_dt_saved_interval, 1)} %) and the peak by "
        f"{percent(-best.peak_dt_saved, 1, signed=True)}{beside}{more}. Against RejectX without prefetch, which is the "
        f"paper's baseline, it changes the mean by {percent(-case.plain.mean_dt_saved, 1, signed=True)}."
        f"{_holds(case, best.mean_dt_saved_interval[0] > 0, best.mean_dt_saved > 0)}"
    )
