"""A challenger against a champion on validation traces, request by request: which of two bundles should run.

Both see the same requests in the same cache. What each gains is compared block by block in time, so that what both owe
to the load drops out; test traces are not looked at.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.bundles.measured import ALL, FLASH, PAGE, ROLES, seat_of
from cachezoo.bundles.reader import Bundle
from cachezoo.console import progress
from cachezoo.contest.blocks import BLOCKS, block_means
from cachezoo.contest.choice import Goal, Outcome
from cachezoo.contest.counting import first_access
from cachezoo.contest.lead import average
from cachezoo.errors import ConfigError, no_trace
from cachezoo.flash_cache.modes import NONE
from cachezoo.flash_cache.policies import prefetch_of
from cachezoo.flash_cache.problem import flash_problem, label_of
from cachezoo.kernels.outcome import HIT
from cachezoo.params import traces_of
from cachezoo.questions.page.bundle import simulate_bundle
from cachezoo.runtime import open as open_model
from cachezoo.runtime.abi import library
from cachezoo.serving.requests import batch_of
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import Trace

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

OPS = ("read", "write")
UNITS = {PAGE: "hits per page access", FLASH: "read disk-head ms saved per request"}
TIMED = 20_000
"""Requests over which a decision is timed."""


@dataclass(frozen=True)
class Contest:
    """Result."""

    role: str  # page or flash
    unit: str  # of lead and interval
    traces: tuple[str, ...]  # validation traces, by key
    lead: float  # the challenger's gain over the champion's, mean over the traces
    interval: tuple[float, float]  # 90 % of it
    decision_us: float  # time of one request's decision by the challenger, here and now


def role_of(bundle: Bundle) -> str:
    """What a bundle is run as, and its category: `page/all`, `flash/web`.

    Raises:
        ConfigError: bundles of its kind run beside others, or decide nothing in a cache.
    """
    seat = seat_of(bundle.kind, bundle.manifest["category"])
    if seat is None:
        message = f"{bundle.where}: a {bundle.kind} bundle does not run alone; promote one of {', '.join(ROLES)}"
        raise ConfigError(message)
    return seat


def contest(params: "Params", challenger: Bundle, champion: Bundle) -> Contest:
    """Run both on the validation traces of the challenger's category, or of all page categories.

    A champion of all categories may defend one of them.

    Raises:
        ConfigError: they are run as different things.
        CachezooError: a validation trace is missing.
    """
    role, other = role_of(challenger), role_of(champion)
    kind, _, _ = role.partition("/")
    if other not in (role, f"{kind}/{ALL}"):
        message = f"{challenger.where}: runs as {role}, {champion.where} as {other}; compare bundles of one role"
        raise ConfigError(message)
    category = challenger.manifest["category"]
    keys = [(name, key) for name in [category] if name for key in traces_of(params, name, "validation")]
    if category is None:
        keys = [(name, key) for name in params.data.page_categories for key in traces_of(params, name, "validation")]
    if not keys:
        raise ConfigError(no_trace(category or "page", "validation"))
    gains: dict[str, Callable[[Bundle, Trace, str], F64]] = {
        PAGE: lambda bundle, trace, name: page_gains(bundle, trace, challenger.manifest["calibration"]["capacity"]),
        FLASH: lambda bundle, trace, name: flash_gains(params, bundle, trace, name),
    }
    ours, theirs = list[Outcome](), list[Outcome]()
    with progress("validation traces", len(keys)) as advance:
        for done, (name, key) in enumerate(keys):
            trace = read_trace(paths.requests(name, key))
            for bundle, outcomes in ((challenger, ours), (champion, theirs)):
                own = gains[kind](bundle, trace, name)
                outcomes.append(Outcome(float(own.mean()), block_means(own, BLOCKS)))
            advance(done + 1)
    lead = average([own.lead(rival, Goal.GAIN) for own, rival in zip(ours, theirs, strict=True)])
    first = read_trace(paths.requests(*keys[0]))
    tried, taken = tuple(key for _, key in keys), decision_us(challenger, first)
    return Contest(kind, UNITS[kind], tried, lead.value, lead.ends, taken)


def page_gains(bundle: Bundle, trace: Trace, fraction: float) -> F64:
    """float64[m]: 1 for each page hit where it counts, at a capacity that is a share of the distinct pages."""
    pages = expand_pages(trace)
    run = simulate_bundle(bundle, trace, pages, capacity_pages(fraction, pages.n_pages), first_access(pages))
    gained: F64 = (run.outcome[run.warmup :] == HIT).astype(np.float64)
    return gained


def flash_setting(bundle: Bundle) -> tuple[float, str]:
    """Threshold and prefetch mode that an admission bundle ships with; earlier ones do not prefetch."""
    calibration = bundle.manifest["calibration"]
    shipped = calibration.get("with_prefetch", {"threshold": calibration["threshold"], "mode": NONE})
    return float(shipped["threshold"]), str(shipped["mode"])


def flash_gains(params: "Params", bundle: Bundle, trace: Trace, category: str) -> F64:
    """float64[n]: less the disk-head milliseconds of each request after the warm-up, as the bundle ships."""
    problem = flash_problem(trace, label_of(params.label.episodes, category), params.policy.flash)
    serving, (threshold, mode) = bundle.serving(), flash_setting(bundle)
    scores = serving.scores(serving.features(batch_of(trace)))
    run = problem.run(scores >= threshold, None if mode == NONE else prefetch_of(problem, mode))
    return -1e3 * problem.dt_seconds(run)[problem.first :]


def decision_us(bundle: Bundle, trace: Trace) -> float:
    """Microseconds of a request's decision in libcachezoo where it is installed, else in Python; median of blocks."""
    part = trace.rows(0, min(TIMED, len(trace)))
    return _in_library(bundle, part) if library() is not None else _in_python(bundle, part)


def _in_library(bundle: Bundle, trace: Trace) -> float:
    names = trace.volume.names
    columns = (trace.time_us.tolist(), trace.op.tolist(), trace.offset.tolist(), trace.size.tolist())
    rows = zip(*columns, trace.volume.codes.tolist(), strict=True)
    with open_model(bundle.where, capacity=TIMED) as model:
        requests = [model.request(at, OPS[op], offset, size, names[code]) for at, op, offset, size, code in rows]
        return 1e6 * float(np.median(model.decision_seconds(requests)))


def _in_python(bundle: Bundle, trace: Trace) -> float:
    """Of whole blocks: Python computes many at once."""
    serving, batch = bundle.serving(), batch_of(trace)
    start = time.perf_counter()
    if ROLES[bundle.kind] == FLASH:
        serving.decide(serving.features(batch))
    else:
        page_gains(bundle, trace, bundle.manifest["calibration"]["capacity"])
    return 1e6 * (time.perf_counter() - start) / len(batch)


def accepted(found: Contest, least_gain: float, budget_us: float | None) -> tuple[bool, str]:
    """Whether the challenger takes the champion's place, and why.

    Args:
        found: the contest.
        least_gain: the interval's lower end must be above this, in the contest's unit.
        budget_us: most microseconds of a decision; None has no limit.
    """
    low, high = found.interval
    text = f"{found.lead:+.4f} {found.unit} [{low:+.4f}, {high:+.4f}] on {', '.join(found.traces)}"
    if budget_us is not None and found.decision_us > budget_us:
        return False, f"a decision takes {found.decision_us:.1f} us, more than {budget_us:g}"
    if low <= least_gain:
        return False, f"{text}: not shown to gain more than {least_gain:g}"
    return True, text
