"""What a cache does on a test trace and what one would run instead, as figures and in sentences."""

from collections.abc import Sequence
from dataclasses import dataclass

from cachezoo.contest.verdict import LEAST_HITS
from cachezoo.metrics.flash import FlashMetrics, FlashRow, Gap
from cachezoo.metrics.page import PolicyRow
from cachezoo.report.gather import Category
from cachezoo.show.formats import latency, number, percent, points, span, words


@dataclass(frozen=True)
class Case:
    """What is run on a test trace."""

    trace: str  # its key
    unseen: bool  # of a program that no train trace of the category was recorded from


@dataclass(frozen=True)
class InPage(Case):
    """In the page cache."""

    own: PolicyRow  # figures of what is run
    best: PolicyRow  # of the trace's best classic, in hindsight
    choice: PolicyRow | None  # of the classic that validation would have chosen; None without validation

    @property
    def rival(self) -> PolicyRow:
        """What one would run instead."""
        return self.choice or self.best


@dataclass(frozen=True)
class InFlash(Case):
    """In the flash cache."""

    own: FlashRow  # figures of what is run
    beside: FlashRow  # of the best policy without a model
    best: Gap  # the models' comparison with it, both kept to one write rate, and OPT
    plain: Gap  # the same with RejectX without prefetch
    rival: str  # that best policy, for people
    mode: str  # the prefetch mode of the models
    accept_all: FlashRow  # figures of the cache that lets everything in


def surely_more_hits(row: PolicyRow) -> bool:
    """More hits than the best classic: the interval of the gap closed above 0, and a lead that is worth having."""
    sure = row.gap_closed_interval is not None and row.gap_closed_interval[0] > 0
    return sure and row.gap_points >= 100 * LEAST_HITS


def surely_fewer_hits(row: PolicyRow) -> bool:
    """Fewer hits than the best classic, beyond what chance explains; without an interval, fewer at all."""
    return row.gap_points < 0 if row.gap_closed_interval is None else row.gap_closed_interval[1] < 0


def slower_by(case: InPage) -> float:
    """µs of mean response time lost to the classic that one would run instead; negative where it is won."""
    return case.own.mean_response_us - case.rival.mean_response_us


def fewer_writes(case: InPage) -> bool:
    """Whether less is written to the SSD than with that classic."""
    return case.own.ssd_writes_per_100_io < case.rival.ssd_writes_per_100_io


def _on(case: Case) -> str:
    return f"On {case.trace}" + (", recorded from a program that no train trace came from," if case.unseen else "")


def page_text(case: InPage) -> list[str]:
    """Hits, writes and response times of what is run in the page cache of a test trace."""
    own, best = case.own, case.best
    if own.gap_closed is None:
        room = "there is hardly a gap between the best classic and the optimum there"
    else:
        low, high = own.gap_closed_interval or (1.0, 1.0)
        sure = "; the interval reaches 0, so this may be chance" if low <= 0 <= high else ""
        room = f"{percent(own.gap_closed, 0)} {span(own.gap_closed_interval)} of the gap to the optimum is closed{sure}"
    texts = [
        f"{_on(case)} {percent(own.hit_ratio)} of the page accesses hit, {points(own.gap_points)} against "
        f"{best.policy}, the best classic there{_against_choice(case)}: {room}. It writes "
        f"{number(own.ssd_writes_per_100_io, 1)} pages to the SSD for 100 requests ({best.policy}: "
        f"{number(best.ssd_writes_per_100_io, 1)}).{_holds(case, surely_more_hits(own), own.gap_points > 0)}"
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


def tried(cases: Sequence[Case]) -> list[str]:
    """That nothing is known of unseen programs, where none was tried."""
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
        f"With {latency(case.own.decision_us)} for a decision a request takes {latency(case.own.mean_response_us)} on "
        "average"
    )
    if lost <= 0:
        return f"{said}, {latency(-lost)} less than with {rival.policy}."
    said += f", {latency(lost)} more than with {rival.policy}"
    even = case.own.decision_us - lost  # what a decision may cost for the mean to equal that classic's
    if even <= 0:
        return f"{said}; even free decisions would not make it faster."
    return f"{said}: it pays in response time only where a decision takes less than {latency(even)}."


def classic_text(case: InPage) -> str:
    """What the classic that is run does on a test trace."""
    own, best = case.own, case.best
    if own.policy == best.policy:
        place = "the best classic there"
    else:
        place = f"{points(own.gap_points)} against {best.policy}, the best classic there"
    return f"{_on(case)} {own.policy}, validation's choice, hits {percent(own.hit_ratio)} of the pages, {place}."


def other_models(category: Category, run: str, kinds: Sequence[str]) -> list[str]:
    """What the category's other models do on the test traces."""
    texts = []
    for model in category.models:
        for key, trace in (category.page.tests() if category.page else {}).items():
            row = trace.row(model.id)
            if model.trained.kind in kinds and model.id != run and row is not None:
                gained = f"{points(row.gap_points)} against {trace.best_classic}"
                texts.append(
                    f"On {key} {model.id} would have hit {percent(row.hit_ratio)} of the pages, {gained}, at "
                    f"{latency(row.mean_response_us)} a request on average."
                )
    return texts


def with_mode(name: str, flash: FlashMetrics, policy: str) -> str:
    """A policy with the prefetch mode that validation chose for it."""
    return name + prefetching(flash.modes[policy].mode)


def prefetching(mode: str) -> str:
    """A prefetch mode behind a policy's name."""
    return "" if mode == "none" else f" with prefetch {mode}"


def flash_text(case: InFlash) -> str:
    """What the models do to the load of the disk behind the flash cache of a test trace."""
    best, low, high = case.best, *case.best.mean_dt_saved_interval
    more = "" if best.no_more_writes else ", with more writes than that can make"
    ours, theirs = case.own.read_dt, case.beside.read_dt
    sure = "; the interval reaches 0, so this may be chance" if low <= 0 <= high else ""
    return (
        f"{_on(case)} the models{prefetching(case.mode)} change the disks kept busy with reads by "
        f"{percent(-best.mean_dt_saved, 1, signed=True)} against {case.rival}, the best policy without a model on "
        f"validation (90 % interval of the saving {span((low, high), 1)} %{sure}), from {number(theirs.mean, 2)} to "
        f"{number(ours.mean, 2)}, and in the busiest window by {percent(-best.peak_dt_saved, 1, signed=True)}"
        f"{_of_the_gap(case)}{more}. Against RejectX without prefetch, which is the paper's baseline, they change the "
        f"mean by {percent(-case.plain.mean_dt_saved, 1, signed=True)}.{_holds(case, low > 0, best.mean_dt_saved > 0)}"
    )


def _of_the_gap(case: InFlash) -> str:
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
    return f" ({words(shares)})" if shares else ""


def accepting_all(case: InFlash) -> str:
    """What a cache without a write budget would do, and what that costs the SSD."""
    every, own = case.accept_all, case.own
    more = every.segment_writes / own.segment_writes if own.segment_writes else None
    times = "more" if more is None else f"{number(more, 1 if more < 10 else 0)} times as much"
    wear = f", {number(every.dwpd, 0)} drive writes a day" if every.dwpd is not None else ""
    return (
        f"On {case.trace} AcceptAll{prefetching(every.prefetch)}, which has no write budget, keeps "
        f"{number(every.read_dt.mean, 2)} disks busy and writes {times} to the SSD{wear}."
    )
