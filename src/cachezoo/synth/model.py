"""What is kept of a trace: statistics that another like it is drawn from, as one JSON document."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from cachezoo.documents import Document
from cachezoo.errors import ConfigError
from cachezoo.io import read_json, write_json

FORMAT: Literal["cachezoo-synth-1"] = "cachezoo-synth-1"
Counts = list[tuple[int, int, int]]


class OfClass(Document):
    """Requests of one class: reads or writes that begin in one way.

    Attributes:
        sizes: (bytes, bytes from the first page's start on, requests) of each pair that is kept.
        volumes: share of them on each volume.
        runs: (requests back, bytes between, requests) of those that go on with a run.
        reuse: by the size's octave, (distance's bin, count's bin, requests) of those that reuse a page.
        aligned: by the size's octave, share that begins where the page's last access began.
        alike: by the size's octave, share whose page was last accessed by a request of the same octave.
        whole: by the size's octave, share whose last page was last accessed about when its first was.
    """

    sizes: Counts
    volumes: list[float]
    runs: Counts
    reuse: dict[str, Counts]
    aligned: dict[str, float]
    whole: dict[str, float]
    alike: dict[str, float]


class SynthModel(Document):
    """A trace's statistics; no address, name, or time of a request is among them.

    Attributes:
        format: of this document.
        requests: of the trace.
        seconds: its span.
        pages: distinct pages of 4 KiB.
        span: pages from the lowest address to the highest, of all volumes together.
        rate: requests in each of equal windows of time.
        gaps: quantiles of the time between requests over its window's mean, at `cachezoo.synth.fit.STEPS`.
        phases: for equal parts of the requests, how often a class (row) was followed by each class (column).
        classes: by class: 4 * op + kind, see `cachezoo.kernels.synth`.
        volumes: share of the requests on each volume, largest first.
    """

    format: Literal["cachezoo-synth-1"] = FORMAT
    requests: int = Field(ge=1)
    seconds: float = Field(ge=0, allow_inf_nan=False)
    pages: int = Field(ge=1)
    span: int = Field(ge=1)
    rate: list[int] = Field(min_length=1)
    gaps: list[float] = Field(min_length=2)
    phases: list[list[list[int]]] = Field(min_length=1)
    classes: dict[str, OfClass]
    volumes: list[float] = Field(min_length=1)


def save_model(model: SynthModel, path: Path) -> None:
    """Write a model."""
    write_json(path, model.model_dump(mode="json"))


def load_model(path: Path) -> SynthModel:
    """Read a model.

    Raises:
        ConfigError: no model of this release.
        CachezooError: the file cannot be read.
    """
    values = read_json(path)
    try:
        return SynthModel.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        message = f"{path}: no model of trace synth ({where}: {first['msg']}); make it with trace synth --model"
        raise ConfigError(message) from error
