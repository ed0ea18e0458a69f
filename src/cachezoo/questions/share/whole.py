"""One cache that nobody splits: any policy of the zoo over the references of all."""

import numpy as np

from cachezoo.arrays import I32, Bool
from cachezoo.errors import ConfigError
from cachezoo.kernels.outcome import ADMITTED, ADMITTED_FREE, HIT
from cachezoo.kernels.residency import residents
from cachezoo.policies.registry import policy
from cachezoo.policies.spec import parse
from cachezoo.policies.stream import Stream
from cachezoo.questions.share.partition import FRAGMENT, NOTHING, Options, Partitioner, Shared, Task, Text

LOOKS = 200  # at which it is counted what each application has


def _policy(text: str) -> str:
    """The canonical text of a policy that one cache can have.

    Raises:
        ConfigError: none, a bound, or one that prefetches, for which page references are too little.
    """
    spec = parse(text)
    if spec.prefetch.id != "none":
        raise ConfigError(f"policy={text} prefetches, which takes requests: leave +{spec.prefetch} out")
    if spec.is_bound:
        raise ConfigError(f"policy={text} is a bound, which no cache can be; hindsight is one for partitions")
    return str(spec)


def _shared(task: Task, options: Options) -> Shared:
    mix, fragment = task.bench.mix, options.whole("fragment")
    pages = task.total(fragment) * fragment
    run = policy(options.texts["policy"]).simulate(Stream.of_pages(mix.page_ids, mix.n_pages), pages)
    hit = run.outcome == HIT
    if not run.says_who_left:
        return _untold(hit, run.moved, mix.count)
    begins = np.unique(np.linspace(0, len(mix), LOOKS, endpoint=False).astype(np.int64))
    splits = np.zeros((len(begins), mix.count), np.int64)
    owner = np.repeat(np.arange(mix.count, dtype=np.int32), [one.n_pages for one in mix.applications])
    entered = (run.outcome == ADMITTED) | (run.outcome == ADMITTED_FREE)
    residents(mix.app, entered, run.victim, owner, begins, splits)
    return Shared.of_hits(hit, begins, splits)


def _untold(hit: Bool, moved: I32 | None, count: int) -> Shared:
    """What a virtual I/O cache did: it says what was read beside misses, but not who left, nor for what it was read."""
    nobody = np.zeros((0, count), np.int64)
    every = np.zeros(len(hit), np.int32) if moved is None else moved
    return Shared(hit, every, np.zeros(0, np.int64), nobody, nobody)


SHARED = Partitioner(
    "shared", "one cache for all, which nobody splits", NOTHING, _shared, (FRAGMENT,),
    (Text("policy", "lru", _policy, "any cache of the zoo, without prefetch"),),
)  # fmt: skip
