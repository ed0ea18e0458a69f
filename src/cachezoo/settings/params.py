"""The run's parameters as functions take them; `cachezoo.config.load` checks the sections of each system, too."""

from typing import Annotated, Any, Self

from pydantic import Field, model_validator

from cachezoo.settings.base import Part, Rounds, Strict
from cachezoo.settings.data import Data
from cachezoo.settings.device import Device
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy, HistoryFeatures
from cachezoo.settings.page_cache import BenefitLabel, ClassicsPolicy, ManagerPolicy, SequenceFeatures
from cachezoo.settings.prices import Prices
from cachezoo.settings.share import SharePolicy
from cachezoo.settings.tiers import TiersPolicy
from cachezoo.settings.wear import Drive, StreamsLabel

SEMVER = r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$"


class Export(Strict):
    """`export`: version and golden rows of the bundles."""

    version: str = Field(pattern=SEMVER)  # semantic version; raise it when a released bundle's bytes change
    golden_rows: Rounds  # golden requests to start with
    golden_rows_max: Rounds  # they are doubled up to this many while a branch of the runtime is not passed

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if self.golden_rows_max < self.golden_rows:
            raise ValueError(f"golden_rows_max {self.golden_rows_max} is below golden_rows {self.golden_rows}")
        return self


class Evaluate(Strict):
    """`evaluate`: the common comparison on test traces.

    Attributes:
        capacity_fraction: cache size as a part of a trace's distinct pages.
        policies: what is shown besides every classic and the optimum, such as further bounds.
        decision_cost_us: µs that a decision of each kind of model adds to a request; classics cost nothing.
    """

    capacity_fraction: Part
    decision_cost_us: dict[str, Annotated[float, Field(ge=0, le=1e9)]]
    policies: list[str] = Field(min_length=1)


class Label(Strict):
    """`label`."""

    benefit: BenefitLabel
    episodes: EpisodeLabel
    streams: StreamsLabel


class Features(Strict):
    """`features`."""

    history: HistoryFeatures
    sequence: SequenceFeatures


class PolicySection(Strict):
    """`policy`."""

    classics: ClassicsPolicy
    drive: Drive
    flash: FlashPolicy
    manager: ManagerPolicy
    share: SharePolicy
    tiers: TiersPolicy


class Params(Strict):
    """The whole of params.yaml; `model`, `fit` and `judge` have an attribute for each system, by its id."""

    seed: int = Field(ge=0, lt=1 << 63)
    data: Data
    device: Device
    label: Label
    features: Features
    model: Any
    fit: Any
    judge: Any
    policy: PolicySection
    prices: Prices
    evaluate: Evaluate
    export: Export

    @model_validator(mode="after")
    def _labelled(self) -> "Params":
        capacity, labelled = self.policy.manager.capacity, self.label.benefit.capacities
        if all(round(100 * capacity, 9) != round(100 * other, 9) for other in labelled):
            message = f"policy.manager.capacity {capacity} is not among label.benefit.capacities {labelled}: add it"
            raise ValueError(message)
        return self
