"""What was judged on validation, on the test cycle: nothing is chosen there again.

The drive replays the train cycle, the validation cycle and the test cycle, which is counted. Dictionaries are
those of the train cycle, but for `online`: the chosen one, learned anew from the cycle just past. Further
placements are equal partitions of as many streams as the drive has and as the chosen dictionary uses, and dictionaries
that learned on the test cycle itself, as the paper may have done: `hindsight`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.flash_drive.names import EQUAL, LEGACY, LIFETIME, ONLINE
from cachezoo.flash_drive.placements import Placement, rule
from cachezoo.flash_drive.writes import several_volumes, volume_starts
from cachezoo.labels.streams import read_stream_labels
from cachezoo.models.trained import TrainedModel, read_fitted, read_trained
from cachezoo.traces.table import Trace
from cachezoo.zoo.streams.bench import Bench, online
from cachezoo.zoo.streams.deaths import Lifetimes, read_lifetimes
from cachezoo.zoo.streams.dictionary import FILE
from cachezoo.zoo.streams.fit import CONTEXT, model_id, read_cycle
from cachezoo.zoo.streams.judge import Selection, Settings, read_selection
from cachezoo.zoo.streams.learn import Variant, learn, read_dictionary, read_variants
from cachezoo.zoo.streams.metrics import StreamsMetrics, StreamsModel, StreamsRow, StreamsTrace
from cachezoo.zoo.streams.settings import Weights

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

SERVED = "validation", "test"


@dataclass(frozen=True)
class Further:
    """What serves the test cycle apart from the dictionaries that were judged."""

    hindsight: Sequence[Variant] = ()  # dictionaries of the test cycle itself
    anew: Variant | None = None  # the chosen dictionary, learned on the validation cycle
    lifetimes: Lifetimes | None = None


def placements_of(
    bench: Bench, judged: Selection, variants: Sequence[Variant], others: Further, test: int = -1
) -> list[Placement]:
    """Every placement that was judged, with the arguments that validation chose, and further ones.

    Args:
        bench: the drive.
        judged: what validation chose.
        variants: dictionaries of the fit.
        others: what else serves.
        test: the first cycle of test.
    """
    plain = [rule(name, row.parameters, bench.streams) for name, row in judged.least.items()]
    used = next(row.streams for row in judged.rows if row.policy == judged.chosen)
    named = [
        replace(rule(EQUAL, {"streams": count}, bench.streams), policy=f"{EQUAL}.{count}")
        for count in sorted({bench.streams, used})
    ]
    learned = [bench.learned(variant) for variant in variants]
    known = [Placement(f"hindsight.{one.name}", "hindsight", bench.learned(one).place) for one in others.hindsight]
    if others.anew is not None:
        first = next(variant for variant in variants if variant.name == judged.chosen)
        known.append(online([(bench.since, first), (bench.writes.cycle(test).start, others.anew)]))
    if others.lifetimes is not None:
        known += [one for tried in judged.lifetime for one in bench.forests(others.lifetimes, tried.parameters)]
    return [*plain, *named, *learned, *known]


def rows_of(
    bench: Bench,
    placements: Sequence[Placement],
    judged: Selection,
    others: Sequence[Bench],
    victims: Sequence[Bench],
) -> list[StreamsRow]:
    """A row a placement, the drive without streams first, each also on drives of other victims.

    The main ones are run on drives of other sizes, too, and it is said how far chance moves them.
    """
    main = {*judged.least, judged.chosen, judged.automatic, LIFETIME, ONLINE}
    before = {row.policy: row.waf for row in judged.rows} | {name: row.waf for name, row in judged.least.items()}
    for tried in judged.lifetime:
        before[LIFETIME] = tried.waf
    # On validation the train cycle's dictionary is the one of the cycle just past.
    before[ONLINE] = before[judged.chosen]
    plain = next(one for one in placements if one.policy == LEGACY)
    legacy = bench.run(plain)
    rows = []
    for placement in placements:
        run = bench.run(placement)
        by_victim = {other.drive.victim: other.run(placement) for other in victims}
        lead = {other.drive.victim: by_victim[other.drive.victim].over(other.run(plain)) for other in victims}
        elsewhere = [(other, other.run(placement).waf) for other in others if placement.policy in main]
        rows.append(
            StreamsRow(
                **dict(bench.tried(placement)),
                waf_interval=run.waf_mean.ends,
                of_legacy=run.waf / legacy.waf,
                of_legacy_interval=run.over(legacy).ends,
                validation_waf=before.get(placement.policy),
                copied_pages=int(run.copied.sum()),
                erases=int(run.erased.sum()),
                erases_most=int(run.erases.max()),
                noise=bench.noise(placement, plain) if placement.policy in main else None,
                victim_waf={victim: there.waf for victim, there in by_victim.items()},
                victim_of_legacy={victim: own.value for victim, own in lead.items()},
                victim_of_legacy_interval={victim: own.ends for victim, own in lead.items()},
                over_provisioning_waf={f"{other.drive.over_provisioning:g}": waf for other, waf in elsewhere},
            )
        )
    return rows


def evaluate(
    model: TrainedModel,
    judged: Selection,
    variants: Sequence[Variant],
    others: Further,
    cycles: Mapping[str, Sequence[Trace]],
    settings: Settings,
) -> StreamsTrace:
    """The figures of the test cycle; `cycles` are traces by role that write anything, one of test at least."""
    streams, served = int(model.arch["streams"]), [*cycles["validation"], *cycles["test"]]
    sizes = [settings.drive.over_provisioning, *settings.judge.over_provisioning]
    drives = [settings.drive.model_copy(update={"over_provisioning": size}) for size in sizes]
    drives += [settings.drive.model_copy(update={"victim": victim}) for victim in settings.judge.victims]
    bench, *rest = [Bench.of(cycles["train"], served, drive, streams) for drive in drives]
    further, victims = rest[: len(sizes) - 1], rest[len(sizes) - 1 :]
    placements = placements_of(bench, judged, variants, others, len(cycles["train"]) + len(cycles["validation"]))
    return StreamsTrace(
        role="test",
        host_pages=int(bench.run(rule(LEGACY, {}, streams)).host.sum()),
        footprint_pages=bench.writes.footprint,
        over_provisioning=settings.drive.over_provisioning,
        rows=rows_of(bench, placements, judged, further, victims),
    )


def evaluate_category(category: str, settings: Settings) -> StreamsMetrics:
    """What stage evaluate_streams writes.

    Raises:
        CachezooError: a model or a trace is missing or damaged.
    """
    name = model_id(category, settings.arch)
    folder = paths.trained(name)
    model, judged = read_trained(folder, "streams"), read_selection(folder)
    cycles = {role: read_cycle(settings.cycles.get(role, [])) for role in ("train", "validation", "test")}
    reason, traces = judged.reason or _why_not(cycles), {}
    if not reason:
        fitted = read_fitted(paths.fitted(name), "streams")
        variants = read_variants(paths.fitted(name), fitted.learned["variants"])
        wanted = sorted({judged.chosen, judged.automatic} - {LEGACY})
        labels = {
            role: read_stream_labels(paths.labels("streams", category, list(cycles[role])[-1])) for role in SERVED
        }
        own = (
            int(fitted.arch["streams"]), str(fitted.learned["window"]), fitted.seeds[CONTEXT],
            float(fitted.learned["sid_bytes_per_tb"]), Weights.model_validate(fitted.learned["weights"]),
        )  # fmt: skip
        others = Further(
            hindsight=learn(labels["test"], wanted, *own),
            anew=learn(labels["validation"], [judged.chosen], *own)[0],
            lifetimes=read_lifetimes(paths.fitted(name)),
        )
        given = {role: list(found.values()) for role, found in cycles.items()}
        key = list(cycles["test"])[-1]
        traces[key] = evaluate(model, judged, variants, others, given, settings)
    verdict = StreamsModel(
        trained=model.trained,
        promoted=model.promoted,
        reason=model.reason,
        validation=model.validation,
        variant=judged.shipped,
        learned=judged.learned,
        automatic=judged.automatic,
        sid_bytes=len(read_dictionary(folder / FILE).to_bytes()),
    )
    return StreamsMetrics(category=category, reason=reason, traces=traces, models={name: verdict})


def _why_not(cycles: Mapping[str, Mapping[str, Trace]]) -> str:
    """Why there is no test cycle to judge by; empty where there is one."""
    if not cycles["test"]:
        return "no test trace of the category writes anything"
    volumes = volume_starts([trace for own in cycles.values() for trace in own.values()])
    return several_volumes(volumes, "train, validation and test")


def evaluate_streams(params: "Params", category: str) -> StreamsMetrics:
    """Stage evaluate_streams@category; what it writes, see `evaluate_category`."""
    return evaluate_category(category, Settings.of(params, category))
