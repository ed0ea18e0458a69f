"""Every file that a stage writes, with the types and tables that say what it holds."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from pathlib import Path
from typing import Any, get_type_hints

import yaml

from cachezoo import closure, paths
from cachezoo.bundles import protocol
from cachezoo.bundles.export import Refused
from cachezoo.bundles.schema import MANIFEST_SCHEMA, MODEL_SCHEMA, schema
from cachezoo.devices import calibrating, replaying, responses
from cachezoo.features import table as features
from cachezoo.labels import benefit, episode_file, streams
from cachezoo.meanings import Column, Each, Keys, Means, Presence, Rows, Table
from cachezoo.metrics.flash import FlashMetrics
from cachezoo.metrics.page import CategoryMetrics
from cachezoo.models.trained import FILE, FIT_FILE, FittedModel, TrainedModel
from cachezoo.questions.share.columns import ShareMetrics, share_metrics
from cachezoo.questions.tiers.columns import TiersMetrics, tiers_metrics
from cachezoo.report import dvc_files, sharing, tiers
from cachezoo.serving import requests
from cachezoo.settings.data import WRITES
from cachezoo.show import plots
from cachezoo.traces import store
from cachezoo.tracking import records
from cachezoo.zoo.base import System
from cachezoo.zoo.registry import SYSTEMS
from scripts.dictionary_types import Entry, of_document, of_keys, of_schema, of_table

TYPES = {
    ".json": "JSON", ".parquet": "Parquet", ".csv": "CSV", ".yaml": "YAML", ".png": "PNG", ".html": "HTML",
    ".md": "Markdown", ".safetensors": "safetensors", ".lgb.txt": "LightGBM text", ".sha256": "text",
    ".sid": "sid", "sid.bin": "sid", ".bin": "float64",
}  # fmt: skip
FEATURES, ROWS, DECISIONS = (
    "float32 [requests, features]", "float32 [rows, golden.outputs]", "int32 [rows, golden.decisions]",
)  # fmt: skip
MODELS = Path(__file__).with_name("dictionary_models.yaml")
ANYTHING: Keys = {"**": Column("any", Means("as the system has it"), "sometimes")}
C, T, M = "<category>", "<trace>", "<model>"
GOLDEN_ROW = ("one golden request; workload: one window", "row number")
A_MODEL = ("one model", "model_id")


@dataclass(frozen=True)
class File:
    """A file: its path, what it is, and its columns or keys.

    Attributes:
        path: `<name>` stands for any text.
        each: what it, or a row of it, is of, and its meaning.
        entries: of columns and keys.
        kind: what sort of file; empty where its suffix says it.
    """

    path: str
    each: Each
    entries: list[Entry]
    kind: str = ""

    @property
    def type(self) -> str:
        """What sort of file."""
        return self.kind or next(kind for suffix, kind in TYPES.items() if self.path.endswith(suffix))


def _table(path: object, table: Table) -> File:
    return File(str(path), table.each, of_table(table))


def _alone(path: object, each: Each, kind: str = "") -> File:
    return File(str(path), each, [], kind)


def files() -> list[File]:
    """In the order of the stages."""
    return [*_data(), *_models(), *_metrics(), *_bundles(), *_report(), _table(paths.TRACK, records.TRACK)]


def _data() -> Iterator[File]:
    yield _table(paths.SOURCES / "<script>.json", closure.SOURCES)
    params = "conf/ resolved; what a section means stands beside its value in conf/"
    yield _alone(paths.PARAMS, Each("one document of all parameters", "section and name", text=params))
    said = "which traces there are: what `data` of params.yaml holds"
    traces = Table(Each("all traces", "section", text=said), {"**": Column("any", Means("as in params.yaml"))})
    yield _table(paths.TRACES, traces)
    yield _table(paths.requests(C, T), store.REQUESTS)
    some = replace(
        store.REQUESTS, each=replace(store.REQUESTS.each, presence="sometimes")
    )  # not everyone has such traces
    yield _table(Path(WRITES) / C / f"{T}.parquet", some)
    yield _table(paths.corpus(C) / f"{T}.parquet", store.REQUESTS)
    yield _table(paths.responses(C, T), responses.RESPONSES)
    yield _table(paths.replay_record(C, T), replaying.RECORD)
    yield _table(paths.DEVICES / "calibration.json", calibrating.REPORT)
    plot = "measured and modelled times over distance and size"
    yield _alone(paths.DEVICES / "<device>.png", Each("one device", "the file", text=plot, presence="sometimes"))
    profile = "the fitted models as a profile for conf/device"
    yield _alone(paths.DEVICES / "profile.yaml", Each("the devices", "the file", text=profile, presence="sometimes"))
    yield _table(paths.labels("benefit", C, T), benefit.LABELS)
    yield _table(paths.features(C, T), features.FEATURES)
    yield _table(paths.labels("episodes", C, T), episode_file.LABELS)
    yield _table(paths.labels("streams", C, T), streams.LABELS)


@dataclass(frozen=True)
class Described:
    """What a kind's models hold: keys of fit.json and train.json, files, figures of metrics/page, plots of the report.

    Attributes:
        fitted_files: of a fitted model's folder, where they differ from `files`.
    """

    geometry: Keys = field(default_factory=dict)
    learned: Keys = field(default_factory=dict)
    figures: Keys = field(default_factory=dict)
    calibration: Keys = field(default_factory=dict)
    validation: Keys = field(default_factory=dict)
    page: Keys = field(default_factory=dict)
    files: Mapping[str, Table] = field(default_factory=dict)
    fitted_files: Mapping[str, Table] = field(default_factory=dict)
    plots: Mapping[str, Table] = field(default_factory=dict)


@cache
def _models_file() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load(MODELS.read_text(encoding="utf-8"))
    return found


def _described(system: System) -> Described:
    """What `dictionary_models.yaml` says of a system's models; of a system that it does not name, anything."""
    parts = _models_file().get(system.id)
    if parts is None:
        return Described(*[ANYTHING] * 5)
    tables = ("files", "fitted_files", "plots")
    return Described(**{name: (_tables if name in tables else _keys)(part) for name, part in parts.items()})


def _tables(part: Mapping[str, Any]) -> dict[str, Table]:
    rows = {name: _models_file()["shared"][one] if isinstance(one, str) else one for name, one in part.items()}
    return {name: Table(_each(one), _keys(one)) for name, one in rows.items()}


def _keys(part: Mapping[str, Any], prefix: str = "") -> dict[str, Column | Rows]:
    """The columns of a part; `+name` is those of a shared one."""
    found: dict[str, Column | Rows] = {}
    for name, value in part.items():
        presence: Presence = "sometimes" if name.endswith("?") else "always"
        if name.startswith("+"):
            found |= _keys(_models_file()["shared"][name[1:]], value or "")
        elif name.endswith("[]"):
            found[prefix + name[:-2]] = Rows(_each(value), _keys(value))
        elif name.rstrip("?") != "each":
            kind, *unit, meaning = value.split(" | ")
            found[prefix + name.rstrip("?")] = Column(kind, Means(meaning, *unit), presence)
    return found


def _each(part: Mapping[str, str]) -> Each:
    presence: Presence = "always" if "each" in part else "sometimes"
    of, key, *text = part["each" if "each" in part else "each?"].split(" | ")
    return Each(of, key, text="".join(text), presence=presence)


def _of_system(system: System) -> str:
    """Ids of a system's models."""
    return f"{system.id}.<arch>" if system.scope == "all" else f"{system.id}.{C}.<arch>"


def _models() -> Iterator[File]:
    fit = Each(*A_MODEL, text="what the fit found, for its judge; class cachezoo.models.trained.FittedModel")
    own = ("geometry", "learned", "figures")
    yield File(str(paths.FITTED / "<system>" / M / FIT_FILE), fit, of_document(FittedModel, fit, without=own))
    for system in SYSTEMS.values():
        described = _described(system)
        keys = {"geometry": described.geometry, "learned": described.learned, "figures": described.figures}
        folder = paths.fitted(_of_system(system))
        yield from _of_one(system, folder / FIT_FILE, keys)
        files = (described.fitted_files or described.files).items()
        yield from (_table(folder / name, table) for name, table in files)
    train = Each(
        *A_MODEL,
        text="all that export, evaluation and a runtime need beside the weights; class "
        "cachezoo.models.trained.TrainedModel",
    )
    own = ("geometry", "calibration", "validation")
    yield File(str(paths.TRAINED / "<system>" / M / FILE), train, of_document(TrainedModel, train, without=own))
    for system in SYSTEMS.values():
        described = _described(system)
        figures = {**described.validation, **described.figures}
        keys = {"geometry": described.geometry, "calibration": described.calibration, "validation": figures}
        yield from _of_one(system, paths.trained(_of_system(system)) / FILE, keys)
        yield from (_table(paths.trained(_of_system(system)) / name, table) for name, table in described.files.items())


def _of_one(system: System, path: object, keys: dict) -> Iterator[File]:
    """The keys of a model's document that its system decides; the file itself is described once for all systems."""
    each = Each(*A_MODEL)
    yield File(str(path), each, [row for name, own in keys.items() for row in of_keys(own, each, f"{name}.")])


def _metrics() -> Iterator[File]:
    page = {
        name: replace(column, means=replace(column.means, text=f"{system.id}: {column.means.text}"))
        for system in SYSTEMS.values()
        for name, column in _described(system).page.items()
        if isinstance(column, Column)
    }
    opened = {f"traces.{T}.tags.{M}": page, f"models.{M}.test.{T}": page}
    text = "the page cache's figures of the category's validation and test traces, and what was promoted"
    each = Each("one category", "category", text=text)
    yield File(str(paths.metrics(C)), each, of_document(CategoryMetrics, each, opened))
    text = "the flash cache's figures of the category's test traces: the admission beside RejectX and OPT"
    each = Each("one category", "category", text=text)
    yield File(str(paths.flash_metrics(C)), each, of_document(FlashMetrics, each))
    text = "what the same money does as RAM alone or as RAM and an SSD, chosen on validation, on the test traces"
    each = Each("one category", "category", text=text)
    yield File(str(tiers_metrics(C)), each, of_document(TiersMetrics, each))
    text = "one cache for several applications, shared or split, chosen on validation mixes, on mixes of test traces"
    each = Each("all mixes", "the file", text=text)
    yield File(str(share_metrics()), each, of_document(ShareMetrics, each))
    for system in SYSTEMS.values():
        if system.metrics is not None:
            model = get_type_hints(system.metrics.load())["return"]
            said = (model.__doc__ or "").strip().removesuffix(".")
            whole = system.scope == "all"
            one = (f"the {system.id} model", "the file") if whole else ("one category", "category")
            each = Each(*one, text=said[:1].lower() + said[1:])
            path = paths.overall_metrics(system.id) if whole else paths.METRICS / system.id / f"{C}.json"
            yield File(str(path), each, of_document(model, each))


def _weights(system: System) -> list[str]:
    """Files of weights that its bundles may hold, each once."""
    own = system.bundling
    if own is None:
        return []
    return list(dict.fromkeys(name for names in (own.weights, *own.other_weights.values()) for name in names))


def _bundles() -> Iterator[File]:
    folder = paths.bundle(M)
    bundle = ("one bundle", "id")
    said = "JSON Schema src/cachezoo/bundles/{}.schema.json, explained in docs/bundles.md"
    each = Each(*bundle, text=f"who the model is, what was measured of it; {said.format(MANIFEST_SCHEMA)}")
    yield File(str(folder / protocol.MANIFEST), each, of_schema(schema(MANIFEST_SCHEMA), each))
    each = Each(*bundle, text=f"what acts; {said.format(MODEL_SCHEMA)}")
    yield File(str(folder / protocol.ACTS), each, of_schema(schema(MODEL_SCHEMA), each))
    yield _alone(folder / protocol.SEAL, Each(*bundle, text="sha256 of manifest.json: the digest of the bundle"))
    for system in SYSTEMS.values():
        for name in _weights(system):
            each = _described(system).files[name].each
            some = Each(each.of, each.key, text=each.text, presence="sometimes")
            yield _alone(paths.bundle(_of_system(system)) / name, some)
    yield _alone(folder / protocol.CARD, Each(*bundle, text="model card"))
    yield _table(folder / protocol.GOLDEN_REQUESTS, requests.GOLDEN)
    inputs = Each("one golden request", "row number", text="model inputs, normalised")
    yield _alone(folder / protocol.GOLDEN_FEATURES, inputs, FEATURES)
    yield _alone(folder / protocol.GOLDEN_OUTPUTS, Each(*GOLDEN_ROW, text="model outputs"), ROWS)
    yield _alone(folder / protocol.GOLDEN_DECISIONS, Each(*GOLDEN_ROW, text="what the runtime decides"), DECISIONS)
    one = Each("one row of a synthetic golden set", "set and row", text="as the golden rows' file of that name")
    asked, *rest = protocol.GOLDEN_FILES
    yield _table(folder / protocol.SYNTHETIC / "<set>" / asked, Table(one, requests.GOLDEN.columns))
    for name, kind in zip(rest, (FEATURES, ROWS, DECISIONS), strict=True):
        yield _alone(folder / protocol.SYNTHETIC / "<set>" / name, one, kind)
    text = "stands alone where export refuses the model"
    each = Each("one model without a bundle", "id", text=text, presence="sometimes")
    yield File(str(folder / protocol.REFUSED), each, of_document(Refused, each))


def _report() -> Iterator[File]:
    text = "which model to deploy for which workload, from metrics, traces and models; opens without a server"
    yield _alone(paths.REPORT / plots.PAGE, Each("one section", "heading", text=text))
    yield _table(paths.SUMMARY, dvc_files.SUMMARY)
    yield _table(paths.REPORT / dvc_files.HIT_RATIO, dvc_files.HIT_RATIOS)
    yield _table(paths.REPORT / dvc_files.TRAINING, dvc_files.LOSSES)
    one, some = ("one trace", "trace"), {"presence": "sometimes"}
    load = Each(*one, text="load over time and hit ratio by capacity")
    yield _alone(paths.REPORT / plots.trace_plot(T), load)
    one = ("one category", "category")
    text = "policies in the page cache on the test traces"
    yield _alone(paths.REPORT / plots.policies_plot(C), Each(*one, text=text, **some))
    text = "policies in the flash cache on the test traces"
    yield _alone(paths.REPORT / plots.flash_plot(C), Each(*one, text=text))
    text = "time of a page read over the money for RAM and SSD, by family of hierarchies"
    yield _alone(paths.REPORT / tiers.front_plot(C), Each(*one, text=text, **some))
    text = "pages read, hit ratios and slowdowns of every way to share a cache"
    yield _alone(paths.REPORT / sharing.BARS, Each("a family at a size", "family and size", text=text, **some))
    text = "how a cache is split over time"
    yield _alone(paths.REPORT / sharing.TIME, Each("a block of time", "place", text=text, **some))
    yield _alone(paths.REPORT / plots.model_plot(M), Each("one model", "model", text="learning curve and calibration"))
    for system in SYSTEMS.values():
        yield from (_table(paths.REPORT / name, table) for name, table in _described(system).plots.items())
