"""Stage export@model: a verified bundle of a trained model, or the reason why there is none."""

from typing import TYPE_CHECKING

from cachezoo.bundles.export import export_model
from cachezoo.stage import stage

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


@stage
def main(params: "Params", key: str) -> None:
    """Export model `key`."""
    export_model(params, key)


if __name__ == "__main__":
    main()
