"""The whole recommendation, measured once: its sizes, how far it can be trusted, and what the zoo has to say."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from cachezoo.console import Advance
from cachezoo.contest.choice import Goal
from cachezoo.contest.sampled import Estimated
from cachezoo.contest.verdict import LEAST_HITS, Verdict, Worth
from cachezoo.devices.built_in import BUILT_IN, DEFAULT, DEFAULT_ENDURANCE_TB
from cachezoo.devices.profile import load_models
from cachezoo.errors import ConfigError
from cachezoo.flash_cache.load import DAY_S
from cachezoo.kernels.outcome import HIT
from cachezoo.policies.registry import OPTIMUM, policy
from cachezoo.questions.page.bench import Run
from cachezoo.questions.page.buy import Buy, buy
from cachezoo.questions.page.candidates import CANDIDATES, SIMPLEST, UNBOUNDED, Halves, Ranking, name_of, rank
from cachezoo.questions.page.learned import Learned, measure
from cachezoo.questions.page.likeness import Likeness, likeness, page_caches
from cachezoo.questions.page.reads import ReadCache, Reads
from cachezoo.questions.page.sizes import SHORT_LIFE_YEARS, Picked, Row, Rows, ladder, pick
from cachezoo.settings.device import AnalyticDevice
from cachezoo.show.formats import duration, number, points, share, span
from cachezoo.sizes import Size
from cachezoo.traces.sampling import SampledTrace
from cachezoo.traces.table import Trace

RUNS = len(CANDIDATES) + 1
Level = Literal["high", "medium", "low"]
FEW_ACCESSES = 20_000
FEW_RETURNS = 1_000
SURE = 0.03
"""Half the interval of the hit ratio up to which confidence may be high."""
STILL_NEW = 0.02
"""Share of first accesses up to which all pages of the trace are taken for all that there are."""
STEADY_LOSS = 0.01
"""Hit ratio by which the best policy of the first half may fall behind on the second."""


def models_of(given: str | None) -> AnalyticDevice:
    """The disk and the SSD that response times are modelled on.

    Args:
        given: as `cachezoo.devices.profile.load_models` takes it; None for the one built in.

    Raises:
        ConfigError: no such profile, or one without models.
    """
    return BUILT_IN if given is None else load_models(given)


@dataclass(frozen=True)
class Options:
    """What a recommendation is to reach, and what it assumes.

    Raises:
        ConfigError: several aims, or one that cannot be.
    """

    budget: Size | None = None  # the most cache that may be bought; None for any
    hit: float | None = None  # the hit ratio to reach, above 0 and at most 1
    ms: float | None = None  # the mean response time to reach
    device: str | None = None  # the profile's name, as given; None for the one built in
    endurance_tb: float = DEFAULT_ENDURANCE_TB  # terabytes that may be written to the SSD
    ask_models: bool = True  # whether the zoo's models may be asked; without bundles they are not
    piped: bool = False  # the trace came by a pipe, so commands to run next need it saved first
    reading: str = ""  # options that commands need to read the trace, as typed; empty where its content says all
    sample: str = "auto"  # how much of it is read, as typed

    def __post_init__(self) -> None:
        given = {"--size": self.budget, "--target-hit": self.hit, "--target-ms": self.ms}
        named = [name for name, value in given.items() if value is not None]
        if len(named) > 1:
            raise ConfigError(f"{' and '.join(named)}: give one aim; the table shows what each size brings of all")
        if self.hit is not None and not 0 < self.hit <= 1:
            raise ConfigError(f"--target-hit {self.hit:g}: give a hit ratio above 0 and at most 1, such as 0.8 or 80%")
        if self.ms is not None and not 0 < self.ms < float("inf"):
            raise ConfigError(f"--target-ms {self.ms:g}: give milliseconds above 0, such as 2")
        if not 0 < self.endurance_tb < float("inf"):
            raise ConfigError(f"endurance {self.endurance_tb:g}: give terabytes written above 0, such as 600TBW")


@dataclass(frozen=True)
class Confidence:
    """How sure a recommendation is."""

    level: Level
    reasons: tuple[str, ...]  # why it is not higher, sentences without a full stop; empty where it is high
    times_best: int  # time blocks in which no candidate had more hits than the recommended policy; of `blocks`
    blocks: int  # time blocks of the second half


def _doubts(bench: Halves, row: Row, ranking: Ranking, place: int | None, useful: bool) -> list[tuple[Level, str]]:
    doubts = list[tuple[Level, str]]()
    if bench.short:
        days = bench.span_days
        what = "how long the trace lasted is unknown" if days is None else f"only {duration(DAY_S * days)} are counted"
        doubts.append(("medium", f"{what}: other hours may differ"))
    if not bench.blocks:
        few = f"the trace has {bench.accesses:,} page accesses, too few for time blocks"
        return [("low", few), *doubts]
    if bench.counted < FEW_ACCESSES:
        doubts.insert(0, ("low", f"only {bench.counted:,} page accesses are counted"))
    if not useful:
        return doubts
    returns = round((1 - bench.first_share) * bench.counted)
    if returns < FEW_RETURNS:
        doubts.append(("low", f"only {returns:,} of the accesses that are counted are of pages seen before"))
    seen = int(bench.pages.page_ids[: bench.half].max(initial=-1)) + 1
    if seen < bench.own(row.capacity) and row.capacity < bench.n_pages:
        doubts.append(("medium", "a cache of this size is not yet full when counting begins"))
    if row.capacity >= bench.n_pages and bench.first_share > STILL_NEW:
        new = f"{share(bench.first_share)} of the accesses that are counted are of new pages"
        doubts.append(("medium", f"{new}, so a longer trace would touch more than this holds"))
    if row.ran.policy == row.chosen != SIMPLEST and row.verdict == Verdict.EVEN:
        lead, name = row.lead, name_of(row.chosen)
        figures = f"{points(100 * lead.value)}, 90 % interval {span(lead.interval, 1)}"
        doubts.append(("medium", f"the lead of {name} over LRU is not sure ({figures}): LRU may do as well"))
    if place is not None:
        loss = float(ranking.second[:, place].max() - ranking.second[ranking.policies.index(row.ran.policy), place])
        if loss > STEADY_LOSS:
            best = ranking.policies[int(ranking.second[:, place].argmax())]
            more, late = f"{number(100 * loss, 1)} points more", "on the second half"
            text = f"{name_of(best)} would have hit {more} {late}, but the first half chooses the policy"
            if best == row.chosen:  # compared on a sample of the pages, it was further ahead than on more of them
                text = f"on a sample of the pages {name_of(best)} hit {more} {late}, but not on more of them"
            doubts.append(("medium", text))
    interval = row.ran.interval
    if interval is not None and (half := (interval[1] - interval[0]) / 2) > SURE:
        doubts.append(("medium", f"the hit ratio changes over time: ± {number(100 * half)} points on average"))
    return doubts


def confidence(bench: Halves, row: Row, ranking: Ranking, useful: bool = True) -> Confidence:
    """What speaks against a recommendation.

    Args:
        bench: the trace.
        row: what is recommended.
        ranking: all candidates.
        useful: a cache is recommended; few returns to pages speak for it that none is.
    """
    place = ranking.capacities.index(row.capacity) if row.capacity in ranking.capacities else None
    doubts = _doubts(bench, row, ranking, place, useful)
    levels = {level for level, _ in doubts}
    level: Level = "low" if "low" in levels else "medium" if levels else "high"
    best = ranking.times_best(row.ran.policy, place) if place is not None else 0
    doubts.sort(key=lambda doubt: doubt[0] != level)  # what makes it as low as it is comes first
    return Confidence(level, tuple(reason for _, reason in doubts), best, bench.blocks if place is not None else 0)


@dataclass(frozen=True)
class Recommendation:
    """What was found out, and what is recommended."""

    name: str
    options: Options
    bench: Halves
    ranking: Ranking  # the candidates at every size
    picked: Picked  # the sizes, and the recommended one
    confidence: Confidence
    admitted: Row | None  # the recommended size with few SSD writes, where the SSD would not last; else None
    best: Estimated  # hit ratio of the cache that knows the future at the recommended size
    unbounded: Run | None  # LFU with the counts of all pages, where it is ahead by what matters; in simulation only
    reads: ReadCache | None  # a read cache before the disk of the size; None where no page is read, or no cache helps
    all_read: bool  # the trace has no writes, so that a read cache is the same as one that writes back
    learned: Learned | None  # the learned cache at the size; None where there is none, or where nothing is evicted
    zoo: tuple[Path, ...]  # bundles of learned caches
    bought: Buy | None  # None where no cache helps
    likeness: Likeness | None  # what the workload classifier says; None where it was not asked

    @property
    def row(self) -> Row:
        """What is recommended."""
        return self.picked.row

    @property
    def whole(self) -> bool:
        """Whether the recommended size holds all pages, so that nothing is evicted."""
        return self.row.capacity >= self.bench.n_pages

    @property
    def taken(self) -> Learned | None:
        """The learned cache where it is what is to be run, in place of the recommended policy."""
        own = self.learned
        return own if own is not None and own.worth == Worth.YES else None

    @property
    def advised(self) -> Run | None:
        """The whole trace's run of what is to be run; None where that is a learned cache that ran on a sample."""
        own = self.taken
        if own is None:
            return self.row.ran
        return own.ran if own.rate == 1 else None

    @property
    def error_90(self) -> float | None:
        """Half the widest 90 % interval of the hit ratios at the size that are estimates; None where none is one."""
        reads = None if self.reads is None else self.reads.error_90
        own = (self.row.ran.error_90, self.row.lru_error, self.best.error_90, reads)
        return max((error for error in own if error is not None), default=None)

    @property
    def knee(self) -> Row | None:
        """At the curve's knee; None where it has none below all pages, or no cache helps."""
        return None if self.picked.knee is None else self.picked.rows[self.picked.knee]

    @property
    def device(self) -> str:
        """Name of the profile of the response times."""
        return self.options.device or DEFAULT


def recommend(
    name: str, trace: Trace | SampledTrace, device: AnalyticDevice, options: Options, models: Path | None = None, *,
    classify: bool = False, advance: Advance | None = None,
) -> Recommendation:  # fmt: skip
    """Measure a trace and recommend a policy and a size.

    Args:
        name: of the trace, for people.
        trace: the requests, or a sample of them; the classifier, which needs them in a row, is not asked of one.
        device: models of the disk and the SSD.
        options: the aim, and assumptions.
        models: folder of the zoo's bundles; None asks none.
        classify: ask the workload classifier too, which decides nothing.
        advance: progress, as a part of the work.

    Raises:
        CachezooError: a size that cannot be; a damaged bundle.
    """

    def report(done: float, note: str = "") -> None:
        if advance is not None:
            advance(done, note)

    report(0.0, "reading pages")
    bench = Halves.of_trace(trace, device)
    n_pages = bench.n_pages
    budget = min(options.budget.pages(n_pages), n_pages) if options.budget else None
    sizes = ladder(n_pages, lambda capacity: bench.lru(capacity).mean, budget)
    ranking = rank(bench, sizes, lambda done, note="": report(0.05 + 0.3 * done / (RUNS * len(sizes)), note))
    maker, rows = Rows(bench, options.endurance_tb), []
    for k, (size, policy_id, most) in enumerate(zip(sizes, ranking.chosen, ranking.optimum.tolist(), strict=True)):
        report(0.35 + 0.15 * k / len(sizes), policy_id)
        rows.append(maker.row(policy_id, size, most))
    picked = pick(maker, rows, budget, options.hit, options.ms)
    own, useful = picked.row, picked.useful
    short = useful and own.years is not None and own.years < SHORT_LIFE_YEARS
    counted = Reads(bench, own.capacity)
    reads = counted.answer(lambda done, note="": report(0.5 + 0.1 * done / (2 * RUNS), note)) if useful else None
    zoo, learned = () if models is None else tuple(page_caches(models)), None
    if zoo and useful and own.capacity < n_pages:
        report(0.6, zoo[0].name)
        learned = measure(bench, device, own.ran, zoo)
    counted_all = bench.run(UNBOUNDED.id, own.capacity)
    unbounded = counted_all if counted_all.lead(own.ran, Goal.GAIN).value >= LEAST_HITS else None
    written = bench.written_a_day(own.ran)
    return Recommendation(
        name, options, bench, ranking, picked, confidence(bench, own, ranking, useful),
        maker.admitted(own) if short else None, _best(bench, own.capacity), unbounded, reads, counted.all_read, learned,
        zoo, buy(n_pages, own.capacity, written) if useful else None,
        likeness(models, trace) if classify and models is not None and isinstance(trace, Trace) else None,
    )  # fmt: skip


def _best(bench: Halves, capacity: int) -> Estimated:
    """Of all pages that there are here, not of those that candidates are compared on."""
    hits = policy(OPTIMUM).hits(bench.pages.page_ids, bench.pages.n_pages, bench.own(capacity)) == HIT
    found = bench.means(lambda own: _best(own, capacity).mean)
    return Estimated(*bench.hit_ratios(hits[bench.half :], bench.first), groups=found)
