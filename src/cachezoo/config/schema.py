"""The schema of params.yaml: the common sections of `cachezoo.settings`, and those that each system declares."""

from typing import TYPE_CHECKING, Any, TypeAlias

from pydantic import BaseModel, Field, create_model, model_validator

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
from cachezoo.zoo.registry import SYSTEMS


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


def section(name: str) -> type[BaseModel]:
    """A section with a key a system: `model`, `fit` or `judge`, as its folder's settings.py has them."""
    fields: dict[str, Any] = {system.id: (getattr(system.settings.load(), name), ...) for system in SYSTEMS.values()}
    return create_model(name, __base__=Strict, **fields)


if TYPE_CHECKING:
    Model: TypeAlias = Any
    Fit: TypeAlias = Any
    Judge: TypeAlias = Any
else:
    Model, Fit, Judge = section("Model"), section("Fit"), section("Judge")


class Params(Strict):
    """The whole of params.yaml."""

    seed: int = Field(ge=0, lt=1 << 63)
    data: Data
    device: Device
    label: Label
    features: Features
    model: Model
    fit: Fit
    judge: Judge
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

    @model_validator(mode="after")
    def _costs_known(self) -> "Params":
        wanted = {system.id for system in SYSTEMS.values() if system.page_cache is not None}
        if set(self.evaluate.decision_cost_us) != wanted:
            message = f"evaluate.decision_cost_us is of {sorted(self.evaluate.decision_cost_us)}, not {sorted(wanted)}"
            raise ValueError(message)
        return self
