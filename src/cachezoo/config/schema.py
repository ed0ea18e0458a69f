"""The schema of params.yaml. Unknown keys are refused everywhere."""

import posixpath
from functools import cached_property
from itertools import combinations
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, model_validator

from cachezoo.config.baleen import (
    AdmissionModel,
    AdmissionTrain,
    EpisodeLabel,
    FlashPolicy,
    HistoryFeatures,
    PrefetchModel,
    PrefetchTrain,
)
from cachezoo.config.device import Device
from cachezoo.config.export import Export
from cachezoo.config.rcrnn import (
    BenefitLabel,
    CachingModel,
    CachingTrain,
    ManagerPolicy,
    SequenceFeatures,
    WorkloadModel,
    WorkloadTrain,
)
from cachezoo.errors import ConfigError

Role = Literal["train", "validation", "test"]


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TraceEntry(_Strict):
    """One row of conf/matrix.yaml.

    Attributes:
        path: the trace's file.
        format: `auto` or a registered format; ingest refuses an unknown one.
        category: of workload.
        role: what the trace is for.
        part: cuts the trace by request before anything is learned from it.
        options: the format's options.
        skip_bad_rows: how many rows may be skipped instead of refused.
        unseen: a test trace of a program that no train trace of the category was recorded from.
    """

    path: str
    format: str
    category: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    role: Role
    part: tuple[float, float] = (0.0, 1.0)
    options: dict[str, str] = {}
    skip_bad_rows: int = Field(default=0, ge=0)
    unseen: bool = False

    @model_validator(mode="after")
    def _sensible(self) -> "TraceEntry":
        if self.category in ("workload", "flash"):
            message = f"category {self.category}: metrics/ holds something else by that name; take another name"
            raise ValueError(message)
        if self.unseen and self.role != "test":
            message = f"unseen is said of a {self.role} trace, but only a test trace can be of an unseen program"
            raise ValueError(message)
        if not 0 <= self.part[0] < self.part[1] <= 1:
            message = f"part {list(self.part)} must rise within 0 and 1"
            raise ValueError(message)
        return self


class Data(_Strict):
    """`data`: the matrix, as stages see it.

    Attributes:
        traces: by key.
        roles: keys of each category's traces by role. Follows from `traces`; the compose stage writes it, so that a
            category's stages depend on its own traces alone.
        page_categories: those whose traces serve a page cache; the others' are of objects, for a flash cache alone.
    """

    traces: dict[str, TraceEntry]
    page_categories: list[str]
    roles: dict[str, dict[Role, list[str]]] = {}

    def keys_by_role(self) -> dict[str, dict[Role, list[str]]]:
        """What `roles` must be."""
        found: dict[str, dict[Role, list[str]]] = {}
        for key, entry in sorted(self.traces.items()):
            found.setdefault(entry.category, {}).setdefault(entry.role, []).append(key)
        return found

    @model_validator(mode="after")
    def _follows(self) -> "Data":
        if self.roles and self.roles != self.keys_by_role():
            message = "roles do not follow from traces: run `dvc repro compose`"
            raise ValueError(message)
        return self

    @model_validator(mode="after")
    def _apart(self) -> "Data":
        for (key, one), (other, two) in combinations(sorted(self.traces.items()), 2):
            if one.role == two.role or posixpath.normpath(one.path) != posixpath.normpath(two.path):
                continue
            said = f"traces {key} ({one.role}, part {list(one.part)}) and {other} ({two.role}, part {list(two.part)})"
            if max(one.part[0], two.part[0]) < min(one.part[1], two.part[1]):
                message = f"{said} share requests of {one.path}: give them parts that do not overlap, or other files"
                raise ValueError(message)
            train, held = (one, two) if one.role == "train" else (two, one)
            if train.role == "train" and held.part[0] < train.part[0]:
                message = f"{said}: training comes first in time: give the train trace the earlier part of {one.path}"
                raise ValueError(message)
        return self


class Label(_Strict):
    """`label`."""

    benefit: BenefitLabel
    episodes: EpisodeLabel


class Features(_Strict):
    """`features`."""

    history: HistoryFeatures
    sequence: SequenceFeatures


class Model(_Strict):
    """`model`."""

    admission: AdmissionModel
    caching: CachingModel
    prefetch: PrefetchModel
    workload: WorkloadModel


class Train(_Strict):
    """`train`."""

    admission: AdmissionTrain
    caching: CachingTrain
    prefetch: PrefetchTrain
    workload: WorkloadTrain


class PolicySection(_Strict):
    """`policy`."""

    flash: FlashPolicy
    manager: ManagerPolicy


class DecisionCost(_Strict):
    """`evaluate.decision_cost_us`: µs that a decision of each kind of model adds to a request."""

    admission: float = Field(ge=0)
    caching: float = Field(ge=0)


class Evaluate(_Strict):
    """`evaluate`: the common comparison on test traces.

    Attributes:
        capacity_fraction: cache size as a part of a trace's distinct pages.
        policies: what is shown besides every classic and the optimum, such as further bounds.
        tuned: classics with other values than their defaults, as `cachezoo.policies.spec` writes them; validation
            chooses among them and the classics, and the chosen one runs on the test traces too.
        decision_cost_us: what models' decisions cost; classics cost nothing.
        bootstrap_blocks: time blocks of the bootstrap.
        bootstrap_samples: its resamples.
    """

    capacity_fraction: float = Field(gt=0, le=1)
    decision_cost_us: DecisionCost
    policies: list[str] = Field(min_length=1)
    tuned: list[str] = []
    bootstrap_blocks: int = Field(ge=20)
    bootstrap_samples: int = Field(ge=100)


class _Traces(dict[str, TraceEntry]):
    def __missing__(self, key: str) -> TraceEntry:
        message = f"params.yaml: holds no trace {key[:60]!r}; it has {', '.join(self) or 'none'}"
        raise ConfigError(message)


class Params(_Strict):
    """The whole of params.yaml."""

    seed: int = Field(ge=0)
    data: Data
    device: Device
    label: Label
    features: Features
    model: Model
    train: Train
    policy: PolicySection
    evaluate: Evaluate
    export: Export

    @model_validator(mode="after")
    def _labelled(self) -> "Params":
        capacity, labelled = self.policy.manager.capacity, self.label.benefit.capacities
        if all(round(100 * capacity, 9) != round(100 * other, 9) for other in labelled):
            message = f"policy.manager.capacity {capacity} is not among label.benefit.capacities {labelled}: add it"
            raise ValueError(message)
        return self

    @property
    def traces(self) -> dict[str, TraceEntry]:
        """Traces by key; one that is not there is a ConfigError."""
        return _Traces(self.data.traces)

    @cached_property
    def categories(self) -> list[str]:
        """Categories in the matrix, sorted."""
        return sorted({entry.category for entry in self.traces.values()})

    @property
    def page_categories(self) -> list[str]:
        """Categories whose traces serve a page cache, sorted."""
        return self.data.page_categories

    def traces_of(self, category: str, role: str) -> list[str]:
        """Keys of a category's traces of one role, sorted."""
        return sorted(
            key for key, entry in self.traces.items() if (entry.category, entry.role) == (category, role)
        )
