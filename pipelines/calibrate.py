"""Stage calibrate: models fitted to measured response times; with modelled ones it says that nothing was measured."""

from typing import TYPE_CHECKING

from cachezoo import paths
from cachezoo.devices.calibrating import calibrate_responses
from cachezoo.io import atomic_dir
from cachezoo.stage import stage

if TYPE_CHECKING:
    from cachezoo.settings.params import Params


def main(params: "Params") -> None:
    """Fit models to the responses."""
    with atomic_dir(paths.DEVICES) as folder:
        calibrate_responses(params, folder)


if __name__ == "__main__":
    stage(main)()
