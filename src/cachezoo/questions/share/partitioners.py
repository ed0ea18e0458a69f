"""The partitioners, and the texts that name them.

A text is an id, or an id with values as in ``gvpa(cost=1, reach=4)``, ``shared(policy=s3fifo)``; `PARTITIONERS` lists
them. All give whole fragments, so that none is ahead by what its rounding leaves: a cache is cut to whole ones first.
"""

import re
from difflib import get_close_matches

import numpy as np

from cachezoo.arrays import I64
from cachezoo.errors import ConfigError
from cachezoo.kernels.accounting import residents
from cachezoo.kernels.outcome import ADMITTED, ADMITTED_FREE, HIT
from cachezoo.kernels.partition import add_misses, lookahead, optimum, partitioned
from cachezoo.kernels.virtual.gvpa import share
from cachezoo.kernels.virtual.queues import QUEUES
from cachezoo.kernels.virtual.vrm import Settings
from cachezoo.numerals import number
from cachezoo.policies.components import Parameter, Whole, settle
from cachezoo.policies.registry import policy
from cachezoo.policies.spec import parse as parse_policy
from cachezoo.policies.spec import split as pieces
from cachezoo.policies.stream import Stream
from cachezoo.questions.share.partition import (
    FRAGMENT,
    NOTHING,
    SHARED,
    Candidate,
    Options,
    Partitioner,
    Shared,
    Task,
    Text,
)

FORM = re.compile(r"([^\s()=,]+)\s*(?:\((.*)\))?")
LOOKS = 200  # at which it is counted what each application has of a cache that nobody splits
USUAL = 262144  # pages of a queue, 1 GiB: the paper's
WINDOW = Whole("window", 20000, 1, 10**9, "references of an application, on average, that a split holds for")
START = np.zeros(1, np.int64)


def equal_split(total: int, count: int) -> I64:
    """int64[A]: as many fragments each; those left over go to the first."""
    split: I64 = total // count + (np.arange(count, dtype=np.int64) < total % count)
    return split


def proportional_split(total: int, weights: I64) -> I64:
    """int64[A]: a fragment each, the others by weight; what rounding leaves goes to the largest remainders."""
    rest = total - len(weights)
    exact = rest * weights / weights.sum()
    split: I64 = exact.astype(np.int64)
    left = rest - int(split.sum())
    split[np.argsort(split - exact, kind="stable")[:left]] += 1
    return split + 1


def _run(task: Task, fragment: int, begins: I64, fragments: I64) -> Shared:
    """LRU in each partition, by fragments int64[W, A]."""
    hit, splits = np.empty(len(task.mix), np.bool_), fragments * fragment
    partitioned(task.mix.app, task.mix.distance, begins, splits, hit)
    return Shared.of_hits(hit, begins, splits)


def _equal(task: Task, options: Options) -> Shared:
    fragment = options.integer("fragment")
    split = equal_split(task.total(fragment), task.mix.count)
    return _run(task, fragment, START, split[None])


def _proportional(task: Task, options: Options) -> Shared:
    fragment = options.integer("fragment")
    weights = np.array([len(one) for one in task.mix.applications], np.int64)
    return _run(task, fragment, START, proportional_split(task.total(fragment), weights)[None])


def _static_best(task: Task, options: Options) -> Shared:
    fragment = options.integer("fragment")
    split = optimum(task.mix.misses(task.counted, task.pages, fragment), task.total(fragment), 1)
    return _run(task, fragment, START, split[None])


def _windows(task: Task, options: Options) -> I64:
    """int64[W]: where windows begin; the last may be shorter."""
    return np.arange(0, len(task.mix), options.integer("window") * task.mix.count, dtype=np.int64)


def _ucp(task: Task, options: Options) -> Shared:
    """Histograms of all references so far, halved after each window, say how the next is split."""
    mix, fragment, begins = task.mix, options.integer("fragment"), _windows(task, options)
    total = task.total(fragment)
    splits, every = np.empty((len(begins), mix.count), np.int64), np.ones(len(mix), np.bool_)
    splits[0] = equal_split(total, mix.count)
    misses = np.zeros((mix.count, total + 1), np.int64)
    for window, stop in enumerate(begins[1:].tolist(), start=1):
        add_misses(mix.app, mix.distance, every, int(begins[window - 1]), stop, fragment, misses)
        splits[window] = lookahead(misses, total, 1)
        misses //= 2
    return _run(task, fragment, begins, splits)


def _hindsight(task: Task, options: Options) -> Shared:
    """Each window by the split that is best in it, whose pages are all taken to be there when it begins."""
    mix, fragment, begins = task.mix, options.integer("fragment"), _windows(task, options)
    total, distance = task.total(fragment), mix.distance
    splits = np.empty((len(begins), mix.count), np.int64)
    hit = np.empty(len(mix), np.bool_)
    for window, first in enumerate(begins.tolist()):
        stop = int(begins[window + 1]) if window + 1 < len(begins) else len(mix)
        misses = np.zeros((mix.count, total + 1), np.int64)
        add_misses(mix.app, distance, task.counted, first, stop, fragment, misses)
        splits[window] = optimum(misses, total, 1)
        part = slice(first, stop)
        hit[part] = (distance[part] >= 0) & (distance[part] < (fragment * splits[window])[mix.app[part]])
    return Shared.of_hits(hit, begins, splits * fragment)


def _queue(text: str) -> str:
    if text not in QUEUES:
        raise ConfigError(f"queue={text[:24]}: use one of {', '.join(QUEUES)}")
    return text


GVPA_PARAMETERS = (
    Whole("n", 0, 0, 2**26, f"pages in each application's queue; 0: {USUAL}, or those of the cache where it has more"),
    FRAGMENT,
    Whole("f", 2, 1, 16, "runs of an application's queue that are in the cache, at most"),
    Parameter("alpha", 0.95, 0.0, 1.0, "what is left of a value after a quantum"),
    Whole("q", 2000, 1, 10**9, "references of an application, on average, in a quantum"),
    Parameter("cost", 0.0, 0.0, 1e6, "hits that a page entering a run away from the head must save; 0: the paper's"),
    Parameter("fill", 0.0, 0.0, 1e6, "hits that a page of a share that grows must save; 0: the paper's"),
    Whole("step", 1, 1, 2**26, "fragments that a step moves"),
    Whole("reach", 1, 1, 4096, "steps that an application's share moves at most in a quantum; 1: the paper's"),
)


def _gvpa(task: Task, options: Options) -> Shared:
    mix, fragment, f = task.mix, options.integer("fragment"), options.integer("f")
    total = task.total(fragment, f)
    n, pages = options.integer("n"), total * fragment
    if 0 < n < pages:
        raise ConfigError(f"n = {n} is below the cache of {pages} pages; a queue is as long at least: gvpa(n={pages})")
    n = n or max(USUAL, pages)
    settings = Settings(fragment, f, options.numbers["alpha"], options.integer("q"), options.numbers["cost"])
    found = share(
        mix.app, mix.moves(options.texts["queue"], n), mix.count, total, n, settings, options.integer("step"),
        options.integer("reach"), options.numbers["fill"],
    )  # fmt: skip
    begins = np.arange(len(found.splits), dtype=np.int64) * (settings.q * mix.count)
    fragmentation = found.moved.copy()
    fragmentation[begins[1:] - 1] -= found.allocation[1:].sum(axis=1).astype(np.int32)
    return Shared(found.hit, fragmentation, begins, found.splits.astype(np.int64) * fragment, found.allocation)


def _policy(text: str) -> str:
    """The canonical text of a policy that one cache can have.

    Raises:
        ConfigError: none, a bound, or one that prefetches, for which page references are too little.
    """
    spec = parse_policy(text)
    if spec.prefetch.id != "none":
        raise ConfigError(f"policy={text} prefetches, which takes requests: leave +{spec.prefetch} out")
    if spec.is_bound:
        raise ConfigError(f"policy={text} is a bound, which no cache can be; hindsight is one for partitions")
    return str(spec)


def _shared(task: Task, options: Options) -> Shared:
    mix, fragment = task.mix, options.integer("fragment")
    pages = task.total(fragment) * fragment
    run = policy(options.texts["policy"]).simulate(Stream.of_pages(mix.page_ids, mix.n_pages), pages)
    hit = run.outcome == HIT
    if not run.says_who_left:  # a virtual I/O cache: nor is it known for what it read besides misses
        nobody, every = np.zeros((0, mix.count), np.int64), np.zeros(len(hit), np.int32)
        return Shared(hit, every if run.moved is None else run.moved, np.zeros(0, np.int64), nobody, nobody)
    begins = np.unique(np.linspace(0, len(mix), LOOKS, endpoint=False).astype(np.int64))
    splits = np.zeros((len(begins), mix.count), np.int64)
    owner = np.repeat(np.arange(mix.count, dtype=np.int32), [one.n_pages for one in mix.applications])
    entered = (run.outcome == ADMITTED) | (run.outcome == ADMITTED_FREE)
    residents(mix.app, entered, run.victim, owner, begins, splits)
    return Shared.of_hits(hit, begins, splits)


GVPA = Partitioner(
    "gvpa", "the virtual I/O cache's: each application's queue, and fragments where they are worth most", NOTHING,
    _gvpa, GVPA_PARAMETERS, (Text("queue", "lru", _queue, "the replacement queue of each application"),),
)  # fmt: skip
EQUAL = Partitioner("equal", "as much for each, LRU in each", NOTHING, _equal)
PROPORTIONAL = Partitioner(
    "proportional", "by how many references each makes, LRU in each", "reference counts", _proportional
)
STATIC_BEST = Partitioner(
    "static-best", "the fixed split of least transfers, LRU in each", "the whole run", _static_best
)
UCP = Partitioner(
    "ucp", "UCP's lookahead on the misses that each size would have saved, LRU in each", NOTHING, _ucp,
    (WINDOW, FRAGMENT),
)  # fmt: skip
HINDSIGHT = Partitioner(
    "hindsight", "the best split of each window with its pages there: a bound, no cache", "each window",
    _hindsight, (WINDOW, FRAGMENT),
)  # fmt: skip
ONE = Partitioner(
    SHARED, "one cache for all, which nobody splits", NOTHING, _shared, (FRAGMENT,),
    (Text("policy", "lru", _policy, "any cache of the zoo, without prefetch"),),
)  # fmt: skip
PARTITIONERS = (GVPA, EQUAL, PROPORTIONAL, STATIC_BEST, ONE, UCP, HINDSIGHT)


def parse(text: str, fragment: int = int(FRAGMENT.default)) -> Candidate:
    """Read the text that names a partitioner.

    Args:
        text: e.g. ``equal``, ``gvpa(cost=1, reach=4)``, ``shared(policy=s3fifo)``; blanks do not matter.
        fragment: its fragment where it does not give one itself, pages.

    Raises:
        ConfigError: it names none, or a value that it does not take.
    """
    own = " ".join(text.split())
    try:
        return _parsed(own, fragment)
    except ConfigError as error:
        raise ConfigError(f"partitioner {own[:120] or '(empty)'}: {error}") from error


def parse_several(text: str, fragment: int = int(FRAGMENT.default)) -> list[Candidate]:
    """Partitioners between commas, each once; a comma within brackets parts none.

    Args:
        text: as of `parse`, with commas.
        fragment: as of `parse`, for each.

    Raises:
        ConfigError: as `parse`.
    """
    return list(dict.fromkeys(parse(piece, fragment) for piece in pieces(text, ",")))


def _parsed(text: str, fragment: int) -> Candidate:
    known = {one.id: one for one in PARTITIONERS}
    match = FORM.fullmatch(text)
    if match is None or match[1] not in known:
        close = get_close_matches(match[1].lower() if match else text, known, n=1)
        meant = f"did you mean {close[0]}? " if close else ""
        raise ConfigError(f"{meant}use one of {', '.join(known)}, with values in brackets as in gvpa(cost=1)")
    own = known[match[1]]
    numbers, texts = _values(own, match[2])
    settled = settle(own.id, own.parameters, {FRAGMENT.name: float(fragment), **numbers})
    checked = {one.name: one.check(texts.get(one.name, one.default)) for one in own.texts}
    given = [(one.name, checked[one.name]) for one in own.texts if checked[one.name] != one.default]
    given += [(one.name, f"{settled[one.name]:.12g}") for one in own.parameters if settled[one.name] != one.default]
    return Candidate(own, tuple(given), Options(settled, checked))


def _values(own: Partitioner, inside: str | None) -> tuple[dict[str, float], dict[str, str]]:
    """Numbers and texts that are given in brackets."""
    names, texts = [one.name for one in own.parameters], [one.name for one in own.texts]
    found, checked = dict[str, float](), dict[str, str]()
    for piece in pieces(inside, ",") if inside and inside.strip() else []:
        name, equals, value = (word.strip() for word in piece.partition("="))
        if not equals or name not in (*names, *texts):
            message = (
                f"{piece.strip()[:40] or 'nothing'} is no value of {own.id}; it takes {', '.join((*texts, *names))}"
            )
            raise ConfigError(message)
        if name in found or name in checked:
            raise ConfigError(f"{own.id}: {name} is given twice")
        if name in texts:
            checked[name] = value
            continue
        known = number(value)
        if known is None:
            raise ConfigError(f"{own.id}: {name} = {value[:24] or 'nothing'} is no number")
        found[name] = known
    return found, checked
