"""The whole recommendation: measured once, then said as a line, a table, JSON and a page."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from cachezoo.devices.built_in import DEFAULT, DEFAULT_ENDURANCE_TB
from cachezoo.errors import ConfigError
from cachezoo.questions.page.recommend.bench import Bench
from cachezoo.questions.page.recommend.candidates import CANDIDATES
from cachezoo.questions.page.recommend.confidence import Confidence, confidence
from cachezoo.questions.page.recommend.contest import Contest, contest
from cachezoo.questions.page.recommend.ladder import ladder
from cachezoo.questions.page.recommend.likeness import Likeness
from cachezoo.questions.page.recommend.picking import Aim, Picked, pick
from cachezoo.questions.page.recommend.rows import SHORT_LIFE_YEARS, Row, Rows
from cachezoo.settings.device import AnalyticDevice
from cachezoo.show.formats import ordinary
from cachezoo.sizes import Size
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import PAGE_BYTES, Trace

if TYPE_CHECKING:
    from pathlib import Path

    from cachezoo.console import Advance

RUNS = len(CANDIDATES) + 1


@dataclass(frozen=True)
class Asked:
    """What a recommendation is to reach, and what it assumes.

    Attributes:
        budget: the most cache that may be bought; None for any.
        hit: the hit ratio to reach, above 0 and at most 1.
        ms: the mean response time to reach.
        device: the profile's name, as given; None for the one built in.
        endurance_tb: terabytes that may be written to the SSD.
        ask_models: whether the zoo's models may be asked; without bundles they are not.
        piped: the trace came by a pipe, so commands to run next need it saved first.
        reading: options that commands need to read the trace, as typed; empty where its content says all.

    Raises:
        ConfigError: several aims, or one that cannot be.
    """

    budget: Size | None = None
    hit: float | None = None
    ms: float | None = None
    device: str | None = None
    endurance_tb: float = DEFAULT_ENDURANCE_TB
    ask_models: bool = True
    piped: bool = False
    reading: str = ""

    def __post_init__(self) -> None:
        given = {"--budget": self.budget, "--target-hit": self.hit, "--target-ms": self.ms}
        named = [name for name, value in given.items() if value is not None]
        if len(named) > 1:
            raise ConfigError(f"{' and '.join(named)}: give one aim; the table shows what each size brings of all")
        if self.hit is not None and not 0 < self.hit <= 1:
            raise ConfigError(f"target-hit {self.hit:g}: give a hit ratio above 0 and at most 1, such as 0.8 or 80%")
        if self.ms is not None and not 0 < self.ms < float("inf"):
            raise ConfigError(f"target-ms {self.ms:g}: give milliseconds above 0, such as 2")
        if not 0 < self.endurance_tb < float("inf"):
            raise ConfigError(f"endurance {self.endurance_tb:g}: give terabytes written above 0, such as 600TBW")


@dataclass(frozen=True)
class Recommendation:
    """What was found out, and what is recommended.

    Attributes:
        name: of the trace.
        asked: as given.
        bench: the trace.
        contest: the candidates at every size.
        picked: the sizes, and the recommended one.
        confidence: in it.
        admitted: the recommended size with few SSD writes, where the SSD would not last; else None.
        likeness: what the zoo's models have to say; None where they were not asked.
        tried: the model that was run at the recommended size, where that was asked.
    """

    name: str
    asked: Asked
    bench: Bench
    contest: Contest
    picked: Picked
    confidence: Confidence
    admitted: Row | None
    likeness: Likeness | None
    tried: Row | None

    @property
    def row(self) -> Row:
        """What is recommended."""
        return self.picked.row

    @property
    def knee(self) -> Row | None:
        """At the curve's knee; None where it has none below all pages, or no cache helps."""
        return None if self.picked.knee is None else self.picked.rows[self.picked.knee]

    @property
    def device(self) -> str:
        """Name of the profile of the response times."""
        return self.asked.device or DEFAULT

    def values(self) -> dict[str, Any]:
        """As JSON values, units in the keys."""
        from cachezoo.questions.page.recommend import words

        bench, picked = self.bench, self.picked
        useful = picked.useful
        return {
            "trace": self.name,
            "recommendation": ordinary(words.headline(self)),
            "policy": self.row.ran.policy if useful else None,
            "capacity_pages": self.row.capacity if useful else None,
            "capacity_bytes": self.row.capacity * PAGE_BYTES if useful else None,
            "why": picked.why,
            "knee_pages": self.knee.capacity if self.knee else None,
            "confidence": self.confidence.level,
            "doubts": list(map(ordinary, self.confidence.reasons)),
            "requests": len(bench.trace),
            "page_accesses": len(bench.pages.page_ids),
            "distinct_pages": bench.pages.n_pages,
            "counted_from": bench.half,
            "counted_days": bench.span_days,
            "first_accesses": bench.first_share,
            "no_cache_response_us": bench.no_cache_us,
            "all_ssd_response_us": bench.all_ssd_us,
            "device": self.device,
            "endurance_tb": self.asked.endurance_tb,
            "sampled": self.contest.rate,
            "sizes": [row.values() for row in picked.rows],
            "fewer_ssd_writes": self.admitted.values() if self.admitted else None,
            "models_asked": self.likeness is not None,
            "models": self.likeness.values() if self.likeness else None,
            "tried": self.tried.values() if self.tried else None,
            "next": words.commands(self),
        }


def recommend(
    name: str, trace: Trace, device: AnalyticDevice, asked: Asked, models: "Path | None" = None, *,
    try_model: bool = False, advance: "Advance | None" = None,
) -> Recommendation:  # fmt: skip
    """Measure a trace and recommend a policy and a size.

    Args:
        name: of the trace, for people.
        trace: the requests.
        device: models of the disk and the SSD.
        asked: the aim, and assumptions.
        models: folder of the zoo's bundles; None asks none.
        try_model: run the zoo's page cache at the recommended size.
        advance: told (part of the work done, what is at work).

    Raises:
        CachezooError: a size that cannot be; a damaged bundle; a model is to be tried, and there is none.
    """

    def told(done: float, note: str = "") -> None:
        if advance is not None:
            advance(done, note)

    from cachezoo.questions.page.recommend.likeness import likeness, page_cache, tried_row

    to_try = page_cache(models) if try_model else None  # refused before the work, not after it
    told(0.0, "reading pages")
    bench = Bench(trace, expand_pages(trace), device)
    budget = min(asked.budget.pages(bench.pages.n_pages), bench.pages.n_pages) if asked.budget else None
    sizes = ladder(bench.pages.n_pages, bench.lru_ratio, budget)
    beside = contest(bench, sizes, lambda done, note="": told(0.1 + 0.5 * done / (RUNS * len(sizes)), note))
    maker, rows = Rows(bench, asked.endurance_tb), []
    for k, (size, policy_id, most) in enumerate(zip(sizes, beside.chosen, beside.optimum.tolist(), strict=True)):
        told(0.6 + 0.3 * k / len(sizes), policy_id)
        rows.append(maker.row(policy_id, size, most))
    picked = pick(maker, rows, Aim(budget, asked.hit, asked.ms))
    own = picked.row
    useful = picked.useful
    short = useful and own.years is not None and own.years < SHORT_LIFE_YEARS
    told(0.9, "models")
    return Recommendation(
        name, asked, bench, beside, picked, confidence(bench, own, beside, useful),
        maker.admitted(own) if short else None,
        likeness(models, trace) if models is not None else None,
        tried_row(to_try, maker, own) if to_try is not None else None,
    )  # fmt: skip
