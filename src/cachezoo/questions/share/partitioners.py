"""The partitioners, and the texts that name them.

A text is an id, or an id with values as in ``gvpa(cost=1, reach=4)``, ``shared(policy=s3fifo)``; `PARTITIONERS` lists
them. All give whole fragments, so that none is ahead by what its rounding leaves: a cache is cut to whole ones first.
"""

import re
from collections.abc import Callable, Mapping
from difflib import get_close_matches
from math import ceil

import numpy as np

from cachezoo.arrays import I64
from cachezoo.errors import ConfigError
from cachezoo.kernels.accounting import residents
from cachezoo.kernels.outcome import ADMITTED, ADMITTED_FREE, HIT
from cachezoo.kernels.partition import add_misses, climb, lookahead, optimum, partitioned
from cachezoo.kernels.virtual.gvpa import share
from cachezoo.kernels.virtual.queues import QUEUES
from cachezoo.kernels.virtual.vrm import Settings
from cachezoo.numerals import number, whole
from cachezoo.policies.components import Parameter, Whole, settle
from cachezoo.policies.grammar import split as pieces
from cachezoo.policies.registry import in_sample, policy
from cachezoo.policies.spec import parse as parse_policy
from cachezoo.policies.stream import Stream
from cachezoo.questions.share.learned import (
    AUTO,
    OR,
    START,
    best_policy,
    choice_of,
    learned_split,
    misses_at,
    online_split,
    part_of,
    policies_of,
    run_parts,
    whole_cache,
)
from cachezoo.questions.share.mix import ROUNDING, Mix, scaled
from cachezoo.questions.share.partition import (
    FRAGMENT,
    NOTHING,
    OF_EACH,
    SHARED,
    Candidate,
    Options,
    Partitioner,
    Shared,
    Task,
    Text,
)
from cachezoo.seeds import derive_seed
from cachezoo.sizes import human_pages

FORM = re.compile(r"([^\s()=,]+)\s*(?:\((.*)\))?")
LOOKS = 200  # at which it is counted what each application has of a cache that nobody splits
USUAL = 262144  # pages of a queue, 1 GiB: the paper's
WINDOW = Whole("window", 20000, 1, 10**9, "references of an application, on average, that a split holds for")
STEPS = Whole("steps", 24, 2, 4096, "sizes at which policies are measured, evenly apart; at least 4 an application")
LRU = "lru"
WAYS = ("optimum", "lookahead")
QUEUE_PAGES, PARTS = "n", "pages"
LEAST_WINDOW = 1000
"""References of a sample that a window has at least."""
MOST_FRAGMENTS, MOST_EACH = 1024, 16
"""Fragments of a sample's cache, or of each application's if that is more: splits take the square of their number."""


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
    return Shared.of_hits(hit, begins, splits, [LRU] * task.mix.count if len(begins) == 1 else ())


def _parts(task: Task, options: Options, split: I64) -> Shared:
    """Fixed parts, in each the policy that missed least before what counts, of those to choose from."""
    fragment, text = options.integer("fragment"), options.texts["policy"]
    if text == LRU:
        return _run(task, fragment, START, split[None])
    names, pages = policies_of(text), (split * fragment).tolist()
    if len(names) > 1:
        found = [
            misses_at(task, one, names, np.array([0, size], np.int64))[:, 1]
            for one, size in zip(task.mix.applications, pages, strict=True)
        ]
        chosen = [names[int(own.argmin())] for own in found]
    else:
        chosen = names * task.mix.count
    return run_parts(task.mix, pages, chosen)


def _equal(task: Task, options: Options) -> Shared:
    return _parts(task, options, equal_split(task.total(options.integer("fragment")), task.mix.count))


def _proportional(task: Task, options: Options) -> Shared:
    weights = np.array([one.references for one in task.mix.applications], np.int64)
    return _parts(task, options, proportional_split(task.total(options.integer("fragment")), weights))


def _fixed(task: Task, options: Options) -> Shared:
    """Parts of so many pages, in the order of the applications, with a policy for all or one for each."""
    fragment, count = options.integer("fragment"), task.mix.count
    pages = [int(one) for one in options.text_of_each(PARTS, count)]
    names = options.text_of_each("policy", count)
    if sum(pages) > task.total(fragment) * fragment:
        room, all_of_them = (human_pages(task.whole(size)) for size in (task.total(fragment) * fragment, sum(pages)))
        raise ConfigError(f"parts of {all_of_them} in a cache of {room}; give smaller ones")
    return run_parts(task.mix, pages, names)


def _learned(task: Task, options: Options) -> Shared:
    return learned_split(
        task, options.texts["policy"], options.texts["by"], options.integer("steps"), options.integer("fragment"),
        bool(options.integer("talus")),
    )  # fmt: skip


def _static_best(task: Task, options: Options) -> Shared:
    fragment = options.integer("fragment")
    total = task.total(fragment)
    misses, asked = task.mix.misses(task.counted, task.pages, fragment), np.bincount(
        task.mix.app[task.counted], minlength=task.mix.count
    )  # fmt: skip
    split = optimum(misses, total, task.served(misses, asked.tolist(), task.least(fragment, total)))
    return _run(task, fragment, START, split[None])


def _windows(task: Task, options: Options) -> I64:
    """int64[W]: where windows begin; the last may be shorter."""
    return np.arange(0, len(task.mix), options.integer("window") * task.mix.count, dtype=np.int64)


def _ucp(task: Task, options: Options) -> Shared:
    """Histograms of all references so far, halved after each window, say how the next is split."""
    mix, fragment = task.mix, options.integer("fragment")
    if options.texts["policy"] != LRU:
        return online_split(
            task, options.texts["policy"], options.integer("window"), options.integer("steps"), fragment
        )
    begins, total = _windows(task, options), task.total(fragment)
    least = task.least(fragment, total)
    splits, every = np.empty((len(begins), mix.count), np.int64), np.ones(len(mix), np.bool_)
    misses, asked = np.zeros((mix.count, total + 1), np.int64), np.zeros(mix.count, np.int64)
    splits[0] = lookahead(misses, total, least)  # nothing is known: equal parts, above their floors
    for window, stop in enumerate(begins[1:].tolist(), start=1):
        first = int(begins[window - 1])
        add_misses(mix.app, mix.distance, every, first, stop, fragment, misses)
        asked += np.bincount(mix.app[first:stop], minlength=mix.count)
        splits[window] = lookahead(misses, total, task.served(misses, asked.tolist(), least))
        misses //= 2
        asked //= 2
    return _run(task, fragment, begins, splits)


def _climb(task: Task, options: Options) -> Shared:
    """Equal parts at first, above their floors; a page moves at each hit in a shadow queue."""
    mix, fragment = task.mix, options.integer("fragment")
    total = task.total(fragment)
    least = task.least(fragment, total)
    first = lookahead(np.zeros((mix.count, total + 1), np.int64), total, least) * fragment
    begins = np.unique(np.linspace(0, len(mix), LOOKS, endpoint=False).astype(np.int64))
    splits, hit = np.empty((len(begins), mix.count), np.int64), np.empty(len(mix), np.bool_)
    climb(
        mix.app, mix.distance, first, least * fragment, options.integer("shadow"), options.integer("credit"),
        derive_seed(0, "hill climbing"), begins, splits, hit,
    )  # fmt: skip
    return Shared.of_hits(hit, begins, splits)


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
        splits[window] = optimum(misses, total, np.ones(mix.count, np.int64))
        part = slice(first, stop)
        hit[part] = (distance[part] >= 0) & (distance[part] < (fragment * splits[window])[mix.app[part]])
    return Shared.of_hits(hit, begins, splits * fragment)


def _queue(text: str) -> str:
    if text not in QUEUES:
        raise ConfigError(f"queue={text[:24]}: use one of {', '.join(QUEUES)}")
    return text


GVPA_PARAMETERS = (
    Whole(
        QUEUE_PAGES,
        0,
        0,
        2**26,
        f"pages in each application's queue; 0: {USUAL}, or those of the cache where it has more",
    ),
    FRAGMENT,
    Whole("f", 2, 1, 16, "runs of an application's queue that are in the cache, at most"),
    Parameter("alpha", 0.95, 0.0, 1.0, "what is left of a value after a quantum"),
    Whole("q", 2000, 1, 10**9, "references of an application, on average, in a quantum"),
    Parameter("cost", 0.0, 0.0, 1e6, "hits that a page entering a run away from the head must save; 0: the paper's"),
    Whole("optimal", 0, 0, 1, "1: each mapping the best of all, by dynamic programming; 0: the paper's rule"),
    Parameter("fill", 0.0, 0.0, 1e6, "hits that a page of a share that grows must save; 0: the paper's"),
    Whole("step", 1, 1, 2**26, "fragments that a step moves"),
    Whole("reach", 1, 1, 4096, "steps that an application's share moves at most in a quantum; 1: the paper's"),
)


def _gvpa(task: Task, options: Options) -> Shared:
    mix, fragment = task.mix, options.integer("fragment")
    f, q, alpha, cost, optimal = (
        options.of_each(name, mix.count) for name in ("f", "q", "alpha", "cost", "optimal")
    )  # fmt: skip
    total = task.total(fragment, int(max(f)))
    pages = total * fragment
    lengths = [int(own) or max(USUAL, pages) for own in options.of_each("n", mix.count)]
    if min(lengths) < pages:
        n = min(lengths)
        raise ConfigError(f"n = {n} is below the cache of {pages} pages; a queue is as long at least: gvpa(n={pages})")
    each = [
        Settings(fragment, int(own[0]), own[1], int(own[2]), own[3], int(own[4]))
        for own in zip(f, alpha, q, cost, optimal, strict=True)
    ]
    found = share(
        mix.app, mix.moves(options.text_of_each("queue", mix.count), lengths), mix.count, total, lengths, each,
        options.integer("step"), options.integer("reach"), options.numbers["fill"],
    )  # fmt: skip
    begins = np.arange(len(found.splits), dtype=np.int64) * sum(one.q for one in each)
    fragmentation = found.moved.copy()
    fragmentation[begins[1:] - 1] -= found.allocation[1:].sum(axis=1).astype(np.int32)
    return Shared(found.hit, fragmentation, begins, found.splits.astype(np.int64) * fragment, found.allocation)


def _every(check: Callable[[str], str]) -> Callable[[str], str]:
    """A check of one value, or of one for each application, with /."""
    return lambda text: OF_EACH.join(check(one.strip()) for one in text.split(OF_EACH))


def _pages(text: str) -> str:
    size = whole(text)
    if size is None or size < 1:
        raise ConfigError(f"pages={text[:24] or 'nothing'}: give the pages of each part, as in pages=2048/512")
    return str(size)


def _way(text: str) -> str:
    if text not in WAYS:
        raise ConfigError(f"by={text[:24]}: use one of {', '.join(WAYS)}")
    return text


def _shared_choice(text: str) -> str:
    """Policies of one cache for all, with | or `auto`; a virtual I/O cache alone."""
    return whole_cache(text) if text.strip() != AUTO and OR not in text else choice_of(text)


def _shared(task: Task, options: Options) -> Shared:
    mix, fragment = task.mix, options.integer("fragment")
    pages = task.total(fragment) * fragment
    name = best_policy(task, options.texts["policy"], pages)
    with in_sample(name, task.whole(pages)):
        run = policy(name).simulate(Stream.of_pages(mix.page_ids, mix.n_pages), pages)
    hit = run.outcome == HIT
    if not run.says_who_left:  # a virtual I/O cache: nor is it known for what it read besides misses
        nobody, every = np.zeros((0, mix.count), np.int64), np.zeros(len(hit), np.int32)
        moved = every if run.moved is None else run.moved
        return Shared(hit, moved, np.zeros(0, np.int64), nobody, nobody, (name,))
    begins = np.unique(np.linspace(0, len(mix), LOOKS, endpoint=False).astype(np.int64))
    splits = np.zeros((len(begins), mix.count), np.int64)
    owner = np.repeat(np.arange(mix.count, dtype=np.int32), [one.n_pages for one in mix.applications])
    entered = (run.outcome == ADMITTED) | (run.outcome == ADMITTED_FREE)
    residents(mix.app, entered, run.victim, owner, begins, splits)
    return Shared.of_hits(hit, begins, splits, (name,))


PART = Text("policy", LRU, choice_of, "of each part, or several with | to choose from, or auto: all classics")
GVPA = Partitioner(
    "gvpa", "the virtual I/O cache's: each application's queue, and fragments where they are worth most", NOTHING,
    _gvpa, GVPA_PARAMETERS, (Text("queue", "lru", _every(_queue), "the replacement queue of each application"),),
    ("n", "f", "alpha", "q", "cost", "optimal"), pages=(FRAGMENT.name, QUEUE_PAGES), windows=("q",),
)  # fmt: skip
EQUAL = Partitioner("equal", "as much for each", NOTHING, _equal, (FRAGMENT,), (PART,))
PROPORTIONAL = Partitioner(
    "proportional", "by how many references each makes", "reference counts", _proportional, (FRAGMENT,), (PART,)
)
FIXED = Partitioner(
    "fixed", "parts of so many pages, each with its policy", NOTHING, _fixed, (FRAGMENT,),
    (Text(PARTS, "1", _every(_pages), "of each part, in the order of the applications, with /"),
     Text("policy", LRU, _every(part_of), "of each part, with /; one for all of them")),
)  # fmt: skip
LEARNED = Partitioner(
    "learned", "the fixed split, and policy of each part, of fewest misses before what counts", NOTHING, _learned,
    (STEPS, Whole("talus", 0, 0, 1, "1: a hash deals a part's pages out to two caches where that is its curve's hull"),
     FRAGMENT),
    (Text("policy", AUTO, choice_of, PART.meaning), Text("by", WAYS[0], _way, "what gives out the steps")),
)  # fmt: skip
STATIC_BEST = Partitioner(
    "static-best", "the fixed split of least transfers, LRU in each", "the whole run", _static_best
)
UCP = Partitioner(
    "ucp", "UCP's lookahead on the misses that each size would have saved", NOTHING, _ucp,
    (WINDOW, STEPS, FRAGMENT), (PART,), windows=(WINDOW.name,),
)  # fmt: skip
CLIMB = Partitioner(
    "climb", "Cliffhanger's hill climbing: a hit in a shadow queue moves a page, LRU in each", NOTHING, _climb,
    (Whole("shadow", 256, 1, 2**26, "pages of a shadow queue"),
     Whole("credit", 1, 1, 2**16, "pages that a hit in a shadow queue moves"), FRAGMENT),
    pages=(FRAGMENT.name, "shadow"),
)  # fmt: skip
HINDSIGHT = Partitioner(
    "hindsight", "the best split of each window with its pages there: a bound, no cache", "each window",
    _hindsight, (WINDOW, FRAGMENT), windows=(WINDOW.name,),
)  # fmt: skip
ONE = Partitioner(
    SHARED, "one cache for all, which nobody splits", NOTHING, _shared, (FRAGMENT,),
    (Text("policy", LRU, _shared_choice, "any cache of the zoo without prefetch, or several with |, or auto"),),
)  # fmt: skip
PARTITIONERS = (GVPA, EQUAL, PROPORTIONAL, FIXED, LEARNED, STATIC_BEST, ONE, UCP, CLIMB, HINDSIGHT)


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
    single = {name: values[0] for name, values in numbers.items() if len(values) == 1}
    each = {name: values for name, values in numbers.items() if len(values) > 1}
    return _candidate(own, {FRAGMENT.name: float(fragment), **single}, each, texts)


def _candidate(
    own: Partitioner, single: Mapping[str, float], several: Mapping[str, tuple[float, ...]], texts: Mapping[str, str]
) -> Candidate:
    """A partitioner with values, defaults where none is given: one for all, or one for each application."""
    settled = settle(own.id, own.parameters, single)
    each = {one.name: tuple(one.check(own.id, value) for value in several[one.name])
            for one in own.parameters if one.name in several}  # fmt: skip
    checked = {one.name: one.check(texts.get(one.name, one.default)) for one in own.texts}
    given = [(one.name, checked[one.name]) for one in own.texts if checked[one.name] != one.default]
    shown = {one.name: each.get(one.name, (settled[one.name],)) for one in own.parameters}
    given += [
        (one.name, OF_EACH.join(f"{value:.12g}" for value in shown[one.name]))
        for one in own.parameters if shown[one.name] != (one.default,)
    ]  # fmt: skip
    return Candidate(own, tuple(given), Options(settled, checked, each))


def fitted(one: Candidate, mix: Mix, pages: int) -> Candidate:
    """A candidate as a sample can stand for it: with fragments of whole pages there, and windows that say something.

    Args:
        one: the candidate.
        mix: the sample; of all pages it leaves the candidate as it is.
        pages: of the whole cache.

    Raises:
        ConfigError: it has a policy that looks at other pages than those of the references, or no fragment is as large
            as a page of the sample.
    """
    rate, most = mix.rate, max(MOST_FRAGMENTS, MOST_EACH * mix.count)
    if rate == 1:
        return one
    if rate * FRAGMENT.high < 1 - ROUNDING:
        raise ConfigError(f"a page of a sample at rate {rate:g} is more than a fragment can be; give a higher --sample")
    for name in one.options.texts.get("policy", AUTO).replace(OF_EACH, OR).split(OR):
        if name != AUTO and parse_policy(name).is_virtual:
            raise ConfigError(f"policy {name}: no sample of the pages stands for its neighbours; give --sample exact")

    def fit(name: str, value: float) -> float:
        if name in one.partitioner.windows:
            return max(value, ceil(min(value, LEAST_WINDOW) / rate))
        if name == FRAGMENT.name:
            own = max(1, round(value * rate), min(ceil(pages * rate / most), int(FRAGMENT.high * rate + ROUNDING)))
            return ceil(own / rate - ROUNDING)
        return value

    return _with_numbers(one, fit)


def shrunk(one: Candidate, rate: float, pages: int) -> Candidate:
    """What runs in a sample of some rate for a candidate, with all that counts pages or references as much smaller.

    Args:
        one: the candidate.
        rate: of the sample.
        pages: of the whole cache.
    """

    def fit(name: str, value: float) -> float:
        if name == QUEUE_PAGES and name in one.partitioner.pages:  # as long as the cache at least
            return max(scaled(int(value) or max(USUAL, pages), rate), scaled(pages, rate))
        return max(1, round(value * rate)) if name in one.partitioner.pages + one.partitioner.windows else value

    parts = one.options.texts.get(PARTS)
    if parts is None:
        return _with_numbers(one, fit)
    own = OF_EACH.join(str(scaled(int(size), rate)) for size in parts.split(OF_EACH))
    return _with_numbers(one, lambda name, value: 1 if name == FRAGMENT.name else value, {PARTS: own})


def with_policy(one: Candidate, name: str) -> Candidate:
    """A candidate with another policy."""
    return _with_numbers(one, lambda _, value: value, {"policy": name})


def _with_numbers(
    one: Candidate, fit: Callable[[str, float], float], texts: Mapping[str, str] | None = None
) -> Candidate:
    """A candidate with other numbers, and other texts."""
    single = {name: fit(name, value) for name, value in one.options.numbers.items()}
    each = {name: tuple(fit(name, value) for value in own) for name, own in one.options.each.items()}
    return _candidate(one.partitioner, single, each, {**one.options.texts, **(texts or {})})


def _values(own: Partitioner, inside: str | None) -> tuple[dict[str, tuple[float, ...]], dict[str, str]]:
    """Numbers, one or one for each application, and texts that are given in brackets."""
    names, texts = [one.name for one in own.parameters], [one.name for one in own.texts]
    found, checked = dict[str, tuple[float, ...]](), dict[str, str]()
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
        known = [number(word.strip()) for word in (value.split(OF_EACH) if name in own.each else [value])]
        if None in known:
            raise ConfigError(f"{own.id}: {name} = {value[:24] or 'nothing'} is no number")
        found[name] = tuple(one for one in known if one is not None)
    return found, checked
