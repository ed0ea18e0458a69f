from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cachezoo.bundles.measured import Metrics
from cachezoo.bundles.writer import build_bundle
from cachezoo.errors import BundleError
from cachezoo.serving.requests import RequestBatch
from cachezoo.zoo.registry import SYSTEMS, bundling_of
from tests.bundle_data import EXPORT

EXPORTED = [name for name, system in SYSTEMS.items() if system.bundling is not None and system.bundling.onnx]
Trained = Callable[[str], tuple[Path, RequestBatch]]


@pytest.mark.parametrize("kind", EXPORTED)
def test_exporter_that_lies_is_caught(kind: str, trained_of: Trained, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, requests = trained_of(kind)
    reference = bundling_of(kind).reference
    assert reference is not None
    right = reference.load()

    def wrong(*arguments: Any, **given: Any) -> np.ndarray:
        return right(*arguments) + np.float32(0.1)

    monkeypatch.setattr(reference.name.replace(":", "."), wrong)
    with pytest.raises(BundleError, match=r"differs by 0\.1 from the trained one"):
        build_bundle(folder, requests, Metrics(), EXPORT)
