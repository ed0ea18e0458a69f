"""What was judged on validation, on the test cycle: nothing is chosen there again.

The drive lives through the train cycle, the validation cycle and the test cycle, which is counted. Dictionaries are
those of the train cycle, but for `online`: the chosen one, learned anew from the cycle just past. Beside what was
judged stand equal partitions of as many streams as the drive has and as the chosen dictionary uses, and dictionaries
that learned on the test cycle itself, as the paper may have done: `hindsight`.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.labels.streams import read_stream_labels
from cachezoo.models.trained import TrainedModel, read_fitted, read_trained
from cachezoo.traces.table import Trace
from cachezoo.wear.names import EQUAL, LEGACY, LIFETIME, ONLINE
from cachezoo.wear.writes import several_volumes, volume_starts
from cachezoo.zoo.streams.bench import Bench, Candidate, untaught
from cachezoo.zoo.streams.beside import on_test, online
from cachezoo.zoo.streams.compare import of_legacy, waf
from cachezoo.zoo.streams.cycles import read_cycle
from cachezoo.zoo.streams.deaths import Lifetimes, read_lifetimes
from cachezoo.zoo.streams.dictionary import FILE
from cachezoo.zoo.streams.fit import CONTEXT, model_id
from cachezoo.zoo.streams.judge import Judged, Settings, read_judged
from cachezoo.zoo.streams.learn import learn
from cachezoo.zoo.streams.metrics import StreamsMetrics, StreamsModel, StreamsRow, StreamsTrace
from cachezoo.zoo.streams.variants import Known, Variant, read_dictionary, read_variants

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

SERVED = "validation", "test"


@dataclass(frozen=True)
class Asked:
    """What is run on the test cycle.

    Attributes:
        candidates: all placements.
        main: those of them that are also run on drives of other sizes, by policy.
    """

    candidates: Sequence[Candidate]
    main: frozenset[str]


@dataclass(frozen=True)
class Beside:
    """What is served on the test cycle beside the dictionaries that were judged.

    Attributes:
        hindsight: dictionaries of the test cycle itself.
        anew: the chosen dictionary, learned on the validation cycle; None serves none.
        lifetimes: the forests; None where there are none.
    """

    hindsight: Sequence[Known] = ()
    anew: Known | None = None
    lifetimes: Lifetimes | None = None


def asked(bench: Bench, judged: Judged, variants: Sequence[Variant], others: Beside, test: int = -1) -> Asked:
    """Every placement that was judged, with the arguments that validation chose, and those beside them.

    Args:
        bench: the drive.
        judged: what validation chose.
        variants: what the fit learned.
        others: what is served beside them.
        test: the first cycle of test.
    """
    plain = [untaught(name, row.parameters, bench.streams) for name, row in judged.least.items()]
    used = next(row.streams for row in judged.rows if row.policy == judged.chosen)
    parts = sorted({bench.streams, used})
    beside = [untaught(EQUAL, {"streams": count}, bench.streams) for count in parts]
    named = [
        Candidate(f"{EQUAL}.{count}", one.kind, one.place, one.parameters)
        for count, one in zip(parts, beside, strict=True)
    ]
    learned = [bench.learned(variant) for variant in variants]
    known = [Candidate(f"hindsight.{one.name}", "hindsight", bench.learned(one).place) for one in others.hindsight]
    if others.anew is not None:
        first = next(variant for variant in variants if variant.name == judged.chosen)
        assert isinstance(first, Known)  # judged.chosen is one
        known.append(online([(bench.since, first), (bench.writes.cycle(test).start, others.anew)]))
    if others.lifetimes is not None:
        known += [one for tried in judged.lifetime for one in on_test(bench, others.lifetimes, tried)]
    main = frozenset({*judged.least, judged.chosen, judged.automatic, LIFETIME, ONLINE})
    return Asked([*plain, *named, *learned, *known], main)


def rows_of(bench: Bench, found: Asked, judged: Judged, others: Sequence[Bench]) -> list[StreamsRow]:
    """A row a placement, the drive without streams first."""
    before = {row.policy: row.waf for row in judged.rows} | {name: row.waf for name, row in judged.least.items()}
    for tried in judged.lifetime:
        before[LIFETIME] = tried.waf
    # On validation the train cycle's dictionary is the one of the cycle just past.
    before[ONLINE] = before[judged.chosen]
    legacy = next(bench.run(one) for one in found.candidates if one.policy == LEGACY)
    rows = []
    for candidate in found.candidates:
        run = bench.run(candidate)
        elsewhere = {
            f"{other.drive.over_provisioning:g}": other.run(candidate).waf
            for other in others
            if candidate.policy in found.main
        }
        rows.append(
            StreamsRow(
                **dict(candidate.tried(run)),
                waf_interval=waf(run).ends,
                of_legacy=run.waf / legacy.waf,
                of_legacy_interval=of_legacy(run, legacy).ends,
                validation_waf=before.get(candidate.policy),
                copied_pages=int(run.copied.sum()),
                erases=int(run.erased.sum()),
                erases_most=int(run.erases.max()),
                over_provisioning_waf=elsewhere,
            )
        )
    return rows


def evaluate(
    model: TrainedModel,
    judged: Judged,
    variants: Sequence[Variant],
    others: Beside,
    cycles: Mapping[str, Sequence[Trace]],
    settings: Settings,
) -> StreamsTrace:
    """The figures of the test cycle.

    Args:
        model: the trained model.
        judged: what validation chose.
        variants: what the fit learned.
        others: what is served beside them.
        cycles: traces by role, each that writes anything; one of test at least.
        settings: of the drive and the judge.
    """
    streams, served = int(model.arch["streams"]), [*cycles["validation"], *cycles["test"]]
    sizes = [settings.drive.over_provisioning, *settings.judge.over_provisioning]
    drives = [settings.drive.model_copy(update={"over_provisioning": size}) for size in sizes]
    bench, *further = [Bench.of(cycles["train"], served, drive, streams) for drive in drives]
    found = asked(bench, judged, variants, others, len(cycles["train"]) + len(cycles["validation"]))
    rows = rows_of(bench, found, judged, further)
    return StreamsTrace(
        role="test",
        host_pages=int(bench.run(untaught(LEGACY, {}, streams)).host.sum()),
        footprint_pages=bench.writes.footprint,
        over_provisioning=settings.drive.over_provisioning,
        rows=rows,
    )


def evaluate_category(category: str, settings: Settings) -> StreamsMetrics:
    """What stage evaluate_streams writes.

    Raises:
        CachezooError: a model or a trace is missing or damaged.
    """
    name = model_id(category, settings.arch)
    folder = paths.trained(name)
    model, judged = read_trained(folder, "streams"), read_judged(folder)
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
            float(fitted.learned["sid_bytes_per_tb"]),
        )  # fmt: skip
        others = Beside(
            hindsight=learn(labels["test"], wanted, *own),
            anew=learn(labels["validation"], [judged.chosen], *own)[0],
            lifetimes=read_lifetimes(paths.fitted(name)),
        )
        given = {role: list(found.values()) for role, found in cycles.items()}
        key = list(cycles["test"])[-1]
        traces[key] = evaluate(model, judged, variants, others, given, settings)
    model_said = StreamsModel(
        trained=model.trained,
        promoted=model.promoted,
        reason=model.reason,
        validation=model.validation,
        variant=judged.chosen,
        learned=judged.learned,
        automatic=judged.automatic,
        sid_bytes=len(read_dictionary(folder / FILE).to_bytes()),
    )
    return StreamsMetrics(category=category, reason=reason, traces=traces, models={name: model_said})


def _why_not(cycles: Mapping[str, Mapping[str, Trace]]) -> str:
    """Why there is no test cycle to judge by; empty where there is one."""
    if not cycles["test"]:
        return "no test trace of the category writes anything"
    volumes = volume_starts([trace for own in cycles.values() for trace in own.values()])
    return several_volumes(volumes, "train, validation and test")


def evaluate_streams(params: "Params", category: str) -> StreamsMetrics:
    """Stage evaluate_streams@category, see `evaluate_category`."""
    return evaluate_category(category, Settings.of(params, category))
