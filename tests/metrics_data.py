"""Made-up metrics, whole as the stages that evaluate write them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cachezoo.documents import Document, Figures
from cachezoo.io import write_json
from cachezoo.metrics.base import Judged
from cachezoo.metrics.episodes import EpisodeFigures
from cachezoo.metrics.flash import (
    Comparison,
    FlashMetrics,
    FlashRow,
    FlashTrace,
    FurtherModel,
    FurtherTrace,
    Gap,
    ModeFigures,
    PolicyModes,
    Statistics,
    Windows,
    Yearly,
)
from cachezoo.metrics.page import CategoryMetrics, ModelRow, PageModel, PageTrace, PolicyRow
from cachezoo.settings.base import Joining
from cachezoo.zoo.reuse.metrics import ReuseChange, ReuseJoined, ReuseMetrics, ReuseRow, ReuseTrace, Where
from cachezoo.zoo.workload.metrics import (
    Classifier,
    ClassifierRow,
    Mixture,
    Moved,
    Nothing,
    Pooled,
    Rival,
    Strange,
    WindowRow,
    WorkloadMetrics,
    WorkloadTrace,
)

BEST, OPTIMUM = 0.30, 0.50


def write(path: Path, metrics: Document) -> None:
    """Write metrics as a stage does."""
    write_json(path, metrics.model_dump(mode="json"))


def row(policy: str, kind: str, hit_ratio: float, writes: float = 30.5, response: float = 1500.25, **more: Any):
    """A row of the page cache; the best classic hits `BEST` of the pages, the optimum `OPTIMUM`."""
    closed = (hit_ratio - BEST) / (OPTIMUM - BEST)
    values = {
        "policy": policy, "kind": kind, "hits": round(1e4 * hit_ratio), "hit_ratio": hit_ratio,
        "hit_ratio_interval": (hit_ratio - 0.0123, hit_ratio + 0.0123), "request_hit_ratio": hit_ratio,
        "byte_hit_ratio": hit_ratio, "ssd_writes": 7, "ssd_writes_per_100_io": writes, "mean_response_us": response,
        "mean_response_waiting_us": 2 * response,
        "dirty_evictions": 3, "decision_us": 0.0, "gap_closed": closed,
        "gap_closed_interval": (closed - 0.05, closed + 0.05), "gap_points": 100 * (hit_ratio - BEST),
    }  # fmt: skip
    return PolicyRow(**{**values, **more})


def page_trace(role: str, *models: PolicyRow, tags: Mapping[str, Figures] | None = None) -> PageTrace:
    """Rows of a trace whose best classic is lru, fifo being second."""
    rows = [
        row("belady_bypass", "bound", OPTIMUM, 44.5, 900.5),
        row("lru", "classic", BEST, 99.5, 1500.25),
        row("fifo", "classic", 0.28, 98.5, 1600.75),
        row("lrb", "online", 0.29, 97.5, 1550.5),
        *models,
    ]
    return PageTrace(
        role=role, requests=5000, page_accesses=10_005, distinct_pages=100, capacity=10, warmup=5, best_classic="lru",
        optimum="belady_bypass", tuned={}, tags=tags or {}, rows=sorted(rows, key=lambda one: -one.hits),
    )  # fmt: skip


def page_model(
    test: Mapping[str, PolicyRow], promoted: bool = True, reason: str = "it won", figures: Figures | None = None,
    validation: Figures | None = None,
) -> PageModel:  # fmt: skip
    """A model's verdict and its rows; `figures` are those that its system adds to each."""
    rows = {
        key: ModelRow(
            **dict(own), **(figures or {}), gap_to_choice_points=None, choice_gap_closed=None, above_floor=True
        )
        for key, own in test.items()
    }
    return PageModel(trained=True, promoted=promoted, reason=reason, validation=validation or {}, test=rows)


def page_metrics(
    traces: Mapping[str, PageTrace], choice: str | None = "fifo", models: Mapping[str, PageModel] | None = None,
    category: str = "web",
) -> CategoryMetrics:  # fmt: skip
    """metrics/<category>.json."""
    return CategoryMetrics(
        category=category, response_times="analytic", capacity_fraction=0.1, validation_choice=choice, traces=traces,
        models=models or {},
    )  # fmt: skip


def flash_row(peak: float, mean: float, prefetch: str = "none", accuracy: float | None = None, **more: Any) -> FlashRow:
    """A row of the flash cache."""
    load = {"peak": peak, "mean": mean, "p95": mean, "median": mean}
    values = {
        "read_dt": Statistics(**load), "read_dt_mean_interval": (0.9 * mean, 1.1 * mean),
        "read_dt_constants": Statistics(**load),
        "write_dt": Statistics(**load), "total_dt": Statistics(**load),
        "io_hit_ratio": 0.11, "byte_hit_ratio": 0.07, "segment_writes": 5,
        "writes_of_accept_all": 0.25, "prefetched_segments": 2, "prefetch_accuracy": accuracy, "dwpd": None,
        "read_dt_s": 9.0, "write_dt_s": 1.0, "total_dt_s": 10.0, "transfer_share": 0.25, "utilisation": None,
        "evictions": 4, "mean_eviction_age": 12.5, "prefetch": prefetch, "knob": 0.5, "reached": True,
        "year": Yearly(disks=3, disks_usd=198.0, flash_usd=100 * mean, endurance="mixed"),
    }  # fmt: skip
    return FlashRow(**{**values, **more})


def gap(saved: float = 0.05, peak_saved: float = 0.02) -> Gap:
    """The model saves so much of a rival's mean, and of its peak."""
    return Gap(
        no_more_writes=True, peak_gap_closed=None,
        peak_dt_saved=peak_saved, peak_opt_dt_saved=0.1, mean_gap_closed=0.4, mean_gap_closed_interval=(0.3, 0.5),
        mean_dt_saved=saved, mean_opt_dt_saved=0.2, mean_dt_saved_interval=(saved - 0.01, saved + 0.01),
    )  # fmt: skip


def comparison(rows: Mapping[str, FlashRow], found: Gap) -> Comparison:
    """The same against RejectX, the best policy here; against RejectX without prefetch the model saves 9 % more."""
    plain = gap(found.mean_dt_saved + 0.09, found.peak_dt_saved)
    return Comparison(budget_writes=5.0, rows=rows, best_policy="rejectx", best=found, gap=found, plain=plain)


def episode_figures() -> EpisodeFigures:
    """Of a test trace."""
    counts = {name: 7 for name in EpisodeFigures.model_fields if name not in ("age_found", "rounds", "budget_reached")}
    return EpisodeFigures(**counts, age_found="refined", rounds=[(7, 7.5)], budget_reached=True)


def flash_trace(saved: float = 0.05, peak_saved: float = 0.02) -> FlashTrace:
    """A test trace, the model with prefetch `next(4)`."""
    ours = flash_row(3.21 - 3.21 * peak_saved, 1.23 - 1.23 * saved, "next(4)", 0.61)
    rows = {"baleen": ours, "rejectx": flash_row(3.21, 1.23), "opt": flash_row(2.5, 1.0)}
    deployed = comparison(rows, gap(saved, peak_saved))
    alone = {**rows, "baleen": flash_row(3.11, 1.2)}
    accept_all = flash_row(4.5, 1.5, "all_on_miss", knob=None, reached=None)
    return FlashTrace(
        warmup_request=100, windows=Windows(count=20, seconds=0.5, reads=12.5, enough_reads=False),
        figures=episode_figures(), opt_eviction_ages={"none": 7, "opt_range": 8}, accept_all=accept_all,
        accept_all_no_prefetch=flash_row(4.75, 1.6, knob=None, reached=None), deployed=deployed,
        admission_alone=comparison(alone, gap(0.03, peak_saved)), at_budget=deployed,
        at_rejectx_rate=None,
    )  # fmt: skip


def flash_metrics(
    model_id: str, saved: float = 0.05, peak_saved: float = 0.02, won: bool = True,
    traces: Mapping[str, FlashTrace] | None = None,
) -> FlashMetrics:  # fmt: skip
    """metrics/flash/<category>.json: the model saves so much of RejectX's mean, and of its peak."""
    found = ModeFigures(mean_dt=0.01, writes=0.25, knob=3.0, reached=True)
    return FlashMetrics(
        category=model_id.split(".")[1], model_id=model_id, trained=True, beats_baseline=won,
        reason="as it was judged", transfer_note=None, modes_chosen_on=["web_validation"],
        best_without_model="rejectx", best_without_prefetch="coin_flip", window=3.0,
        mode="next(4)",
        modes={"rejectx": PolicyModes(mode="all_on_partial", figures={"none": found, "all_on_partial": found})},
        traces={"web_test": flash_trace(saved, peak_saved)} if traces is None else traces,
    )  # fmt: skip


def beside_model(model_id: str, mean: float, won: bool = True) -> FurtherModel:
    """A model beside the full one: its mean on the one test trace, beside RejectX's of 2."""
    rows = {"baleen": flash_row(3.2, mean, "next(8)"), "rejectx": flash_row(3.4, 2.0)}
    own = FurtherTrace(deployed=comparison(rows, gap(1 - mean / 2)), at_budget=flash_row(3.1, mean, "next(8)"))
    return FurtherModel(
        model_id=model_id, trained=True, beats_baseline=won, reason="as it was judged", mode="next(8)",
        traces={"web_test": own},
    )  # fmt: skip


def workload_metrics(model_id: str, low: float = 0.02, trained: bool = True) -> WorkloadMetrics:
    """metrics/workload.json: the classifier names 90 % of the windows of one test trace right, the tree 60 %."""
    classes = ["database", "web"]
    judged = {"promoted": trained and low > 0, "reason": "as judged", "validation": {"gap_closed": 0.25}}
    if not trained:
        entry = Classifier(trained=False, **judged, paired_difference_interval=None, test=Nothing())
        return WorkloadMetrics(
            classes=classes, traces={}, moved=[], strange={}, mixtures=[], models={model_id: entry}
        )  # fmt: skip
    ours = {"policy": model_id, "kind": "model", "windows": 20, "accuracy": 0.9, "accuracy_interval": (0.8, 1.0)}
    tree = WindowRow(policy="tree4", kind="baseline", windows=20, accuracy=0.6, accuracy_interval=None)
    voted = ClassifierRow(
        **ours, unknown=0.1, votes=2, vote_accuracy=1.0, unknown_votes=0.0, in_force_accuracy=None, switches=0
    )
    trace = WorkloadTrace(category="web", role="test", unseen=False, requests=2000, rows=[voted, tree])
    moved = Moved(
        move="+ 1 GiB", trace="web_test", windows=20, accuracy=0.9, accuracy_interval=(0.8, 1.0), same=1.0,
        equal=1.0,
    )  # fmt: skip
    strange = Strange(
        category="blob", role="test", requests=1000, windows=10, unknown=0.7, unknown_interval=None, votes=1,
        unknown_votes=1.0, named=[1, 2],
    )  # fmt: skip
    mixture = Mixture(
        major="web", minor="database", share=0.6, share_found=0.59, windows=20, ties=1, enough_windows=False,
        majority_share=0.7, unknown=0.2, unknown_votes=0.5, rows=[WindowRow(**ours), tree],
    )  # fmt: skip
    rival = Rival(
        policy="tree4", accuracy=0.6, balanced_accuracy=0.55, balanced_accuracy_interval=(0.5, 0.6),
        confusion=[[0, 0], [8, 12]], difference_interval=(0.1, 0.5),
    )  # fmt: skip
    pooled = Pooled(
        windows=20, accuracy=0.9, balanced_accuracy=0.85, balanced_accuracy_interval=(0.8, 0.9),
        confusion=[[0, 0], [2, 18]], unknown=0.1, votes=2, vote_accuracy=1.0, unknown_votes=0.0,
        judged_against="tree4", rival_balanced_accuracy=0.55, difference_interval=(0.1, 0.5), rivals=[rival],
    )  # fmt: skip
    entry = Classifier(trained=True, **judged, paired_difference_interval=(low, 0.05), test=pooled)
    return WorkloadMetrics(
        classes=classes, traces={"web_test": trace}, moved=[moved], strange={"blob_test": strange},
        mixtures=[mixture], models={model_id: entry},
    )  # fmt: skip


FRACTIONS = (0.05, 0.1, 0.2)


def reuse_row(model_id: str, fraction: float, lead: float, gap_wide: float = 0.2, seeds: int = 5) -> ReuseRow:
    """A row whose mean lead over the rival is so much of hit ratio; the best classic in hindsight hits `BEST`."""
    mean = BEST + lead
    offsets = [0.002 * (k - (seeds - 1) / 2) for k in range(seeds)]
    closed = lead / gap_wide if gap_wide >= 0.02 else None
    return ReuseRow(
        policy=model_id, capacity_fraction=fraction, capacity=round(1000 * fraction), capacities=400.0,
        hit_ratio=mean + offsets[0], seed_hit_ratios=[mean + offset for offset in offsets],
        quarters=[mean] * 4, rivals=216, rival="arc", rival_hit_ratio=BEST, rival_quarters=[BEST] * 4,
        lead_points=100 * lead, lead_interval=(100 * lead - 0.5, 100 * lead + 0.5), above_floor=lead > -0.01,
        hit_ratios={"lru": BEST - 0.1, "arc": BEST, "lrb": BEST - 0.05}, best_classic="arc",
        best_classic_hit_ratio=BEST, best_way_hit_ratio=BEST + 0.01, optimum_hit_ratio=BEST + gap_wide,
        gap_closed=closed, gap_points=100 * lead, gap_closed_of_all=closed,
        ssd_writes=900, rival_ssd_writes=1000, forest_led=0.75,
    )  # fmt: skip


def reuse_trace(model_id: str, where: Where, lead: float, program: str = "nginx", **more: Any) -> ReuseTrace:
    """A test stream at three capacities: half of the lead at the smallest, twice at the largest."""
    rows = [reuse_row(model_id, fraction, lead * fraction / FRACTIONS[1], **more) for fraction in FRACTIONS]
    return ReuseTrace(
        category="web", program=program, setup=None if where == "home" else "twice the clients", where=where,
        role="test", requests=5000, page_accesses=10_005, rows=rows,
    )  # fmt: skip


def reuse_joined(model_id: str, kind: Joining, leads: Sequence[float], lru: float = BEST - 0.1) -> ReuseJoined:
    """A joined stream whose changes have these leads over the rival; LRU hits so much after each."""
    changes = [
        ReuseChange(
            capacities=110.0, seed_hit_ratios=[BEST + lead - 0.001, BEST + lead + 0.001], rival="arc",
            rival_hit_ratio=BEST, hit_ratios={"lru": lru, "arc": BEST}, best_way_hit_ratio=BEST + 0.01,
            early_hit_ratio=BEST + lead - 0.02, early_rival_hit_ratio=BEST - 0.03, early_lru_hit_ratio=lru - 0.04,
            above_rival=lead > -0.02, above_lru=BEST + lead >= lru - 0.01,
        )
        for lead in leads
    ]  # fmt: skip
    return ReuseJoined(
        policy=model_id, kind=kind, first="web_test", second="mail_test", requests=5000, page_accesses=10_005,
        capacity_fraction=FRACTIONS[1], capacity=100, shared_pages=0.25, rivals=216, changes=changes,
    )  # fmt: skip


def reuse_metrics(model_id: str, promoted: bool = True, program_lead: float = -0.02) -> ReuseMetrics:
    """metrics/reuse.json: leads at home, a trace without a gap too; less so on other set-ups; loses on programs."""
    traces = {
        "web_test": reuse_trace(model_id, "home", 0.05),
        "mail_test": reuse_trace(model_id, "home", 0.03, "postmark"),
        "narrow_test": reuse_trace(model_id, "home", 0.001, "dbench", gap_wide=0.01),
        "web_wide": reuse_trace(model_id, "set-up", 0.02),
        "web_slow": reuse_trace(model_id, "set-up", -0.004),
        "lighttpd_test": reuse_trace(model_id, "program", program_lead, "lighttpd"),
        "mariadb_test": reuse_trace(model_id, "program", 2 * program_lead, "mariadb"),
        "redis_test": reuse_trace(model_id, "program", 0.01, "redis"),
    }
    reason = "it won" if promoted else "no better than the best classic"
    judged = Judged(trained=True, promoted=promoted, reason=reason, validation={"hit_ratio": 0.4})
    return ReuseMetrics(capacity_fraction=FRACTIONS[1], traces=traces, models={model_id: judged})
