"""What is kept of a trace: statistics that another like it is drawn from, as one JSON document."""

from pathlib import Path
from typing import Literal

from pydantic import Field, ValidationError

from cachezoo.documents import Document
from cachezoo.errors import ConfigError
from cachezoo.io import read_json, write_json

FORMAT: Literal["cachezoo-synth-2"] = "cachezoo-synth-2"
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


class Times(Document):
    """When requests come; quantiles are at `cachezoo.synth.times.STEPS`.

    Attributes:
        rate: requests in each of equal windows of time.
        kinds: of each window, from the most even gaps in it to the least.
        gaps: of each kind, quantiles of the gaps between its windows' requests, over their window's mean gap.
        across: of each kind, quantiles of the gaps from a window's last request to the next one's first, in windows.
        idle: quantiles of the parts of such gaps on this side of windows without requests, in windows.
    """

    rate: list[int] = Field(min_length=1)
    kinds: list[int] = Field(min_length=1)
    gaps: list[list[float]] = Field(min_length=1)
    across: list[list[float]] = Field(min_length=1)
    idle: list[float] = Field(min_length=2)


class HotUse(Document):
    """How reads, or writes, that begin at one byte of a hot place use it, or those of all other bytes.

    Attributes:
        op: 0 of reads, 1 of writes.
        phases: requests in equal parts of the trace.
        gaps: quantiles of the hot requests of the op from one to the next of this place, over their mean.
        requests: (bytes from the place's first page on, bytes, requests) of the most frequent.
    """

    op: int = Field(ge=0, le=1)
    phases: list[int] = Field(min_length=1)
    gaps: list[float] = Field(min_length=2)
    requests: Counts = Field(min_length=1)


class HotPlace(Document):
    """Pages that are used over and over.

    Attributes:
        pages: how many, one behind the other.
        volume: on which they lie, by its rank.
        uses: by op and start.
    """

    pages: int = Field(ge=1)
    volume: int = Field(ge=0)
    uses: list[HotUse]


class SynthModel(Document):
    """A trace's statistics; no address, name, or time of a request is among them.

    Attributes:
        format: of this document.
        requests: of the trace.
        seconds: its span.
        pages: distinct pages of 4 KiB.
        span: pages from the lowest address to the highest, of all volumes together.
        times: when they come.
        phases: for equal parts of the requests, how often a class (row) was followed by each class (column).
        classes: by class: 5 * op + kind, see `cachezoo.kernels.slots`; all but those of hot requests.
        hot: places that are used over and over.
        volumes: share of the requests on each volume, largest first.
    """

    format: Literal["cachezoo-synth-2"] = FORMAT
    requests: int = Field(ge=1)
    seconds: float = Field(ge=0, allow_inf_nan=False)
    pages: int = Field(ge=1)
    span: int = Field(ge=1)
    times: Times
    phases: list[list[list[int]]] = Field(min_length=1)
    classes: dict[str, OfClass]
    hot: list[HotPlace]
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
