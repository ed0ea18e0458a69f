"""What each size brings: the policy chosen for it, held against LRU on time blocks that did not choose it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from cachezoo.contest.lead import Lead, ahead
from cachezoo.contest.verdict import LEAST_HITS, Verdict, verdict
from cachezoo.policies.accounting import Simulation
from cachezoo.questions.page.recommend.bench import Bench, Ran
from cachezoo.questions.page.recommend.candidates import ADMISSION, SIMPLEST
from cachezoo.questions.page.recommend.ladder import middle
from cachezoo.traces.table import PAGE_BYTES

TERABYTE = 1e12
DAYS_A_YEAR = 365.25
SHORT_LIFE_YEARS = 3.0
"""Of an SSD; below this an admission that writes less is shown, and what it costs."""


@dataclass(frozen=True)
class Row:
    """A size.

    Attributes:
        ran: the policy recommended at this size.
        lru: hit ratio of LRU.
        chosen: the policy that the first half chose; the one recommended unless it gains less than
            `LEAST_HITS` over LRU on the second.
        lead: of the chosen policy over LRU, in hit ratio on the second half.
        optimum: hit ratio of the cache that knows the future; None where it was not run at this size.
        ssd_per_access: pages written to the SSD per page access.
        ssd_bytes_a_day: None where less than an hour is counted, or the trace has no clock.
        years: how long the SSD's endurance lasts so; None likewise, or where nothing is written.
    """

    ran: Ran
    lru: float
    chosen: str
    lead: Lead
    optimum: float | None
    ssd_per_access: float
    ssd_bytes_a_day: float | None
    years: float | None

    @property
    def capacity(self) -> int:
        """Pages."""
        return self.ran.capacity

    @property
    def verdict(self) -> Verdict:
        """On the chosen policy against LRU."""
        return verdict(self.lead, LEAST_HITS)

    def values(self) -> dict[str, Any]:
        """As JSON values, units in the keys."""
        ran, lead = self.ran, self.lead
        return {
            "capacity_pages": ran.capacity,
            "capacity_bytes": ran.capacity * PAGE_BYTES,
            "policy": ran.policy,
            "hit_ratio": ran.hit_ratio,
            "hit_ratio_interval": ran.interval,
            "request_hit_ratio": ran.request_hit_ratio,
            "lru_hit_ratio": self.lru,
            "optimum_hit_ratio": self.optimum,
            "chosen_on_first_half": self.chosen,
            "lead_over_lru": lead.value,
            "lead_interval": lead.interval,
            "verdict": self.verdict,
            "blocks_won": lead.won,
            "blocks": lead.blocks,
            "mean_response_us": ran.response_us,
            "mean_response_waiting_us": ran.response_waiting_us,
            "ssd_pages_written": ran.ssd_pages,
            "disk_pages_written": ran.disk_pages,
            "ssd_pages_per_page_access": self.ssd_per_access,
            "ssd_bytes_a_day": self.ssd_bytes_a_day,
            "ssd_lifetime_years": self.years,
        }


class Rows:
    """Makes rows of a trace.

    Attributes:
        bench: the trace.
        endurance_tb: terabytes (10**12 bytes) that may be written to the SSD.
    """

    def __init__(self, bench: Bench, endurance_tb: float) -> None:
        self.bench, self.endurance_tb = bench, endurance_tb

    def row(self, policy_id: str, capacity: int, optimum: float | None = None) -> Row:
        """The policy that the first half chose at a size, or LRU where that gains too little on the second."""
        ran = self.bench.run(policy_id, capacity)
        lru = self.bench.lru_ratio(capacity)
        lead = self._lead(ran, lru)
        if policy_id != SIMPLEST and not (lead.blocks and lead.value >= LEAST_HITS):
            ran = self.bench.run(SIMPLEST, capacity)
        return self._of(ran, lru, policy_id, lead, optimum)

    def admitted(self, row: Row) -> Row | None:
        """The same behind RejectX, which writes less to the SSD; None where the row's policy is behind it already."""
        if row.ran.policy.startswith(f"{ADMISSION}+"):
            return None
        ran = self.bench.run(f"{ADMISSION}+{row.ran.policy}", row.capacity)
        return self._of(ran, row.lru, row.chosen, row.lead, None)

    def beside(self, found: Simulation, row: Row) -> Row:
        """Another cache's run at a row's size, compared with LRU as the row is."""
        ran = self.bench.ran(found)
        return self._of(ran, row.lru, ran.policy, self._lead(ran, row.lru), row.optimum)

    def _lead(self, ran: Ran, lru: float) -> Lead:
        """Of a run over LRU of its size, whose hit ratio is given."""
        theirs = self.bench.block_means(self.bench.lru_hits(ran.capacity))
        return ahead(ran.blocks, theirs, ran.hit_ratio - lru)

    def years(self, bytes_a_day: float | None) -> float | None:
        """How long the endurance lasts; None where writes are unknown, or there are none."""
        return self.endurance_tb * TERABYTE / bytes_a_day / DAYS_A_YEAR if bytes_a_day else None

    def _of(self, ran: Ran, lru: float, chosen: str, lead: Lead, optimum: float | None) -> Row:
        written = self.bench.ssd_bytes_a_day(ran)
        per_access = ran.ssd_pages / self.bench.counted
        return Row(ran, lru, chosen, lead, optimum, per_access, written, self.years(written))

    def refined(self, rows: Sequence[Row], place: int, meets: Callable[[Row], bool]) -> list[Row]:
        """The two sizes about a target, close to each other: the one that misses it, and the one that reaches it.

        They are found by halving the way between the row at `place` and the one below it, with the policy chosen for
        the upper one. A higher target takes the same ways, or turns up where a lower one turned down.

        Args:
            rows: by rising size.
            place: of the first that reaches the target.
            meets: whether a row reaches it.
        """
        low, high, found = rows[place - 1].capacity if place else 0, rows[place].capacity, {}
        while (size := middle(low, high)) is not None:
            found[size] = self.row(rows[place].chosen, size)
            low, high = (low, size) if meets(found[size]) else (size, high)
        return [found[size] for size in (low, high) if size in found]
