"""The paper's own networks: trained and judged by the project's stages, with the presets `paper` of conf/model/.

What is theirs alone is in conf/model/caching/paper.yaml and conf/model/workload/paper.yaml; the rest is the project's.
"""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.metrics.files import MAKE, present
from cachezoo.yaml_file import parsed
from cachezoo.zoo.caching.fit import fit_caching
from cachezoo.zoo.caching.judge import judge_caching
from cachezoo.zoo.workload.evaluate import evaluate_workload
from cachezoo.zoo.workload.fit import fit_workload
from cachezoo.zoo.workload.judge import judge_workload
from cachezoo.zoo.workload.metrics import WorkloadMetrics

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

CONF = Path("conf")
FITTED, TRAINED = Path("lab/models/fitted"), Path("lab/models/trained")
PRESETS = {"caching": "paper", "workload": "paper"}
CHANGES = ("fit.caching.seeds=1",)  # a caching network: of five that ours have, one is shipped and run, too
WORKLOAD = "workload"


def paper_params() -> "Params":
    """The project's parameters with both presets.

    Raises:
        ConfigError: conf/ is wrong.
    """
    from cachezoo.config.compose import compose
    from cachezoo.config.load import validate_params

    return validate_params(parsed(compose(CONF, PRESETS, CHANGES), str(CONF)), str(CONF))


def classifier_metrics(_: "Params") -> WorkloadMetrics:
    """Stage rcrnn_classifier of lab/dvc.yaml: the paper's classifier on the test traces.

    Raises:
        CachezooError: it is missing, or a trace is.
    """
    return evaluate_workload(present(paths.trained("workload.paper", TRAINED), MAKE), paper_params())


def publish(model: str) -> None:
    """Stage rcrnn_paper of lab/dvc.yaml: train and judge a category's caching network, or the classifier.

    Args:
        model: the category, or `WORKLOAD`.

    Raises:
        TrainingError: nothing to train on.
        TraceError: a file is missing or damaged.
    """
    params = paper_params()
    if model == WORKLOAD:
        fit_workload(params, FITTED)
        judge_workload(params, FITTED, TRAINED)
        return
    fit_caching(params, model, FITTED)
    judge_caching(params, model, FITTED, TRAINED)
