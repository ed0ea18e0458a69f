"""Stage train_caching@category: RC-RNN's caching LSTM of one category, threshold chosen in closed loop."""

from typing import TYPE_CHECKING

from cachezoo.stage import stage
from cachezoo.training.caching import train_caching

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


@stage
def main(params: "Params", category: str) -> None:
    """Train the model of `category`."""
    train_caching(params, category)


if __name__ == "__main__":
    main()
