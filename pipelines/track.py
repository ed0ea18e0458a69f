"""Stage track: MLflow runs and aliases from metrics, bundles and curves; digests into models/track.json."""

from pathlib import Path
from typing import TYPE_CHECKING

from cachezoo.stage import stage
from cachezoo.tracking.sync import track
from cachezoo.zoo import registry
from cachezoo.zoo.reuse import metrics as reuse
from cachezoo.zoo.streams import metrics as streams
from cachezoo.zoo.virtual import metrics as virtual
from cachezoo.zoo.workload import metrics as workload

if TYPE_CHECKING:
    from cachezoo.settings.params import Params

# What it finds through the registry: the imports put that on the stage's list of sources.
PARTS = (registry, reuse, streams, virtual, workload)


def main(params: "Params") -> None:
    """Track every trained model."""
    track(Path())


if __name__ == "__main__":
    stage(main)()
