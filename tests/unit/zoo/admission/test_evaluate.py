from pathlib import Path

import numpy as np
import pytest

from cachezoo.zoo.admission.evaluate import admission_page_decisions
from tests.baleen_data import fit_and_judge, labelled_parts, make_trace

TEST = make_trace(15_000, 3, "test")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("evaluate")
    train, validation = labelled_parts({"train": make_trace(15_000, 1), "validation": make_trace(15_000, 2)}, folder)
    fit_and_judge([train], [validation]).write(folder / "model")
    return folder


def test_page_decisions(folder: Path) -> None:
    decisions = admission_page_decisions(folder / "model", TEST)
    assert decisions.shape == (len(TEST),) and decisions.dtype == np.bool_
    assert decisions.any() and not decisions[TEST.op == 1].any()
    np.testing.assert_array_equal(decisions[:6000], admission_page_decisions(folder / "model", TEST.rows(0, 6000)))
