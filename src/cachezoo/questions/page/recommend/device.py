"""Where response times come from when a trace is all that is given: a profile by name, or the one built in."""

from pathlib import Path

from cachezoo import paths
from cachezoo.devices.built_in import BUILT_IN
from cachezoo.devices.profile import PROJECT, load_models
from cachezoo.errors import ConfigError
from cachezoo.settings.device import AnalyticDevice


def models_of(given: str | None) -> AnalyticDevice:
    """The disk and the SSD that response times are modelled on.

    Args:
        given: as `load_device` takes it; None for the one built in.

    Raises:
        ConfigError: no such profile, or one without models.
    """
    return BUILT_IN if given is None else load_models(given)


def bundles_folder(given: Path | None) -> Path | None:
    """Where the zoo's bundles lie: as given, here, or in the project that this package runs from; None without any.

    Raises:
        ConfigError: the folder that was given is not there.
    """
    if given is not None:
        if not given.is_dir():
            raise ConfigError(f"{given}: no such folder; give the folder of the bundles, such as {paths.BUNDLES}")
        return given
    for folder in (paths.BUNDLES, PROJECT / paths.BUNDLES):
        if folder.is_dir():
            return folder
    return None
