"""Stage train_workload: RC-RNN's workload classifier over all categories."""

from typing import TYPE_CHECKING

from cachezoo.stage import stage
from cachezoo.training.workload import train_workload

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


@stage
def main(params: "Params") -> None:
    """Train the classifier."""
    train_workload(params)


if __name__ == "__main__":
    main()
