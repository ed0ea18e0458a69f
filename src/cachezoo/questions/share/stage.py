"""Whether applications should share one cache or split it, and by what.

Captured traces of the page categories run at the same time in front of one cache. Every way to share it chooses its
values on mixes of validation traces (`cachezoo.questions.share.choose`), by the pages that it reads from the disk.
What it chose runs on mixes of test traces, which choose nothing.

Source: Frasca et al., "Virtual I/O Caching", SC 2011, Sec. 5.2, runs mixes of applications under a G-VPA and compares
hit rates with one LRU; rivals as freely tuned, transfers beside hit ratios, and intervals are ours.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from cachezoo.console import progress
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.params import At, Picked
from cachezoo.questions.share.choose import Families, best, choose, families, splits, tried
from cachezoo.questions.share.columns import EQUAL, STATIC, Chosen, ShareMetrics, ShareMix, Size
from cachezoo.questions.share.judge import Plan, counts, judge
from cachezoo.questions.share.mixes import Named, mixes_of
from cachezoo.questions.share.partition import Asked
from cachezoo.questions.share.stage_bench import MixBench, Traces
from cachezoo.settings.data import TraceEntry
from cachezoo.settings.device import Device, Hdd, RealDevice
from cachezoo.settings.share import SharePolicy

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

Choices = dict[float, dict[str, tuple[Asked, Chosen]]]


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    device: Annotated[Device, At("device")]
    categories: Annotated[list[str], At("data.page_categories")]
    traces: Annotated[Mapping[str, TraceEntry], At("data.traces")]
    share: Annotated[SharePolicy, At("policy.share")]


def disk_of(device: Device) -> Hdd:
    """The model of the disk: a real one would have to read every page of every trace, so the built-in one stands in."""
    return BUILT_IN.hdd if isinstance(device, RealDevice) else device.hdd


def evaluate(settings: Settings) -> ShareMetrics:
    """Choose on validation mixes, judge on test mixes.

    Raises:
        ConfigError: a partitioner of policy.share cannot be read.
    """
    share = settings.share
    known, bounds = families(share)
    traces = Traces(settings.traces, disk_of(settings.device), share.order)
    validation = mixes_of(settings.traces, settings.categories, "validation", share.pairs)
    tests = mixes_of(settings.traces, settings.categories, "test", share.pairs)
    if not validation or not tests:
        role = "test" if validation else "validation"
        return _nothing(f"fewer than two page categories have a {role} trace of a program seen in training", share)
    benches = [traces.bench(named) for named in validation]
    made = choices(benches, known, share)
    if not made:
        return _nothing("no cache of policy.share.sizes is large enough for equal parts", share)
    listed = [{name: chosen for name, (_, chosen) in own.items()} for own in made.values()]
    advised = best(listed, list(known))
    own = advised is not None and splits(known[advised][0])
    rival = best(listed, [name for name in known if splits(known[name][0]) != own])
    lines = next((name for name in (advised, rival) if name is not None and splits(known[name][0])), None)
    run = {size: {name: asked for name, (asked, _) in own.items()} for size, own in made.items()}
    rivals = [name for name in dict.fromkeys((EQUAL, STATIC, advised, rival)) if name is not None]
    plan = Plan(run, bounds, rivals, lines)
    mixes = _judged(traces, tests, plan)
    return ShareMetrics(
        reason="",
        validation={named.name: list(named.keys) for named in validation},
        sizes=[Size(share=size, choices=own) for size, own in zip(made, listed, strict=True)],
        advised=advised,
        rival=rival,
        splits=own,
        near=share.near,
        mixes=mixes,
        counts={name: counts(list(mixes.values()), name, share.near) for name in known},
    )


def choices(benches: Sequence[MixBench], known: Families, share: SharePolicy) -> Choices:
    """The value of each family at each size, by size; without those at which equal parts cannot be had."""
    found = []
    with progress("shared caches on validation", len(benches)) as advance:
        for bench in benches:
            found.append(tried(bench, known, share))
            advance(len(found), bench.named.name)
    made = {size: choose(found, known, size) for size in share.sizes}
    return {size: own for size, own in made.items() if EQUAL in own}


def _judged(traces: Traces, tests: Sequence[Named], plan: Plan) -> dict[str, ShareMix]:
    """What was chosen, on each test mix."""
    found: dict[str, ShareMix] = {}
    with progress("shared caches on test mixes", len(tests)) as advance:
        for named in tests:
            found[named.name] = judge(traces.bench(named), plan)
            advance(len(found), named.name)
    return found


def _nothing(reason: str, share: SharePolicy) -> ShareMetrics:
    return ShareMetrics(
        reason=reason, validation={}, sizes=[], advised=None, rival=None, splits=False, near=share.near, mixes={},
        counts={},
    )  # fmt: skip


def evaluate_share(params: "Params") -> ShareMetrics:
    """Stage evaluate_share, see `evaluate`.

    Raises:
        ConfigError: a partitioner of policy.share cannot be read.
    """
    return evaluate(Settings.of(params))
