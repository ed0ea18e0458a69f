"""Judges a category's dictionaries and forests on the validation cycle, each placement tuned as freely; chooses one.

The drive lives through the train cycle, in which nothing learned is there yet, and then through the validation cycle,
which is counted. What has the least write amplification there, the best dictionary or the forest of median, is
shipped. It is promoted where it saves flash writes against the best placement that learns nothing, above chance and by
a share worth having, and there was something to gain. So it has to on drives of further victims, each against the
placement that is best there.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from cachezoo import paths
from cachezoo.contest.lead import Lead
from cachezoo.documents import Document, Figures
from cachezoo.errors import DeviceError, TraceError
from cachezoo.flash_drive.names import LEGACY
from cachezoo.flash_drive.placements import Placement, grid
from cachezoo.flash_drive.run import Wear
from cachezoo.flash_drive.writes import several_volumes, volume_starts
from cachezoo.io import atomic_dir, sha256_file, write_json
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import read
from cachezoo.models.trained import Feature, FittedModel, TraceUse, TrainedModel, Verdict, read_fitted
from cachezoo.params import At, Picked
from cachezoo.settings.data import Roles
from cachezoo.settings.wear import Drive, Victim
from cachezoo.traces.table import OP_WRITE, Trace
from cachezoo.zoo.streams.bench import Bench, classes_and_parts
from cachezoo.zoo.streams.deaths import Lifetimes, read_lifetimes
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES, FILE, UNKNOWN_STREAM, Dictionary
from cachezoo.zoo.streams.fit import automatic, model_id, read_cycle, uses
from cachezoo.zoo.streams.learn import Variant, read_variants
from cachezoo.zoo.streams.metrics import AUTOMATIC, LEARNED, Tried
from cachezoo.zoo.streams.serve import FOREST, GEOMETRY
from cachezoo.zoo.streams.serve import features as inputs
from cachezoo.zoo.streams.settings import Judge

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

JUDGED_FILE = "judged.json"
ACT: dict[str, Any] = {
    "type": "stream_placement",
    "unknown": UNKNOWN_STREAM,
    "placement": "A write goes to the stream of the chunk of its first byte, however many chunks it spans.",
}


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    judge: Annotated[Judge, At("judge.streams")]
    drive: Annotated[Drive, At("policy.drive")]
    arch: Annotated[str, At("model.streams.arch")]
    cycles: Annotated[Roles, At("data.cycles.{category}")]


class Selection(Document):
    """What validation says of every placement; the file judged.json of a trained model."""

    reason: Annotated[str, Means("why nothing was judged; empty where something was")]
    chosen: Annotated[str, Means("the dictionary of least WAF; empty where nothing was judged")]
    shipped: Annotated[str, Means("that dictionary, or lifetime where the forest has less WAF; likewise")]
    learned: Annotated[str, Means(LEARNED)]
    automatic: Annotated[str, Means(AUTOMATIC)]
    least: Annotated[
        dict[str, Tried], Each("a placement that nobody taught, with its best arguments", "policy", "policy")
    ]
    lifetime: Annotated[list[Tried], Each("the forests with their best classes and parts", "place in the list")]
    rows: Annotated[list[Tried], Each("a placement on validation", "place in the list")]


class Row(NamedTuple):
    """A placement that was run on validation."""

    placement: Placement
    run: Wear
    tried: Tried


def run_all(bench: Bench, placements: Sequence[Placement]) -> list[Row]:
    """Run placements, in order."""
    return [Row(one, bench.run(one), bench.tried(one)) for one in placements]


def least(rows: Sequence[Row]) -> Row:
    """The row of least WAF; of equal ones that of the fewest streams, then the first by name."""
    return min(rows, key=lambda row: (row.tried.waf, row.tried.streams, row.tried.policy))


class Shipped(NamedTuple):
    """What a trained model places by, and what a bundle says of it."""

    row: Row
    forest: str  # LightGBM's model text; empty of the dictionary
    policy: Mapping[str, Any]
    counts: dict[str, Any]  # `writes_by_stream` and `effective_streams` of its calibration
    others: Mapping[str, Any]  # fields of the model that differ from the fit's


def _of_forest(bench: Bench, lifetimes: Lifetimes, own: dict[str, int]) -> tuple[Row, Shipped]:
    """The forest of median WAF with some classes and parts."""
    middle, *each = bench.forests(lifetimes, own)
    seed = [one.place for one in each].index(middle.place)
    row = run_all(bench, [middle])[0]
    assert middle.place is not None
    counts = np.bincount(middle.place(bench.writes)[bench.writes.cycle(-1)], minlength=bench.streams)
    counted = {"writes_by_stream": counts.tolist(), "effective_streams": int((counts > 0).sum())}
    others = {"features": [Feature(**one) for one in inputs()], "geometry": GEOMETRY}
    return row, Shipped(row, lifetimes.forests[seed].text, lifetimes.policy(seed, **own), counted, others)


def _reason(chosen: Tried, legacy: Tried, rival: Tried, saved: Lead, nothing: float, footprints: float) -> str:
    """The verdict in one line."""
    wafs = (
        f"WAF {chosen.waf:.3f} with {chosen.policy} on {chosen.streams} streams, {legacy.waf:.3f} without "
        f"streams, {rival.waf:.3f} with {rival.policy}, the best placement that nobody taught"
        f"{', which a drive runs and no host' if rival.kind == 'drive' else ''}"
    )
    if legacy.waf < nothing:
        return (
            f"nothing to gain: without streams the WAF is {legacy.waf:.3f}, below {nothing}, where the host "
            f"writes {footprints:.1f} times its footprint; {wafs}"
        )
    low, high = saved.ends
    return f"{wafs}; saves {saved.value:.1%} of its flash writes, 90 % interval [{low:.1%}, {high:.1%}]"


def _under(bench: Bench, victim: Victim, chosen: Placement, plain: Sequence[Placement]) -> tuple[Lead, Tried]:
    """What a placement saves on a drive of another victim, of the best rival's writes there, and that rival."""
    drive = bench.drive.model_copy(update={"victim": victim})
    other = Bench(bench.writes, drive, bench.streams, bench.since)
    rival = least(run_all(other, plain))
    return other.run(chosen).saved(rival.run), rival.tried


def judge(
    model: FittedModel,
    variants: Sequence[Variant],
    train: Sequence[Trace],
    bench: Bench,
    settings: Judge,
    lifetimes: Lifetimes | None = None,
) -> tuple[Verdict, Selection, Shipped]:
    """The verdict on the validation cycle, and what is shipped.

    Args:
        model: the fitted model.
        variants: its dictionaries, of which one at least tells chunks apart.
        train: the train cycles.
        bench: a drive that lives through the train cycle and the validation cycle.
        settings: section `judge.streams`.
        lifetimes: the forests; None where there are none.

    Raises:
        ConfigError: a baseline that is none.
        DeviceError: the drive has no room for its streams.
        TraceError: the validation cycle writes too little.
    """
    tried = grid(settings.baselines.model_dump(exclude_none=True), bench.streams)
    plain = run_all(bench, [one for one in tried if bench.fits(one)])
    learned = run_all(bench, [bench.learned(variant) for variant in variants])
    tries = [] if lifetimes is None else classes_and_parts(settings.lifetime, bench.streams)
    forests = [_of_forest(bench, lifetimes, own) for own in tries if lifetimes is not None and lifetimes.varies]
    names = dict.fromkeys(row.tried.policy for row in plain)
    best = {name: least([row for row in plain if row.tried.policy == name]) for name in names}
    apart = {variant.name: variant.dictionary for variant in variants if _tells_apart(variant)}
    dictionary, legacy = least([row for row in learned if row.tried.policy in apart]), best[LEGACY]
    own, name = apart[dictionary.tried.policy], dictionary.tried.policy
    offsets = np.concatenate([trace.offset[trace.op == OP_WRITE] for trace in train])
    shipped = Shipped(dictionary, "", ACT, calibration_of(own, offsets), {})
    if forests and least([row for row, _ in forests]).tried.waf < dictionary.tried.waf:
        shipped = min(forests, key=lambda one: (one[0].tried.waf, one[0].tried.streams))[1]
    chosen = shipped.row
    wafs = {row.tried.policy: row.tried.waf for row in [*learned, legacy]}
    rival = least([row for row in best.values() if row.placement.kind != "bound"])
    saved = chosen.run.saved(rival.run)
    usual = [row.placement for row in plain if row.placement.kind != "bound"]
    elsewhere = {victim: _under(bench, victim, chosen.placement, usual) for victim in settings.victims}
    there = "".join(
        f"; {lead.value:.1%} of {found.policy}'s under {victim} victims" for victim, (lead, found) in elsewhere.items()
    )
    footprints = float(chosen.run.host.sum()) / bench.writes.footprint
    validation: Figures = {
        "waf": chosen.tried.waf,
        "legacy_waf": legacy.tried.waf,
        "rival_waf": rival.tried.waf,
        "automatic_waf": wafs[automatic(model)],
        "saved": saved.value,
        "saved_low": saved.low,
        "saved_high": saved.high,
        "footprints": footprints,
    }
    gain = legacy.tried.waf >= settings.least_waf
    window = chosen.tried.policy.partition(".")[2]
    said = {
        "variant": chosen.tried.policy,
        "learned": str(model.learned["features"]),
        **({"window": window} if window else {}),
        "over_provisioning": bench.drive.over_provisioning,
        "victim": bench.drive.victim,
        "waf": chosen.tried.waf,
        "legacy_waf": legacy.tried.waf,
        "rival": rival.tried.policy,
        "rival_waf": rival.tried.waf,
    }
    verdict = Verdict(
        calibration={**shipped.counts, **said},
        policy=dict(shipped.policy),
        validation=validation,
        beats_baseline=gain
        and all(lead.worth(settings.least_gain) for lead in (saved, *(lead for lead, _ in elsewhere.values()))),
        reason=_reason(chosen.tried, legacy.tried, rival.tried, saved, settings.least_waf, footprints) + there,
    )
    judged = Selection(
        reason="",
        chosen=name,
        shipped=chosen.tried.policy,
        learned=str(model.learned["features"]),
        automatic=automatic(model),
        least={name: row.tried for name, row in best.items()},
        lifetime=sorted((row.tried for row, _ in forests), key=lambda row: (row.waf, row.streams))[:1],
        rows=[*(row.tried for row in (*plain, *learned)), *(row.tried for row, _ in forests)],
    )
    return verdict, judged, shipped


def calibration_of(
    dictionary: Dictionary, offsets: npt.NDArray[np.int64], further: dict[str, Any] | None = None
) -> dict[str, Any]:
    """`calibration` of train.json.

    Args:
        dictionary: that is shipped.
        offsets: int64[n] first bytes of the write requests of the cycle that it was learned on.
        further: of `variant`, `learned`, `window`, `over_provisioning`, `waf` and `legacy_waf`, those that are known.
    """
    counts = np.bincount(dictionary.look_up(offsets // CHUNK_BYTES), minlength=dictionary.count)
    own = {"writes_by_stream": counts.tolist(), "effective_streams": len(np.unique(dictionary.streams))}
    return {**own, **(further or {})}


def _tells_apart(variant: Variant) -> bool:
    return len(np.unique(variant.dictionary.streams)) > 1


def not_judged(model: FittedModel, reason: str) -> tuple[Verdict, Selection, None]:
    """The same where there is nothing to judge on: nothing is chosen."""
    learned = str(model.learned.get("features", ""))
    found = calibration_of(_empty(model), np.zeros(0, np.int64), {"learned": learned})
    verdict = Verdict(calibration=found, policy=ACT, validation={}, beats_baseline=False, reason=reason)
    named = {"chosen": "", "shipped": "", "learned": learned, "automatic": automatic(model)}
    return verdict, Selection(reason=reason, **named, least={}, lifetime=[], rows=[]), None


def judge_category(
    model: FittedModel, variants: Sequence[Variant], settings: Settings, lifetimes: Lifetimes | None = None
) -> tuple[Verdict, Selection, Shipped | None, list[TraceUse]]:
    """The verdict on a category's validation traces, what is shipped, and which traces it read."""
    train, validation = (read_cycle(settings.cycles.get(role, [])) for role in ("train", "validation"))
    read_here = uses(validation, "validation")
    reason = model.reason
    if not reason and not validation:
        reason = "not judged: no validation trace of the category writes anything"
    if not reason and not any(_tells_apart(variant) for variant in variants):
        reason = "not judged: no features tell the chunks of the train cycle apart"
    volumes = volume_starts([*train.values(), *validation.values()])
    if not reason and (several := several_volumes(volumes, "train and validation")):
        reason = f"not judged: {several}"
    if reason:
        return *not_judged(model, reason), read_here
    bench = Bench.of(list(train.values()), list(validation.values()), settings.drive, int(model.arch["streams"]))
    try:
        return *judge(model, variants, list(train.values()), bench, settings.judge, lifetimes), read_here
    except (DeviceError, TraceError) as error:
        return *not_judged(model, f"not judged: {error}"), read_here


def read_selection(folder: Path) -> Selection:
    """`judged.json` of a trained model's folder, see `cachezoo.metrics.files.read`."""
    return read(folder / JUDGED_FILE, Selection)


def judge_streams(params: "Params", category: str) -> None:
    """Stage judge_streams, one job: write `models/trained/streams/streams.<category>.<arch>/`."""
    settings = Settings.of(params, category)
    name = model_id(category, settings.arch)
    model = read_fitted(paths.fitted(name), "streams")
    variants = read_variants(paths.fitted(name), model.learned.get("variants", []))
    verdict, judged, shipped, traces = judge_category(model, variants, settings, read_lifetimes(paths.fitted(name)))
    sid = {variant.name: variant.dictionary for variant in variants}.get(judged.chosen)
    # Nothing chosen, nothing to ship.
    model = model.model_copy(update={"trained": False} if shipped is None else dict(shipped.others))
    inputs = {path: sha256_file(Path(path)) for path in settings.cycles.get("validation", [])}
    with atomic_dir(paths.trained(name)) as folder:
        TrainedModel.of(model, verdict, inputs, traces).write(folder)
        write_json(folder / JUDGED_FILE, judged.model_dump(mode="json"))
        (folder / FILE).write_bytes((_empty(model) if sid is None else sid).to_bytes())
        if shipped is not None and shipped.forest:
            (folder / FOREST).write_text(shipped.forest, encoding="ascii")


def _empty(model: FittedModel) -> Dictionary:
    """The dictionary that knows no chunk."""
    return Dictionary.of(np.zeros(0, np.int64), np.zeros(0, np.int64), int(model.arch["streams"]))
