"""What the rest of the project knows of a system: one record, its parts by name until they are needed."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeVar

from cachezoo import paths
from cachezoo.errors import ConfigError, TrainingError

if TYPE_CHECKING:
    from cachezoo.models.measured import Measured
    from cachezoo.settings.params import Params
    from cachezoo.show.section import Figure, Section
    from cachezoo.show.table import Table as ViewTable

S = TypeVar("S", bound="Measured")
Scope = Literal["category", "page category", "stream category", "all"]


@dataclass(frozen=True)
class Lazy:
    """A module, or something in it, that is imported when it is needed."""

    name: str  # `package.module`, `package.module:name` or `package.module:name.attribute`
    # Arguments by name that what is loaded is always called with.
    given: Mapping[str, Any] = field(default_factory=dict, hash=False)

    def load(self) -> Any:  # noqa: ANN401 - whatever has that name
        """Import it."""
        module, _, inside = self.name.partition(":")
        found: Any = import_module(module)
        found = attrgetter(inside)(found) if inside else found
        return partial(found, **self.given) if self.given else found

    def __call__(self, *arguments: Any) -> Any:  # noqa: ANN401 - see `load`
        """Import and call it."""
        return self.load()(*arguments)


@dataclass(frozen=True)
class ReportSection(Generic[S]):
    """What a system says on the report's page besides the tables that all share.

    Attributes:
        id, title: of the section.
        answer: a few sentences that it begins with.
        section: its tables and figures, from those drawn; None where it has nothing to show.
        draw: draws its figures into a folder.
        carried: (sources, category) what its model does on other set-ups and programs of a category, beside the test
            traces of the category itself; empty where nothing was tried.
    """

    id: str
    title: str
    answer: "Callable[[S], str]"
    section: "Callable[[S, Mapping[str, Figure]], Section | None]"
    draw: "Callable[[S, Path], Sequence[Figure]]"
    carried: "Callable[[S, str], str] | None" = None


@dataclass(frozen=True)
class Results:
    """What `cachezoo models results` shows of a system besides what all share."""

    # (metrics/<system>.json as its reader gives it; where a model is of a category, those of the categories by name) to
    # tables for the terminal.
    tables: "Callable[[Any], Sequence[ViewTable]]"
    # (the same) to the JSON values behind them, lists by name.
    values: Callable[[Any], Mapping[str, Sequence[Mapping[str, Any]]]]


@dataclass(frozen=True)
class Card:
    """A system's own words on the card of its bundles."""

    what: str  # what a model does, in one sentence
    ask: str  # Python lines that ask a loaded `model`, many requests at once
    runtime: str  # Python lines that ask a `model` of cachezoo.runtime, one request at a time
    native: str  # the same in C, from a `stream` on
    avoid: str  # what it is not for; completes "Not for ..."
    safer: str  # what to take where it is not promoted; begins a sentence


@dataclass(frozen=True)
class Bundling:
    """How a system's models become bundles."""

    card: Card  # words of the bundle's card
    weights: tuple[str, ...]  # files of weights that a bundle holds
    libraries: tuple[str, ...]  # distributions that decide a bundle's bytes
    kind: Lazy  # `cachezoo.serving.kind.Kind`, how a bundle serves and replays
    # (manifest, the weights' files by name) to the bytes of an ONNX file; None where a model is no network or forest.
    onnx: Lazy | None = None
    # (folder, model, features) to the outputs of the training library, to compare the exported model with; None where
    # what was trained is the file that the bundle holds.
    reference: Lazy | None = None
    calibrated: bool = False  # a bundle needs a threshold that was calibrated to a write budget
    # Files of weights instead, of models whose policy is of this type.
    other_weights: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)

    # Words of the card of such models.
    other_card: Card | None = None

    def words(self, policy: Mapping[str, Any]) -> Card:
        """Words of the card of a model of a policy."""
        return self.other_card if self.other_card and policy.get("type") in self.other_weights else self.card

    def files(self, policy: Mapping[str, Any]) -> tuple[str, ...]:
        """Files of weights that a bundle of a policy holds."""
        return self.other_weights.get(str(policy.get("type")), self.weights)

    @classmethod
    def of_forests(cls, files: tuple[str, ...], output: str, **others: Any) -> "Bundling":  # noqa: ANN401 - its fields
        """Of models that are forests: LightGBM's texts, whose scores are the columns of one output."""
        return cls(
            weights=files,
            libraries=("lightgbm", "numba", "numpy"),
            onnx=Lazy("cachezoo.models.onnx_gbdt:export_forests", {"files": files, "output": output}),
            reference=Lazy("cachezoo.models.forest:scores_of", {"files": files}),
            **others,
        )

    @classmethod
    def of_lstm(cls, home: str, exported: str, *libraries: str, **others: Any) -> "Bundling":  # noqa: ANN401 - its fields
        """Of models that are an LSTM, of the system in this package; ONNX holds one `step` or a whole `window`."""
        return cls(
            weights=("weights.safetensors",),
            libraries=("lightning", "numba", "numpy", "safetensors", "torch", *libraries),
            onnx=Lazy(f"cachezoo.models.onnx_lstm:export_{exported}"),
            reference=Lazy(f"{home}.infer:reference"),
            **others,
        )


@dataclass(frozen=True)
class Studied:
    """How a system's trainings are compared over seeds; `is` and `are` fields are the figure in words."""

    system: str  # its id
    # The figure that may choose a recipe, of data that judges nothing: its name in train.json's `validation`, or a
    # function of the trained model's folder.
    chooses: str | Lazy
    choosing_is: str
    lower_is_better: bool  # of that figure
    judging: str  # name in `validation` of the figure of the verdict
    judging_is: str
    # (folder of the trained model, params, category), without category for a system of all, to a figure on each test
    # trace. With `figure` (params, category) to metrics whose rows have it; the chosen row's counts.
    tested: Lazy
    tests_are: str
    figure: str = ""

    @property
    def source(self) -> Path:
        """The file of `tested`, from the project's root."""
        return Path("src", *self.tested.name.partition(":")[0].split(".")).with_suffix(".py")

    def fit(self, params: "Params", *category: str) -> None:
        """The system's stage fit_<id>."""
        Lazy(f"cachezoo.zoo.{self.system}.fit:fit_{self.system}").load()(params, *category)

    def judge(self, params: "Params", *category: str) -> None:
        """The system's stage judge_<id>."""
        Lazy(f"cachezoo.zoo.{self.system}.judge:judge_{self.system}").load()(params, *category)

    def choosing(self, folder: Path) -> float:
        """The figure that may choose.

        Raises:
            TrainingError: the model has none.
        """
        from cachezoo.models.trained import read_trained

        if isinstance(self.chooses, Lazy):
            return float(self.chooses.load()(folder))
        found = read_trained(folder).validation.get(self.chooses)
        if found is None:
            raise TrainingError(f"{folder}: too few validation traces or windows for a {self.chooses} to compare")
        return found

    def tests(self, params: "Params", *category: str) -> dict[str, float]:
        """A figure of the trained model on each test trace."""
        if not self.figure:
            name = ".".join([self.system, *category, getattr(params.model, self.system).arch])
            return dict(self.tested.load()(paths.trained(name), params, *category))
        found = self.tested.load()(params, *category)
        rows = {key: found.chosen(trace) for key, trace in found.traces.items()}
        return {key: getattr(row, self.figure) for key, row in rows.items() if row is not None}


@dataclass(frozen=True)
class System:
    """A kind of model, from its settings to the section of the report."""

    id: str  # lower case; the first part of a model's id, the bundle's kind, and the key in params.yaml
    title: str  # one line for people
    source: str  # paper and section
    # What one model is of: a `category`, a `page category` (whose traces serve a page cache), a `stream category`
    # (whose writes a drive lives through), or `all`.
    scope: Scope
    headline: tuple[str, ...]  # names of the figures that its models are compared by
    settings: Lazy  # module with `Model`, `Fit` and `Judge`, its sections of params.yaml
    bundling: Bundling | None = None  # how its models become bundles; None where they become none
    # (trained model, `cachezoo.zoo.page_case.PageCase`) to a page cache's run and figures besides; None where it
    # decides nothing in one.
    page_cache: Lazy | None = None
    # (serving object, name, trace, pages, capacity, warmup) to the same of a loaded bundle.
    page_bundle: Lazy | None = None
    report: Lazy | None = None  # its `ReportSection`; None where the common tables say everything
    # (path) to `cachezoo.metrics.base.Overall`, the reader of metrics/<system>.json, and where a model is of a category
    # of metrics/<system>/<category>.json; None where the figures of a category's caches say it.
    metrics: Lazy | None = None
    # Its `Results`; None where the tables that all share and the summary of its metrics say everything.
    results: Lazy | None = None
    plots: tuple[str, ...] = ()  # files of the report that belong to its models, besides a model's own
    study: Studied | None = None  # its `Studied`; None where `cachezoo models study` cannot compare its trainings


def studied_of(system: System) -> Studied:
    """How a system's trainings are compared.

    Raises:
        ConfigError: they cannot be.
    """
    if system.study is None:
        raise ConfigError(f"system {system.id}: its record has no `study`, so its trainings cannot be compared")
    return system.study
