"""Learns a category's profiles: where in each queue the pages are that are accessed, on the train traces.

Nothing is chosen here. A profile is hits per reference of each fragment of the queue; that of a category is the mean of
those of its train traces, and each trace's own is kept too.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np

from cachezoo import paths
from cachezoo.arrays import F64
from cachezoo.errors import TrainingError, no_trace
from cachezoo.io import atomic_dir, sha256_file
from cachezoo.models.trained import Feature, FittedModel, trace_uses
from cachezoo.params import At, Picked
from cachezoo.seeds import derive_seed
from cachezoo.settings.data import Roles
from cachezoo.traces.table import PAGE_BYTES
from cachezoo.zoo.virtual.case import Case
from cachezoo.zoo.virtual.metrics import Queue
from cachezoo.zoo.virtual.serve import DOUBLE, profile_of
from cachezoo.zoo.virtual.settings import Fit, Model

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

FEATURES = [Feature(name="page", formula="request.page", unit="pages of 4 KiB from the volume's start")]
GEOMETRY = {"page_bytes": PAGE_BYTES}
CONTEXT = "tune_virtual"
PROFILES, SUFFIX = "profiles", ".bin"
Profiles = dict[tuple[Queue, int], F64]


@dataclass(frozen=True)
class Settings(Picked):
    """What the stage reads of params.yaml."""

    model: Annotated[Model, At("model.virtual")]
    fit: Annotated[Fit, At("fit.virtual")]
    roles: Annotated[Roles, At("data.roles.{category}")]
    seed: Annotated[int, At("seed")]


def model_id(category: str, arch: str) -> str:
    """The id of a category's model."""
    return f"virtual.{category}.{arch}"


def learn(cases: Sequence[Case], fit: Fit, fragment: int) -> Profiles:
    """float64[traces, fragments] of each queue and length: hits per reference, a row a trace.

    Raises:
        TrainingError: a length is no multiple of the fragment.
    """
    wrong = [pages for pages in fit.pages if pages % fragment]
    if wrong:
        message = (
            f"fit.virtual.pages: {wrong[0]} is no multiple of model.virtual.fragment {fragment}; change one of them"
        )
        raise TrainingError(message)
    found: Profiles = {}
    for queue in fit.queues:
        for pages in fit.pages:
            each = [case.moves(queue, pages).position for case in cases]
            found[queue, pages] = np.stack([profile_of(own, pages // fragment, fragment) for own in each])
    return found


def fit_prepared(
    category: str, cases: Sequence[Case], settings: Settings, inputs: dict[str, str]
) -> tuple[FittedModel, Profiles]:
    """Learn from the train traces.

    Raises:
        TrainingError: there is none, or a queue's length is no multiple of the fragment.
    """
    if not cases:
        raise TrainingError(no_trace(category, "train"))
    profiles = learn(cases, settings.fit, settings.model.fragment)
    seen = max(float(rows.sum()) for rows in profiles.values())
    model = FittedModel(
        model_id=model_id(category, settings.model.arch),
        kind="virtual",
        category=category,
        arch=settings.model.model_dump(),
        features=FEATURES,
        geometry=GEOMETRY,
        traces=trace_uses(cases, []),
        inputs=inputs,
        seeds={CONTEXT: derive_seed(settings.seed, CONTEXT, category)},
        trained=seen > 0,
        learned={
            "queues": list(settings.fit.queues),
            "pages": list(settings.fit.pages),
            "fragment": settings.model.fragment,
            "references": [case.total for case in cases],
        },
        figures={"profiles": float(len(profiles))},
        reason="" if seen > 0 else "no page of the train traces is asked again while a queue holds it",
    )
    return model, profiles


def write_profiles(profiles: Profiles, folder: Path) -> None:
    """Write each queue's rows into `folder`/profiles: little-endian float64, a trace after the other."""
    (folder / PROFILES).mkdir()
    for (queue, pages), rows in profiles.items():
        (folder / PROFILES / f"{queue}.{pages}{SUFFIX}").write_bytes(rows.astype("<f8").tobytes())


def read_profile(folder: Path, model: FittedModel, queue: Queue, pages: int) -> F64:
    """The category's profile of a queue: float64[fragments], the mean over the train traces.

    Raises:
        TrainingError: the file is missing, or not of that queue and those traces.
    """
    file, traces = folder / PROFILES / f"{queue}.{pages}{SUFFIX}", len(model.learned["references"])
    fragments = pages // int(model.learned["fragment"])
    try:
        data = file.read_bytes()
    except OSError as error:
        raise TrainingError(f"{file}: cannot be read ({error.strerror}); fit the model again") from error
    if len(data) != DOUBLE * traces * fragments:
        message = f"{file}: has {len(data)} bytes, not those of {traces} traces and {fragments} fragments; fit it again"
        raise TrainingError(message)
    mean: F64 = np.frombuffer(data, "<f8").reshape(traces, fragments).mean(axis=0)
    return mean


def fit_virtual(params: "Params", category: str) -> None:
    """Stage fit_virtual, one job: write `models/fitted/virtual/virtual.<category>.<arch>/`."""
    settings = Settings.of(params, category)
    keys = settings.roles.get("train", [])
    cases = Case.read(category, keys, 1.0, settings.model.fragment)
    inputs = {str(path): sha256_file(path) for path in (paths.requests(category, key) for key in keys)}
    model, profiles = fit_prepared(category, cases, settings, inputs)
    with atomic_dir(paths.fitted(model.model_id)) as folder:
        model.write(folder)
        write_profiles(profiles, folder)
