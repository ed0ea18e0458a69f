"""What is kept of a trace: statistics that another like it is drawn from, as one JSON document."""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np
from pydantic import Field, ValidationError, model_validator

from cachezoo.arrays import F64, I64
from cachezoo.documents import Document
from cachezoo.errors import ConfigError
from cachezoo.io import read_json, write_json
from cachezoo.kernels.slots import LAGS, NEAR_BYTES, NEAR_COLD, NEAR_REUSE
from cachezoo.traces.table import MAX_REQUEST_BYTES, PAGE_BYTES

EXACT = 16
PER_OCTAVE = 8
COUNTS_PER_OCTAVE = 4
LARGEST_OCTAVE = 9


def distance_bin(distance: I64) -> I64:
    """Bins of distances, at least 0: each of the first 16, then eight an octave."""
    octaves = np.log2(np.maximum(distance, EXACT) / EXACT)
    found: I64 = np.where(distance < EXACT, distance, EXACT + np.floor(PER_OCTAVE * octaves).astype(np.int64))
    return found


def distance_of(bins: I64, draw: F64) -> F64:
    """A distance in each bin.

    Args:
        bins: int64[n].
        draw: float64[n] in [0, 1), where in the bin.
    """
    far = EXACT * 2.0 ** ((bins - EXACT + draw) / PER_OCTAVE)
    found: F64 = np.where(bins < EXACT, bins.astype(np.float64), far)
    return found


def count_bin(count: I64) -> I64:
    """Bins of counts, at least 1: four an octave."""
    found: I64 = np.rint(COUNTS_PER_OCTAVE * np.log2(np.maximum(count, 1))).astype(np.int64)
    return found


def log2_of_count(bins: I64) -> F64:
    """The log2 that a bin of counts stands for."""
    found: F64 = bins / COUNTS_PER_OCTAVE
    return found


def octave_of_size(size: I64) -> I64:
    """The octave of a size in pages of 4 KiB, 0 for one page or less, at most 9."""
    pages = np.maximum(1, -(-size // 4096))
    return np.minimum(LARGEST_OCTAVE, np.ceil(np.log2(pages)).astype(np.int64))


FORMAT: Literal["cachezoo-synth-2"] = "cachezoo-synth-2"
KINDS, CLASSES = 5, 10
# Quantiles of gaps: every half per cent, and closer and closer to the largest, which makes a trace bursty.
TIME_STEPS = np.concatenate([np.arange(199) / 200, 1 - 0.005 * 2.0 ** -np.arange(16), [1.0]])
USE_STEPS = np.arange(17) / 16
# Bins of distances, counts and sizes: so fine that curves agree, and so coarse that a model stays small.
EXACT, PER_OCTAVE = 16, 8  # distances with a bin each; bins of an octave beyond them
COUNTS_PER_OCTAVE, LARGEST_OCTAVE = 4, 9
Counts = list[tuple[int, int, int]]
Whole = Annotated[int, Field(ge=0, le=2**40)]
Often = Annotated[int, Field(ge=1, le=2**40)]
Bytes = Annotated[int, Field(ge=1, le=MAX_REQUEST_BYTES)]
InPage = Annotated[int, Field(ge=0, lt=PAGE_BYTES)]
Lag = Annotated[int, Field(ge=1, le=LAGS)]
Ahead = Annotated[int, Field(ge=0, le=NEAR_BYTES)]
Bin = Annotated[int, Field(ge=0, le=500)]  # 2**60 and more
Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Digit = Annotated[str, Field(pattern="^[0-9]$")]
Shares = Annotated[dict[Digit, Annotated[float, Field(ge=0, le=1)]], Field(min_length=1)]
TimeGaps = Annotated[list[Amount], Field(min_length=len(TIME_STEPS), max_length=len(TIME_STEPS))]
UseGaps = Annotated[list[Amount], Field(min_length=len(USE_STEPS), max_length=len(USE_STEPS))]
Row = Annotated[list[Whole], Field(min_length=CLASSES, max_length=CLASSES)]
Phase = Annotated[list[Row], Field(min_length=CLASSES, max_length=CLASSES)]


class OfClass(Document):
    """Requests of one class: reads or writes that begin in one way."""

    # (bytes, bytes from the first page's start on, requests) of each pair that is kept
    sizes: list[tuple[Bytes, InPage, Often]] = Field(min_length=1)
    volumes: list[Amount] = Field(min_length=1)  # share of them on each volume
    runs: list[tuple[Lag, Ahead, Often]]  # (requests back, bytes between, requests) of those that go on with a run
    # by the size's octave, (distance's bin, count's bin, requests) of those that reuse a page
    reuse: dict[Digit, Annotated[list[tuple[Bin, Bin, Often]], Field(min_length=1)]]
    aligned: Shares  # by the size's octave, share that begins where the page's last access began
    whole: Shares  # by the size's octave, share whose last page was last accessed about when its first was
    alike: Shares  # by the size's octave, share whose page was last accessed by a request of the same octave


class Times(Document):
    """When requests come; quantiles are at `TIME_STEPS`.

    Attributes:
        rate: requests in each of equal windows of time.
        kinds: of each window, from the most even gaps in it to the least.
        gaps: of each kind, quantiles of the gaps between its windows' requests, over their window's mean gap.
        across: of each kind, quantiles of the gaps from a window's last request to the next one's first, in windows.
        idle: quantiles of the parts of such gaps on this side of windows without requests, in windows.
    """

    rate: list[Whole] = Field(min_length=1)
    kinds: list[Whole] = Field(min_length=1)
    gaps: list[TimeGaps] = Field(min_length=1)
    across: list[TimeGaps] = Field(min_length=1)
    idle: TimeGaps

    @model_validator(mode="after")
    def _together(self) -> "Times":
        if len(self.kinds) != len(self.rate) or not sum(self.rate):
            raise ValueError("rate holds no requests, or kinds are not of as many windows")
        return self


class HotUse(Document):
    """How reads, or writes, that begin at one byte of a hot place use it, or those of all other bytes.

    Attributes:
        op: 0 of reads, 1 of writes.
        phases: requests in equal parts of the trace.
        gaps: quantiles, at `USE_STEPS`, of the hot requests of the op from one to the next of this place, over their
            mean.
        requests: (bytes from the place's first page on, bytes, requests) of the most frequent.
    """

    op: int = Field(ge=0, le=1)
    phases: list[Whole] = Field(min_length=1)
    gaps: UseGaps
    requests: list[tuple[Whole, Bytes, Often]] = Field(min_length=1)

    @model_validator(mode="after")
    def _together(self) -> "HotUse":
        if not sum(self.phases):
            raise ValueError("phases hold no requests")
        return self


class HotPlace(Document):
    """Pages that are used over and over."""

    pages: int = Field(ge=1, le=2**31)  # how many, one behind the other
    volume: Whole  # on which they lie, by its rank
    uses: list[HotUse] = Field(min_length=1)  # by op and start

    @model_validator(mode="after")
    def _together(self) -> "HotPlace":
        end = max(offset + size for use in self.uses for offset, size, _ in use.requests)
        if end > self.pages * PAGE_BYTES:
            raise ValueError(f"a request ends at byte {end} of a place of {self.pages} pages")
        return self


class SynthModel(Document):
    """A trace's statistics; no address, name, or time of a request is among them."""

    format: Literal["cachezoo-synth-2"] = FORMAT  # of this document
    requests: int = Field(ge=1)  # of the trace
    seconds: float = Field(ge=0, le=1e12)  # its span
    pages: int = Field(ge=1)  # distinct pages of 4 KiB
    span: int = Field(ge=1, le=2**50)  # pages from the lowest address to the highest, of all volumes together
    times: Times  # when they come
    # for equal parts of the requests, how often a class (row) was followed by each class (column)
    phases: list[Phase] = Field(min_length=1)
    # by class: 5 * op + kind, see `cachezoo.kernels.slots`; all but those of hot requests
    classes: dict[Digit, OfClass]
    hot: list[HotPlace]  # places that are used over and over
    volumes: list[Amount] = Field(min_length=1)  # share of the requests on each volume, largest first

    @model_validator(mode="after")
    def _together(self) -> "SynthModel":
        near = [own for own in self.classes if int(own) % KINDS in (NEAR_COLD, NEAR_REUSE)]
        if empty := next((own for own in near if not self.classes[own].runs), None):
            raise ValueError(f"class {empty} goes on with runs, and has none")
        if len({len(use.phases) for place in self.hot for use in place.uses}) > 1:
            raise ValueError("hot places have phases of different numbers")
        return self


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
