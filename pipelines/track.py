"""Stage track: MLflow runs and aliases from metrics, bundles and curves; digests into models/track.json."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.stage import stage
from cachezoo.tracking.sync import track

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


@stage
def main(params: "Params") -> None:
    """Track every trained model."""
    track(Path())


if __name__ == "__main__":
    main()
