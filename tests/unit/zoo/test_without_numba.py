"""What a cache runs needs numpy alone, and without numba it computes the same bits."""

import pytest

from tests.without_numba import printed

PARTS = {
    "admission": """
from tests.unit.zoo.admission.test_serve import PLAIN, AdmissionServing, batch_of, make_trace
parts = [AdmissionServing(**PLAIN, infer=len).features(batch_of(make_trace(400, 6)))]
""",
    "caching": """
from tests.unit.zoo.caching.test_serve import run, serving
served = run(serving(), [7, 2], [0.5, 0.4])
parts = [served.outcome, served.decisions, served.features, served.replaced, served.dirty_evicted]
""",
}
HEAVY = {"numba", "pyarrow", "pandas", "pydantic", "lightgbm", "lightning", "torch", "sklearn", "onnx", "rich"}


@pytest.mark.parametrize("kind", PARTS)
def test_same_bits_without_numba(kind: str) -> None:
    digest = "import hashlib\nprint(hashlib.sha256(b''.join(part.tobytes() for part in parts)).hexdigest())"
    (found,) = printed(PARTS[kind] + digest)
    assert len(found) == 64


@pytest.mark.parametrize("kind", PARTS)
def test_serving_needs_numpy_alone(kind: str) -> None:
    assert printed(
        f"import cachezoo.zoo.{kind}.serve\nprint({HEAVY} & set(sys.modules) if sys.argv[1] == 'plain' else set())"
    ) == {"set()"}
