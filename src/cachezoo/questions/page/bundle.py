"""A bundle in the page cache that policies are compared in."""

from dataclasses import dataclass, replace
from pathlib import Path

from cachezoo.bundles.reader import Bundle
from cachezoo.bundles.released import load
from cachezoo.errors import BundleError, ConfigError
from cachezoo.policies.accounting import Simulation
from cachezoo.policies.simulate import simulate
from cachezoo.questions.page.bench import Bench, Options, Run
from cachezoo.show.formats import percent
from cachezoo.sizes import PAGE_BYTES
from cachezoo.traces.pages import PageAccesses
from cachezoo.traces.table import Trace
from cachezoo.zoo.registry import SYSTEMS, UNTRAINED

FLASH = "admission"
"""Kinds that decide for a flash cache before disks: what they save is disk time at a write rate, not page hits."""


def refuse_options(options: Options, whose: str, where: str) -> None:
    """Refuse options that a model's own cache cannot have.

    Args:
        options: how all policies run.
        whose: cache it is.
        where: what asks for it, as typed.

    Raises:
        ConfigError: another way to write, unit or page size than a model's.
    """
    if (options.writes, options.unit, options.page_bytes) != ("back", "page", PAGE_BYTES):
        message = f"{whose} cache writes back and admits pages of 4 KiB one by one"
        raise ConfigError(f"{message}; leave --writes, --unit and --page-size out where there is {where}")


def simulate_bundle(given: Bundle | Path, trace: Trace, pages: PageAccesses, capacity: int, warmup: int) -> Simulation:
    """Verify a bundle's files, let it decide on every request, and count hits as for a policy.

    Args:
        given: a bundle, its folder or .zip.
        trace: requests.
        pages: their page accesses.
        capacity: pages.
        warmup: page accesses simulated before counting.

    Raises:
        BundleError: damaged, or of a kind that decides nothing in a page cache.
    """
    bundle = load(given) if isinstance(given, Path) else given
    if bundle.kind == FLASH:
        what = f"{bundle.id} decides for a flash cache, which saves disk time at a write rate, not page hits"
        instead = f"run cachezoo recommend --only flash TRACE --bundle {bundle.where}"
        raise BundleError(f"{bundle.where}: {what}; {instead}")
    if bundle.kind in UNTRAINED:
        return replace(simulate(trace, pages, bundle.manifest["policy"]["text"], capacity, warmup), policy=bundle.id)
    part = SYSTEMS[bundle.kind].page_bundle
    if part is None:
        able = [
            *(name for name, own in SYSTEMS.items() if own.page_bundle is not None and name != FLASH),
            *UNTRAINED,
        ]
        message = (
            f"{bundle.where}: a {bundle.kind} bundle does not decide on misses; give an {' or '.join(able)} bundle"
        )
        raise BundleError(message)
    found: Simulation = part.load()(bundle.serving(), bundle.id, trace, pages, capacity, warmup)
    return found


def out_of_calibration(bundle: Bundle, bench: Bench, capacity: int) -> tuple[float, float] | None:
    """Least and greatest cache, as parts of a trace's distinct pages, that a bundle's threshold was chosen for.

    None where a cache of so many pages is among them, give or take a page, and where it decides by no threshold.
    """
    calibration, pages = bundle.manifest["calibration"], bench.pages.n_pages
    judged = calibration.get("capacity")
    if "threshold" not in calibration or judged is None:
        return None
    shares = [row.get("capacity", judged) for row in calibration.get("by_capacity", ())]
    low, high = min(shares, default=judged), max(shares, default=judged)
    return None if low * pages - 1 <= capacity <= high * pages + 1 else (low, high)


def calibration_words(policy: str, chosen: tuple[float, float]) -> str:
    """What `out_of_calibration` says of a policy, for people."""
    low, high = chosen
    sizes = percent(low, 0) if low == high else f"{percent(low, 0)} to {percent(high, 0)}"
    return f"{policy}: its threshold is for caches of {sizes} of a trace's distinct pages"


def run_bundle(bench: Bench, given: Bundle | Path, capacity: int, decision_us: float = 0.0) -> Run:
    """`simulate_bundle` with the figures of a policy's run."""
    found = simulate_bundle(given, bench.trace, bench.pages, capacity, bench.case(capacity).first)
    return bench.counted_run(found, "model", decision_us)


@dataclass(frozen=True)
class BundleCache:
    """A bundle's own cache."""

    bundle: Bundle

    @property
    def policy(self) -> str:
        """What its runs are called."""
        return self.bundle.id

    def run(self, bench: Bench, capacity: int, decision_us: float = 0.0) -> Run:
        """As `run_bundle`."""
        return run_bundle(bench, self.bundle, capacity, decision_us)

    def out_of_calibration(self, bench: Bench, capacity: int) -> tuple[float, float] | None:
        """As the function."""
        return out_of_calibration(self.bundle, bench, capacity)
