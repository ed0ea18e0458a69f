"""Learns a category's dictionaries on the train cycle: one for each combination of FIOS's features, and others of ours.

Nothing is chosen here but by FIOS's own rule: `learned["features"]` is the combination that the characteristics of the
train cycle choose (Sec. IV-C). The judge compares them all by write amplification.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from cachezoo import paths
from cachezoo.errors import TraceError
from cachezoo.flash_drive.names import LEGACY
from cachezoo.flash_drive.writes import drive_writes, several_volumes
from cachezoo.io import atomic_dir, sha256_file
from cachezoo.labels.streams import StreamLabels, read_stream_labels
from cachezoo.models.trained import Feature, FittedModel, TraceUse
from cachezoo.params import At, Picked
from cachezoo.seeds import derive_seed
from cachezoo.settings.data import Roles
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_WRITE, Trace
from cachezoo.zoo.streams.deaths import fit_lifetimes
from cachezoo.zoo.streams.dictionary import CHUNK_BYTES
from cachezoo.zoo.streams.learn import Variant, all_names, learn, named, write_variants
from cachezoo.zoo.streams.settings import Fit, Model

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

CONTEXT = "fit_streams"
FEATURES = [Feature(name="chunk", formula="request.chunk", unit="chunks of 32 KiB from the volume's start")]
GEOMETRY = {"chunk_bytes": CHUNK_BYTES}


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    model: Annotated[Model, At("model.streams")]
    fit: Annotated[Fit, At("fit.streams")]
    cycles: Annotated[Roles, At("data.cycles.{category}")]
    seed: Annotated[int, At("seed")]


def read_cycle(files: Sequence[str]) -> dict[str, Trace]:
    """The traces of one role that write anything, by key, in order.

    Raises:
        TraceError: a file is no readable trace.
    """
    found = {Path(file).stem: read_trace(Path(file)) for file in files}
    return {key: trace for key, trace in found.items() if (trace.op == OP_WRITE).any()}


def model_id(category: str, arch: str) -> str:
    """The id of a category's model."""
    return f"streams.{category}.{arch}"


def uses(traces: Mapping[str, Trace], role: Literal["train", "validation"]) -> list[TraceUse]:
    """Provenance of traces that a stage read, by key."""
    return [
        TraceUse(trace=key, role=role, sha256=trace.meta.source_sha256, licence=trace.meta.licence)
        for key, trace in traces.items()
    ]


def automatic(model: FittedModel) -> str:
    """The placement that FIOS's own rule chooses: a dictionary's name, or the drive without streams."""
    features = str(model.learned.get("features", ""))
    return named(features, str(model.learned["window"])) if features else LEGACY


def fit_prepared(
    category: str, traces: Mapping[str, Trace], labels: Sequence[StreamLabels], settings: Settings
) -> tuple[FittedModel, list[Variant]]:
    """Learn all dictionaries.

    Args:
        category: of the model.
        traces: of the train cycles that write anything, by key.
        labels: of their chunks, in the same order; the last cycle's are learned from.
        settings: parameters.
    """
    seed = derive_seed(settings.seed, CONTEXT, category)
    reason = why_not(category, traces, labels)
    found: list[Variant] = []
    learned: dict[str, Any] = {"window": settings.model.window}
    figures: dict[str, float | None] = {}
    if not reason:
        own = labels[-1]
        names = all_names(settings.fit.windows, settings.model.window)
        size = settings.fit.sid_bytes_per_tb
        weights = settings.fit.weights
        found = learn(own, names, settings.model.streams, settings.model.window, seed, size, weights)
        learned |= {"variants": names, "sid_bytes_per_tb": size, "weights": weights.model_dump()}
        learned |= {"features": own.figures.features, "high": own.figures.high, "theta": own.figures.theta}
        figures = {
            "chunks": float(len(own)),
            "page_writes": float(own.figures.page_writes),
            "dictionaries": float(len({one.dictionary.to_bytes() for one in found})),
        }
    model = FittedModel(
        model_id=model_id(category, settings.model.arch),
        kind="streams",
        category=category,
        arch={"arch": settings.model.arch, "streams": settings.model.streams},
        features=FEATURES,
        geometry=GEOMETRY,
        traces=uses(traces, "train"),
        inputs={},
        seeds={CONTEXT: seed},
        trained=not reason,
        learned=learned,
        figures=figures,
        reason=reason,
    )
    return model, found


def why_not(category: str, traces: Mapping[str, Trace], labels: Sequence[StreamLabels]) -> str:
    """Why nothing can be learned; empty where something can."""
    if not traces:
        return f"no train trace of {category} writes anything; one is added by cachezoo trace add"
    if several := several_volumes(sorted({name for one in labels for name in one.volume.names}), "train"):
        return several
    if len(labels[-1]) < 2:
        return "one chunk alone is written: there is nothing to tell apart"
    return ""


def read_labels(file: Path, trace: Trace) -> StreamLabels:
    """The labels of a trace's chunks.

    Raises:
        TraceError: they are damaged, or of other requests.
    """
    labels = read_stream_labels(file)
    figures = labels.figures
    if (figures.requests, figures.chunks) != (len(trace), len(labels)):
        message = (
            f"{file}: {len(labels)} chunks of {figures.chunks}, labelled of {figures.requests} requests where "
            f"{trace.meta.trace_id} has {len(trace)}; run the stages ingest and label_streams again"
        )
        raise TraceError(message)
    return labels


def fit_streams(params: "Params", category: str) -> None:
    """Stage fit_streams, one job: write `models/fitted/streams/streams.<category>.<arch>/`."""
    settings = Settings.of(params, category)
    traces = read_cycle(settings.cycles.get("train", []))
    files = [paths.labels("streams", category, key) for key in traces]
    labels = [read_labels(file, trace) for file, trace in zip(files, traces.values(), strict=True)]
    model, found = fit_prepared(category, traces, labels, settings)
    lifetimes = (
        fit_lifetimes(drive_writes([*traces.values()]), settings.fit.lifetime, settings.seed, category)
        if model.trained
        else None
    )
    inputs = {str(file): sha256_file(file) for file in [*map(Path, settings.cycles.get("train", [])), *files]}
    with atomic_dir(paths.fitted(model.model_id)) as folder:
        model.model_copy(update={"inputs": inputs}).write(folder)
        write_variants(found, folder)
        if lifetimes is not None:
            lifetimes.write(folder)
