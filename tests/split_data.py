"""A made-up metrics/share/mixes.json."""

from collections.abc import Mapping

from cachezoo.questions.share.columns import (
    App,
    AppRow,
    Chosen,
    Count,
    Read,
    Saved,
    ShareMetrics,
    ShareMix,
    ShareRow,
    Size,
    Timeline,
)

SIZES = (0.05, 0.1)
# Pages read for each access at the smaller size; at the larger one it is a tenth less.
READ = {"equal": 0.5, "shared_lru": 0.48, "shared": 0.45, "gvpa": 0.55, "gvpa_cost": 0.4, "static": 0.39}
HITS = {"equal": 0.5, "shared_lru": 0.52, "shared": 0.55, "gvpa": 0.7, "gvpa_cost": 0.62, "static": 0.61}
BOUNDS = ("static",)
APPS = {"web_test": 1.25, "mail_test": 0.9}  # slowdowns
WIDTH = 0.03  # half an interval, of the figure


def is_split(family: str) -> bool:
    """Whether each application has a part of its own."""
    return not family.startswith("shared")


def row(size: float, family: str, read: Mapping[str, float], width: float = WIDTH) -> ShareRow:
    """A family on a mix at a size."""
    own, hits = read[family], HITS[family]
    saved = {
        name: Saved(
            transfers=1 - own / other, interval=(1 - own / other - width, 1 - own / other + width),
            hits=hits - HITS[name], hits_interval=(hits - HITS[name] - width, hits - HITS[name] + width),
        )
        for name, other in read.items()
        if name != family
    }  # fmt: skip
    apps = {key: AppRow(hit_ratio=hits, transfers=own, slowdown=slow, share=0.5) for key, slow in APPS.items()}
    return ShareRow(
        hit_ratio=hits, transfers=own, fairness=0.93, size=size, pages=round(12_800 * size), family=family,
        partitioner=f"{family}(q=500)", splits=is_split(family), bound=family in BOUNDS,
        hit_interval=(hits - 0.01, hits + 0.01), transfers_interval=(own - 0.02, own + 0.02), moved=own + hits - 1,
        slowest=1.25, apps=apps, saved=saved,
    )  # fmt: skip


def mix(kind: str, read: Mapping[str, float] = READ, width: float = WIDTH) -> ShareMix:
    """Two applications at two sizes."""
    rows = [
        row(size, family, {name: one * (1 - place / 10) for name, one in read.items()}, width)
        for place, size in enumerate(SIZES)
        for family in read
    ]
    lines = [
        Timeline(size=size, family="gvpa_cost", shares={"web_test": [0.5, 0.7, 0.8], "mail_test": [0.5, 0.3, 0.2]})
        for size in SIZES
    ]
    apps = {key: App(category=key.split("_")[0], references=50_000, pages=6_400) for key in APPS}
    return ShareMix(
        role="test", kind=kind, order="clock", references=100_000, counted=80_000, pages=12_800, apps=apps, rows=rows,
        timelines=lines,
    )  # fmt: skip


def metrics(
    read: Mapping[str, float] = READ, advised: str = "gvpa_cost", rival: str | None = "shared", width: float = WIDTH
) -> ShareMetrics:
    """A mix of all and a pair; G-VPA with costs reads least unless `read` says otherwise."""
    families = [family for family in read if family not in BOUNDS]
    choices = {
        family: Chosen(
            partitioner=f"{family}(q=500)", tried=6,
            validation=Read(hit_ratio=HITS[family], transfers=read[family]),
        )
        for family in families
    }  # fmt: skip
    counts = {
        family: Count(cases=4, near_static=int(family == advised) * 4, below_equal=3, above_equal=1,
                      surely_above_equal=0, least=int(family == advised) * 4)
        for family in families
    }  # fmt: skip
    return ShareMetrics(
        reason="", validation={"all": ["web_validation", "mail_validation"]},
        sizes=[Size(share=size, choices=choices) for size in SIZES], advised=advised, rival=rival,
        splits=is_split(advised), near=0.05,
        mixes={"all": mix("all", read, width), "mail+web": mix("pair", read, width)}, counts=counts,
    )  # fmt: skip


def nothing() -> ShareMetrics:
    """Nothing was measured."""
    empty = {"sizes": [], "advised": None, "rival": None, "splits": False, "mixes": {}, "counts": {}, "validation": {}}
    return metrics().model_copy(update={"reason": "there is one page category with a validation trace", **empty})
