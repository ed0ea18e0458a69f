"""The run's parameters as functions take them; `cachezoo.config.schema` checks the sections of each system, too."""

from typing import Any

from pydantic import Field, model_validator

from cachezoo.settings.base import Strict
from cachezoo.settings.data import Data
from cachezoo.settings.device import Device
from cachezoo.settings.evaluate import Evaluate
from cachezoo.settings.export import Export
from cachezoo.settings.flash import EpisodeLabel, FlashPolicy, HistoryFeatures
from cachezoo.settings.page_cache import BenefitLabel, ClassicsPolicy, ManagerPolicy, SequenceFeatures
from cachezoo.settings.prices import Prices
from cachezoo.settings.share import SharePolicy
from cachezoo.settings.tiers import TiersPolicy
from cachezoo.settings.wear import Drive


class Label(Strict):
    """`label`."""

    benefit: BenefitLabel
    episodes: EpisodeLabel


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
