"""Drives of FIOS's figure, made up."""

from cachezoo.zoo.streams.cluster import COMBINATIONS
from lab.fios import document as fios


def row(policy, of_legacy, kind="fios", validation=None, hindsight=None, waf=2.0, window=""):
    return fios.DriveRow(
        policy=policy, kind=kind, window=window, asked=16, streams=4, waf=waf * of_legacy, of_legacy=of_legacy,
        of_legacy_interval=(of_legacy - 0.01, of_legacy + 0.01), seeds_sd=None,
        validation_waf=validation or waf * of_legacy, hindsight_of_legacy=hindsight,
    )  # fmt: skip


def case(key="ledger", automatic="", waf=2.0, sid=1.0, corpus=False, **left):
    """A drive on which each combination leaves 90 % but those given, equal partition 80 %, the oracle 50 %."""
    rows = [row("legacy", 1.0, "legacy", waf=waf), row("equal", left.pop("equal", 0.8), "baseline", waf=waf)]
    rows += [
        row("oracle", left.pop("oracle", 0.5), "bound", waf=waf),
        row("heat", left.pop("heat", 0.7), "ours", waf=waf),
    ]
    rows += [row(name, left.get(name, 0.9), hindsight=left.get(name, 0.9) - 0.1, waf=waf) for name in COMBINATIONS]
    return fios.DriveCase(
        key=key, corpus=corpus, reason="", theta={}, high="00000", automatic=automatic, pages_per_block=64,
        host_pages=300, footprint_pages=100, sid_mb_per_tb=sid, rows=rows,
    )  # fmt: skip


def unmeasured():
    return case("web").model_copy(update={"reason": "too small", "rows": [], "sid_mb_per_tb": None})


def figure(*cases):
    return fios.figure_of(cases, 1.05, 0.11)
