"""A made-up metrics/tiers/<category>.json."""

from collections.abc import Mapping

from cachezoo.questions.tiers.columns import Budget, Chosen, Prices, Saved, Served, TiersMetrics, TiersRow, TiersTrace

MIB = 1 << 20
SHARES = (0.05, 0.1)
# Mean time of a page read at the smaller budget, µs; at the larger one it is a tenth shorter.
TIMES = {"ram": 4000.0, "l2arc": 3000.0, "hca": 2500.0, "zoo": 2000.0}
TEXTS = {"ram": "lirs", "l2arc": "l2arc", "hca": "hcalfu | tb=64K | lru", "zoo": "arc | s3fifo"}
WIDTH = 0.05  # half an interval, of the figure


def served(amat_us: float) -> Served:
    """Figures of where reads were served."""
    return Served(amat_us=amat_us, rhr=0.5, shr=0.3, dhr=0.2)


def chosen(family: str, amat_us: float) -> Chosen:
    """A family's choice: RAM alone, or 3 MiB of RAM with 48 MiB of SSD."""
    alone = family == "ram"
    return Chosen(
        hierarchy=TEXTS[family], ram_bytes=5 * MIB if alone else 3 * MIB, buffer_bytes=65536 if family == "hca" else 0,
        ssd_bytes=0 if alone else 48 * MIB, tried=20, replayed=4, validation=served(amat_us),
    )  # fmt: skip


def row(share: float, family: str, times: Mapping[str, float], width: float = WIDTH) -> TiersRow:
    """A family's choice on a test trace."""
    own, alone = times[family], family == "ram"
    saved = {
        name: Saved(share=1 - own / other, interval=(1 - own / other - width, 1 - own / other + width), alone_share=0.4)
        for name, other in times.items()
        if name != family
    }
    return TiersRow(
        **chosen(family, own).model_dump(include={"hierarchy", "ram_bytes", "buffer_bytes", "ssd_bytes"}),
        **served(own).model_dump(), budget=share, family=family, amat_interval=(0.95 * own, 1.05 * own),
        alone_us=1500.0, p50_us=90.0, p95_us=15_000.0, p99_us=33_250.0, iops=512.5, disk_busy=0.75,
        ssd_writes=0 if alone else 4321, waf=None if alone else 1.5, ssd_years=None if alone else 0.5,
        usd_month=0.0125, usd_per_io=0.001, saved=saved,
    )  # fmt: skip


def metrics(
    category: str = "web", keys: tuple[str, ...] = ("web_test",), times: Mapping[str, float] = TIMES,
    width: float = WIDTH,
) -> TiersMetrics:  # fmt: skip
    """Two budgets; the larger is advised, and any policies are best unless `times` say otherwise."""
    by_share = {share: {name: time * (1 - place / 10) for name, time in times.items()}
                for place, share in enumerate(SHARES)}  # fmt: skip
    rows = [row(share, name, own, width) for share, own in by_share.items() for name in own]
    budgets = [
        Budget(
            share=share, usd=10 * share, choices={name: chosen(name, time) for name, time in own.items()},
            best=min(own, key=lambda name: own[name]),
        )
        for share, own in by_share.items()
    ]  # fmt: skip
    trace = TiersTrace(
        role="test", footprint_bytes=400 * MIB, disk_bytes=800 * MIB, reads=100_000, loop="closed", depth=4, rows=rows
    )
    return TiersMetrics(
        category=category, reason="", device="the models of conf/device",
        prices=Prices(name="retail", dated="2022-12", ram_gb=3.0, ssd_gb=0.15, hdd_gb=0.014),
        footprint_bytes=450 * MIB, budgets=budgets, advised=SHARES[-1], traces=dict.fromkeys(keys, trace),
    )  # fmt: skip


def nothing(category: str = "mail") -> TiersMetrics:
    """A category of which nothing was measured."""
    return metrics(category).model_copy(
        update={"reason": "it has no validation trace that reads", "budgets": [], "advised": None, "traces": {}}
    )
