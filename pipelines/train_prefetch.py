"""Stage train_prefetch@category: Baleen's prefetch forests of one category, beside its admission model."""

from typing import TYPE_CHECKING

from cachezoo.stage import stage
from cachezoo.training.prefetch import train_prefetch

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


@stage
def main(params: "Params", category: str) -> None:
    """Train the model of `category`."""
    train_prefetch(params, category)


if __name__ == "__main__":
    main()
