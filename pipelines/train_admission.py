"""Stage train_admission@category: Baleen's admission forest of one category."""

from typing import TYPE_CHECKING

from cachezoo.stage import stage
from cachezoo.training.admission import train_admission

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


@stage
def main(params: "Params", category: str) -> None:
    """Train the model of `category`."""
    train_admission(params, category)


if __name__ == "__main__":
    main()
