"""libcachezoo refuses what the Python reader refuses from PROTOCOL 2 on: the damages of its tests, shown to cz."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.bundles import test_strict
from tests.unit.bundles.test_strict import (
    copy_of,  # noqa: F401 - a fixture of the tests below
    test_a_forest_that_lost_its_trees_is_named,  # noqa: F401 - tests that run here with cz in place of Python's reader
    test_a_model_digest_that_is_not_the_files_is_refused,  # noqa: F401
    test_a_synthetic_row_that_does_not_come_out_is_named,  # noqa: F401
    test_an_unknown_key_anywhere_but_among_names_is_refused,  # noqa: F401
    test_weights_of_a_network_that_are_others_are_named,  # noqa: F401
)
from tests.unit.runtimes.test_libcachezoo import library, refused_by, run  # noqa: F401 - a fixture of the one below


@pytest.fixture(autouse=True)
def _by_cz(library: Path, monkeypatch: pytest.MonkeyPatch) -> None:  # noqa: F811 - the fixture of that name
    """One line of any wording that names the bundle: C says many things shorter than Python."""

    def verify(path: Path) -> dict[str, bool]:
        return {"ok": run(library / "cz", "verify", path).returncode == 0}

    def refused(path: Path, match: str, check: Callable[[Path], object] = test_strict.load) -> None:
        refused_by(library / "cz", "verify" if check is verify else "inspect", path, "")

    monkeypatch.setattr(test_strict, "verify", verify)
    monkeypatch.setattr(test_strict, "refused", refused)
