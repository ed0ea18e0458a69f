from pathlib import Path

import pytest

from cachezoo import paths
from cachezoo.bundles.measured import Metrics, measured, read_metrics
from cachezoo.metrics.flash import Comparison
from cachezoo.models.inputs import INPUTS_FILE
from cachezoo.models.trained import Feature
from tests.metrics_data import beside_model, flash_metrics
from tests.report_data import ADMISSION, trained

SMALL = f"{ADMISSION}_small"
FLASH = flash_metrics(ADMISSION).model_copy(update={"beside": {SMALL: beside_model(SMALL, 1.5)}})
TRACE = FLASH.traces["web_test"]


@pytest.mark.parametrize(
    ("model", "own"),
    [
        (ADMISSION, TRACE.deployed),
        (SMALL, FLASH.beside[SMALL].traces["web_test"].deployed),
    ],
)
def test_an_admission_states_what_it_does_as_shipped(model: str, own: Comparison) -> None:
    told = measured(trained(model), Metrics(flash=FLASH))["evaluated"]["flash"]["web_test"]
    assert (told["mean_dt"], told["rejectx_mean_dt"]) == (
        own.rows["baleen"].read_dt.mean,
        own.rows["rejectx"].read_dt.mean,
    )
    assert told["mean_dt_saved"] == own.gap.mean_dt_saved and told["best_policy"] == own.best_policy


def test_what_the_folder_says_of_the_inputs_is_stated(tmp_path: Path) -> None:
    size = Feature(name="size", formula="request.segments", unit="segments")
    folder, model = tmp_path / paths.trained(SMALL), trained(SMALL).model_copy(update={"features": [size]})
    assert "inputs" not in measured(model, read_metrics(tmp_path, model, needed=False))
    folder.mkdir(parents=True)
    (folder / INPUTS_FILE).write_text('{"size": [1, 2.5]}')
    assert measured(model, read_metrics(tmp_path, model, needed=False))["inputs"] == {"size": [1, 2.5]}


def test_a_model_that_was_not_run_in_the_flash_cache_states_none() -> None:
    assert "flash" not in measured(trained(f"{ADMISSION}_other"), Metrics(flash=FLASH))["evaluated"]
