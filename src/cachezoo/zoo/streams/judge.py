"""Judges a category's dictionaries on the validation cycle, each placement tuned there as freely, and chooses one.

The drive lives through the train cycle, in which nothing learned is there yet, and then through the validation cycle,
which is counted. A dictionary is promoted where it saves flash writes against the best placement that learns nothing,
above chance and by a share worth having, and there was something to gain.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeGuard

import numpy as np

from cachezoo import paths
from cachezoo.contest.lead import Lead
from cachezoo.documents import Document, Figures
from cachezoo.errors import DeviceError, TraceError
from cachezoo.io import atomic_dir, sha256_file, write_json
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import read
from cachezoo.models.trained import FittedModel, TraceUse, TrainedModel, Verdict, read_fitted
from cachezoo.params import At, Picked
from cachezoo.settings.data import Roles
from cachezoo.settings.wear import Drive
from cachezoo.traces.table import OP_WRITE, Trace
from cachezoo.wear.names import LEGACY
from cachezoo.wear.run import Wear
from cachezoo.wear.writes import several_volumes, volume_starts
from cachezoo.zoo.streams.bench import Bench, Candidate, grid
from cachezoo.zoo.streams.beside import try_lifetimes
from cachezoo.zoo.streams.compare import lead
from cachezoo.zoo.streams.cycles import read_cycle
from cachezoo.zoo.streams.deaths import Lifetimes, read_lifetimes
from cachezoo.zoo.streams.dictionary import FILE, Dictionary
from cachezoo.zoo.streams.fit import automatic, model_id, uses
from cachezoo.zoo.streams.metrics import Tried
from cachezoo.zoo.streams.settings import Judge
from cachezoo.zoo.streams.stated import ACT, calibration_of
from cachezoo.zoo.streams.variants import Known, Variant, read_variants

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

JUDGED_FILE = "judged.json"


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    judge: Annotated[Judge, At("judge.streams")]
    drive: Annotated[Drive, At("policy.drive")]
    arch: Annotated[str, At("model.streams.arch")]
    cycles: Annotated[Roles, At("data.cycles.{category}")]


class Judged(Document):
    """What validation says of every placement; the file judged.json of a trained model."""

    reason: Annotated[str, Means("why nothing was judged; empty where something was")]
    chosen: Annotated[str, Means("the dictionary of least WAF; empty where nothing was judged")]
    learned: Annotated[str, Means("features that FIOS chooses by the train cycle's characteristics; empty for none")]
    automatic: Annotated[str, Means("the placement of those features; legacy where there are none")]
    least: Annotated[
        dict[str, Tried], Each("a placement that nobody taught, with its best arguments", "policy", "policy")
    ]
    lifetime: Annotated[list[Tried], Each("the forests with their best classes and parts", "place in the list")]
    rows: Annotated[list[Tried], Each("a placement on validation", "place in the list")]


@dataclass(frozen=True)
class Row:
    """A placement that was run on validation."""

    candidate: Candidate
    run: Wear
    tried: Tried


def run_all(bench: Bench, candidates: Sequence[Candidate]) -> list[Row]:
    """Run placements, in order."""
    rows = []
    for candidate in candidates:
        run = bench.run(candidate)
        rows.append(Row(candidate, run, candidate.tried(run)))
    return rows


def least(rows: Sequence[Row]) -> Row:
    """The row of least WAF; of equal ones that of the fewest streams, then the first by name."""
    return min(rows, key=lambda row: (row.tried.waf, row.tried.streams, row.tried.policy))


def _said(chosen: Tried, legacy: Tried, rival: Tried, saved: Lead, nothing: float, footprints: float) -> str:
    """The verdict in one line."""
    told = (
        f"WAF {chosen.waf:.3f} with {chosen.policy} on {chosen.streams} streams, {legacy.waf:.3f} without "
        f"streams, {rival.waf:.3f} with {rival.policy}, the best placement that learns nothing"
    )
    if legacy.waf < nothing:
        return (
            f"nothing to gain: without streams the WAF is {legacy.waf:.3f}, below {nothing}, where the host "
            f"writes {footprints:.1f} times its footprint; {told}"
        )
    low, high = saved.ends
    return f"{told}; saves {saved.value:.1%} of its flash writes, 90 % interval [{low:.1%}, {high:.1%}]"


def judge(
    model: FittedModel,
    variants: Sequence[Variant],
    train: Sequence[Trace],
    bench: Bench,
    settings: Judge,
    lifetimes: Lifetimes | None = None,
) -> tuple[Verdict, Judged]:
    """The verdict on the validation cycle.

    Args:
        model: the fitted model.
        variants: what it learned; one of them at least is a dictionary.
        train: the train cycles.
        bench: a drive that lives through the train cycle and the validation cycle.
        settings: section `judge.streams`.
        lifetimes: the forests; None where there are none.

    Raises:
        ConfigError: a baseline that is none.
        DeviceError: the drive has no room for its streams.
        TraceError: the validation cycle writes too little.
    """
    plain = run_all(bench, grid(settings.baselines.model_dump(exclude_none=True), bench.streams))
    learned = run_all(bench, [bench.learned(variant) for variant in variants])
    forests = [] if lifetimes is None else try_lifetimes(bench, lifetimes, settings.lifetime)
    names = dict.fromkeys(row.tried.policy for row in plain)
    best = {name: least([row for row in plain if row.tried.policy == name]) for name in names}
    known = {variant.name: variant.dictionary for variant in variants if tells_apart(variant)}
    chosen, legacy = least([row for row in learned if row.tried.policy in known]), best[LEGACY]
    own = {row.tried.policy: row.tried.waf for row in [*learned, legacy]}
    rival = least([row for row in best.values() if row.candidate.kind != "bound"])
    saved = lead(chosen.run, rival.run)
    footprints = float(chosen.run.host.sum()) / bench.writes.footprint
    validation: Figures = {
        "waf": chosen.tried.waf,
        "legacy_waf": legacy.tried.waf,
        "rival_waf": rival.tried.waf,
        "automatic_waf": own[automatic(model)],
        "saved": saved.value,
        "saved_low": saved.low,
        "saved_high": saved.high,
        "footprints": footprints,
    }
    gain = legacy.tried.waf >= settings.least_waf
    verdict = Verdict(
        calibration=calibration(model, chosen.tried, known[chosen.tried.policy], legacy.tried.waf, bench.drive, train),
        policy=ACT,
        validation=validation,
        beats_baseline=gain and saved.worth(settings.least_gain),
        reason=_said(chosen.tried, legacy.tried, rival.tried, saved, settings.least_waf, footprints),
    )
    judged = Judged(
        reason="",
        chosen=chosen.tried.policy,
        learned=str(model.learned["features"]),
        automatic=automatic(model),
        least={name: row.tried for name, row in best.items()},
        lifetime=sorted(forests, key=lambda row: (row.waf, row.streams))[:1],
        rows=[*(row.tried for row in (*plain, *learned)), *forests],
    )
    return verdict, judged


def calibration(
    model: FittedModel, chosen: Tried, known: Dictionary, legacy_waf: float, drive: Drive, train: Sequence[Trace]
) -> dict[str, Any]:
    """What a bundle says of the dictionary that was chosen."""
    window = chosen.policy.partition(".")[2]
    said = {
        "variant": chosen.policy,
        "learned": str(model.learned["features"]),
        **({"window": window} if window else {}),
        "over_provisioning": drive.over_provisioning,
        "waf": chosen.waf,
        "legacy_waf": legacy_waf,
    }
    offsets = [trace.offset[trace.op == OP_WRITE] for trace in train]
    return calibration_of(known, np.concatenate(offsets), said)


def tells_apart(variant: Variant) -> TypeGuard[Known]:
    """Whether a variant is a dictionary of more streams than one."""
    return isinstance(variant, Known) and len(np.unique(variant.dictionary.streams)) > 1


def not_judged(model: FittedModel, reason: str) -> tuple[Verdict, Judged]:
    """The same where there is nothing to judge on: no dictionary is chosen."""
    learned = str(model.learned.get("features", ""))
    found = calibration_of(_empty(model), np.zeros(0, np.int64), {"learned": learned})
    verdict = Verdict(calibration=found, policy=ACT, validation={}, beats_baseline=False, reason=reason)
    named = {"chosen": "", "learned": learned, "automatic": automatic(model)}
    return verdict, Judged(reason=reason, **named, least={}, lifetime=[], rows=[])


def judge_category(
    model: FittedModel, variants: Sequence[Known], settings: Settings, lifetimes: Lifetimes | None = None
) -> tuple[Verdict, Judged, list[TraceUse]]:
    """The verdict on a category's validation traces, and which traces it read."""
    train = read_cycle(settings.cycles.get("train", []))
    validation = read_cycle(settings.cycles.get("validation", []))
    told = uses(validation, "validation")
    reason = model.reason
    if not reason and not validation:
        reason = "not judged: no validation trace of the category writes anything"
    if not reason and not any(tells_apart(variant) for variant in variants):
        reason = "not judged: no features tell the chunks of the train cycle apart"
    volumes = volume_starts([*train.values(), *validation.values()])
    if not reason and (said := several_volumes(volumes, "train and validation")):
        reason = f"not judged: {said}"
    if reason:
        return *not_judged(model, reason), told
    bench = Bench.of(list(train.values()), list(validation.values()), settings.drive, int(model.arch["streams"]))
    try:
        return *judge(model, variants, list(train.values()), bench, settings.judge, lifetimes), told
    except (DeviceError, TraceError) as error:
        return *not_judged(model, f"not judged: {error}"), told


def read_judged(folder: Path) -> Judged:
    """`judged.json` of a trained model's folder, see `cachezoo.metrics.files.read`."""
    return read(folder / JUDGED_FILE, Judged)


def judge_streams(params: "Params", category: str) -> None:
    """Stage judge_streams, one job: write `models/trained/streams/streams.<category>.<arch>/`."""
    settings = Settings.of(params, category)
    name = model_id(category, settings.arch)
    model = read_fitted(paths.fitted(name), "streams")
    variants = read_variants(paths.fitted(name), model.learned.get("variants", []))
    verdict, judged, told = judge_category(model, variants, settings, read_lifetimes(paths.fitted(name)))
    sid = {variant.name: variant.dictionary for variant in variants}.get(judged.chosen)
    model = model if sid is not None else model.model_copy(update={"trained": False})  # nothing chosen, nothing to ship
    inputs = {path: sha256_file(Path(path)) for path in settings.cycles.get("validation", [])}
    with atomic_dir(paths.trained(name)) as folder:
        TrainedModel.of(model, verdict, inputs, told).write(folder)
        write_json(folder / JUDGED_FILE, judged.model_dump(mode="json"))
        (folder / FILE).write_bytes((_empty(model) if sid is None else sid).to_bytes())


def _empty(model: FittedModel) -> Dictionary:
    """The dictionary that knows no chunk."""
    return Dictionary.of(np.zeros(0, np.int64), np.zeros(0, np.int64), int(model.arch["streams"]))
