"""What one decision of each exported caching model takes: a step of its network for one request.

Microseconds of processor time, onnxruntime, one thread. `evaluate.decision_cost_us.caching` is the largest, rounded up,
with the inputs' time, which is below 1 µs.
"""

import numpy as np
import onnxruntime
from rich.table import Table
from timing import least

from cachezoo import paths
from cachezoo.console import out

REPEATS, STEPS = 5, 1000


def step_us(session: "onnxruntime.InferenceSession") -> float:
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
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    table = Table("bundle", "µs a decision")
    for path in sorted(paths.BUNDLES.glob("caching.*/model.onnx")):
        session = onnxruntime.InferenceSession(str(path), options)
        table.add_row(path.parent.name, f"{step_us(session):.1f}")
    out().print(table)


if __name__ == "__main__":
    main()
