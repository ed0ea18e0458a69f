"""What one decision of each bundled caching model takes, exported as ONNX: a step of its network for one request.

Microseconds of processor time, onnxruntime, one thread. `evaluate.decision_cost_us.caching` is the largest, rounded up,
with the inputs' time, which is below 1 µs.
"""

from typing import Any

import numpy as np
from rich.table import Table
from timing import least

from cachezoo import paths
from cachezoo.bundles.onnx_export import onnx_of, open_session
from cachezoo.bundles.reader import load
from cachezoo.console import out

REPEATS, STEPS = 5, 1000


def step_us(session: Any) -> float:  # noqa: ANN401 - onnxruntime.InferenceSession
    """Least processor time of a step, of some thousands."""
    # Every size that a model leaves open is a number of requests.
    sizes = {
        value.name: [size if isinstance(size, int) else 1 for size in value.shape] for value in session.get_inputs()
    }
    feed = {name: np.zeros(shape, np.float32) for name, shape in sizes.items()}
    best, _ = least(lambda: [session.run(None, feed) for _ in range(STEPS)], REPEATS)
    return 1e6 * best / STEPS


def main() -> None:
    """Print a row for each bundle."""
    table = Table("bundle", "µs a decision")
    for path in sorted(paths.BUNDLES.glob("caching.*")):
        session = open_session(onnx_of(load(path)), str(path))
        table.add_row(path.name, f"{step_us(session):.1f}")
    out().print(table)


if __name__ == "__main__":
    main()
