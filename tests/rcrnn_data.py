"""A trace that an LSTM can learn: requests to a drifting hot set that come back, among others that never do."""

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from cachezoo.coded import Coded
from cachezoo.config.load import load_params
from cachezoo.features.table import read_features, write_features
from cachezoo.labels.benefit import write_benefit_labels
from cachezoo.labels.tags import read_benefit_labels
from cachezoo.models.trained import FittedModel, TrainedModel
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.table import PAGE_BYTES, Trace, TraceMeta
from cachezoo.training.fitted import Network, folder_of, write_judged_lstm, write_networks
from cachezoo.zoo.caching import fit, judge
from cachezoo.zoo.caching.fit import FitTrace
from cachezoo.zoo.caching.infer import one_teacher
from cachezoo.zoo.caching.prepared import Prepared
from tests.trained_data import Weights, fitted_folder

ROOT = Path(__file__).resolve().parents[1]
PARAMS = load_params(ROOT / "params.yaml")
FIT = replace(
    fit.Settings.of(PARAMS, "database"),
    model=PARAMS.model.caching.model_copy(update={"arch": "lstm_test", "layers": 1, "units": 16}),
    fit=PARAMS.fit.caching.model_copy(
        update={"seeds": 1, "max_epochs": 8, "batch": 8, "learning_rate": 0.01, "threads": 1}
    ),
)
JUDGE = replace(
    judge.Settings.of(PARAMS, "database"),
    judge=PARAMS.judge.caching,
    arch="lstm_test",
)


def make_trace(requests: int, seed: int, name: str = "trace") -> Trace:
    """Requests of one page: 70 % read or write one of 150 hot ones that drift, the others read elsewhere, once.

    All are of one size, so that no classic that looks at sizes can tell them apart.
    """
    rng = np.random.default_rng(seed)
    hot = rng.random(requests) < 0.7
    drift = np.arange(requests) // 6
    page = np.where(hot, drift + rng.integers(0, 150, requests), 200_000 + 4 * np.cumsum(~hot))
    return Trace(
        time_us=np.cumsum(rng.integers(500, 4000, requests)),
        op=(hot & (rng.random(requests) < 0.3)).astype(np.uint8),
        offset=page * PAGE_BYTES,
        size=np.full(requests, PAGE_BYTES),
        volume=Coded.constant("0", requests),
        meta=TraceMeta(name, "database", "csv", "0" * 64, licence="CC0-1.0"),
    )


def make_part(trace: Trace, folder: Path, settings: fit.Settings = FIT) -> FitTrace:
    """A trace through the stages label_benefit and features."""
    key, pages = trace.meta.trace_id, expand_pages(trace)
    rng = np.random.default_rng(1)
    t_hdd, t_ssd = rng.uniform(4000, 9000, len(trace)), np.full(len(trace), 80.0)
    labels, features = folder / f"{key}.labels.parquet", folder / f"{key}.features.parquet"
    write_benefit_labels(trace, pages, t_hdd, t_ssd, settings.label, labels)
    write_features(trace, pages, settings.features, settings.label, features)
    part = Prepared(key, trace, pages, read_benefit_labels(labels, settings.label))
    return FitTrace(part, read_features(features, settings.label))


@dataclass(frozen=True)
class MadeCaching:
    """The networks of a fit, what the fit says of them, what the judge does, and the weights that it keeps."""

    fitted: FittedModel
    networks: list[Network]
    trained: TrainedModel
    kept: Weights

    @property
    def weights(self) -> list[Weights]:
        """Of each network, with the heads of all teachers."""
        return [dict(network.weights) for network in self.networks]

    def write(self, folder: Path) -> TrainedModel:
        """Write both stages' folders: `folder`, and the fitted model's beside it."""
        write_networks(fitted_folder(folder), self.fitted, self.networks)
        shipped = folder_of(fitted_folder(folder), self.trained.calibration["network"])
        write_judged_lstm(folder, shipped, self.trained, self.kept)
        return self.trained


def fit_and_judge(
    parts: list[FitTrace], validation: list[FitTrace], fitting: fit.Settings = FIT, judging: judge.Settings = JUDGE
) -> MadeCaching:
    """A caching model of the parts, judged as the stages judge it."""
    fitted, networks = fit.fit_prepared("database", parts, validation, fitting, {})
    judged, weights = [own.part for own in validation or parts], [network.weights for network in networks]
    verdict, chosen = judge.judge(fitted, weights, judged, bool(validation), judging)
    kept = one_teacher(weights[chosen.network], fitted.learned["teachers"].index(chosen.teacher))
    return MadeCaching(fitted, networks, TrainedModel.of(fitted, verdict, {}), kept)
