"""Sections `model.streams`, `fit.streams` and `judge.streams`."""

from typing import Annotated, Literal

from pydantic import Field

from cachezoo.settings.base import Count, Gain, Part, Strict
from cachezoo.settings.wear import Victim

Window = Literal["1s", "60s", "5min", "100th"]
Streams = Annotated[int, Field(ge=2, le=256)]


class Model(Strict):
    """`model.streams`."""

    arch: str = Field(pattern=r"^[a-z0-9_]+$")  # last part of the model's id
    streams: Streams  # K, that the drive has
    window: Window  # length of the windows that FIOS's own choice of features looks at


Weight = Annotated[float, Field(ge=0, le=1e6)]


class Weights(Strict):
    """`fit.streams.weights`: how heavy each bit is in K-means (FIOS, Sec. II-A); the paper's default is equal weights.

    A bit's column is multiplied by its weight; one of 0 leaves the feature out. Weights matter where the bits have more
    distinct rows than there are streams, and else only by what they leave out.
    """

    frequency: Weight = 1.0  # F
    adjacent: Weight = 1.0  # A
    sequential: Weight = 1.0  # S
    coherent: Weight = 1.0  # C, and P in its place


class Lifetime(Strict):
    """`fit.streams.lifetime`, of the forests that predict a page write's lifetime; the defaults are those of conf/."""

    seeds: int = Field(default=5, ge=1, le=99)  # forests, each of another seed
    # Page writes of the train cycles that a forest learns from, at most; drawn by its seed.
    rows: int = Field(default=50_000, ge=100, le=10_000_000)
    trees: int = Field(default=40, ge=1, le=1000)
    leaves: int = Field(default=31, ge=2, le=1024)
    min_rows_in_leaf: int = Field(default=50, ge=1, le=1_000_000)
    learning_rate: Part = 0.15
    input_fraction: Part = 0.7  # drawn for each tree
    row_fraction: Part = 0.7


class Fit(Strict):
    """`fit.streams`."""

    # Of the windows that every combination of features is fitted with; `model.streams.window` is one.
    windows: list[Window] = Field(min_length=1)
    # Bytes that a dictionary's ranges may take for each TB (10**12 bytes) of its volume; an exact one takes at most 153
    # million.
    sid_bytes_per_tb: float = Field(gt=0, le=1e12)
    weights: Weights = Weights()
    lifetime: Lifetime = Lifetime()


class Classes(Strict):
    """`judge.streams.lifetime`: what is tried of the forests on validation; the defaults are those of conf/."""

    classes: list[Streams] = Field(default=[2, 3, 4, 6], min_length=1)  # of death, that predictions are cut into
    # By address, that the longest-lived class is cut into.
    parts: list[Literal[1, 2, 4, 8, 16]] = Field(default=[1, 4, 8], min_length=1)


class Equal(Strict):
    """Values of the arguments of `cachezoo.flash_drive.placements.equal`; what is left out keeps its default."""

    streams: list[Streams] | None = None


class AutoStream(Strict):
    """The same of `autostream`."""

    decay: list[Annotated[float, Field(gt=0, le=1e6)]] | None = None
    chunk_bytes: list[Count] | None = None


class SepBit(Strict):
    """The same of `cachezoo.kernels.placing.SepBit`."""

    collected: list[Annotated[int, Field(ge=1, le=1_000_000)]] | None = None


class MultiQ(Strict):
    """The same of `multiq`."""

    chunk_bytes: list[Count] | None = None


class Dac(Strict):
    """The same of `cachezoo.kernels.placing.dac.Dac`."""

    young: list[Annotated[float, Field(ge=0, le=1e6)]] | None = None


class Warcip(Strict):
    """The same of `cachezoo.kernels.placing.warcip.Warcip`."""

    window: list[Annotated[int, Field(ge=1, le=1_000_000)]] | None = None


class Future(Strict):
    """The same of `cachezoo.kernels.placing.future.Future`."""

    span: list[Count] | None = None


class Plain(Strict):
    """A placement without arguments."""


class Oracle(Strict):
    """The same of `oracle`."""

    rule: list[Literal["lifetime", "death", "both"]] | None = None
    share: list[Part] | None = None


class Baselines(Strict):
    """`judge.streams.baselines`: the placements that nobody taught, of which all combinations of values are tried."""

    equal: Equal | None = None
    autostream: AutoStream | None = None
    multiq: MultiQ | None = None
    sepbit: SepBit | None = None
    dac: Dac | None = None
    sfs: Plain | None = None
    multilog: Plain | None = None
    mida: Plain | None = None
    warcip: Warcip | None = None
    foresight: Plain | None = None
    oracle: Oracle | None = None
    fk: Future | None = None


class Judge(Strict):
    """`judge.streams`."""

    baselines: Baselines
    least_gain: Gain  # share of the rival's flash writes that has to be saved
    least_waf: float = Field(ge=1, le=100)  # of a drive without streams; below it there is nothing to gain
    # Further shares of flash without an address that the test is repeated with.
    over_provisioning: list[Annotated[float, Field(gt=0, lt=1)]]
    # Further victims of the drive that the test is repeated with, and that an answer has to hold under.
    victims: list[Victim] = Field(default=["cost-benefit"])
    lifetime: Classes = Classes()
