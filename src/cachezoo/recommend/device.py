"""Where response times come from when a trace is all that is given: a profile by name, or the one built in."""

from pathlib import Path

from cachezoo import paths
from cachezoo.devices.profile import FOLDER, load_models
from cachezoo.errors import ConfigError
from cachezoo.settings.device import AnalyticDevice, Hdd, Ssd

DEFAULT = "exosx20_990pro"
DEFAULT_IS = "a Seagate Exos X20 disk behind a Samsung 990 PRO SSD, by their data sheets"
DEFAULT_ENDURANCE_TB = 1200.0
"""Samsung, NVMe SSD 990 PRO data sheet (2022): 1,200 TBW for 2 TB."""
# conf/device/exosx20_990pro.yaml, so that a recommendation needs no project beside it; a test holds both together.
BUILT_IN = AnalyticDevice(
    source="analytic",
    hdd=Hdd(
        capacity_bytes=20000588955648, rotation_us=8333.3, seek_base_us=230.0, seek_root_us=13443.75,
        write_settle_us=800.0, outer_mb_s=285.0, inner_mb_s=142.5, interface_mb_s=600.0,
    ),
    ssd=Ssd(read_us=44.9, write_us=11.9, read_mb_s=7450.0, write_mb_s=6900.0, channels=64),
)  # fmt: skip
PROJECT = Path(__file__).resolve().parents[3]


def models_of(given: str | None) -> AnalyticDevice:
    """The disk and the SSD that response times are modelled on.

    Args:
        given: a YAML file; the name of a profile in conf/device, here or in the project that this package runs from;
            None for the one built in.

    Raises:
        ConfigError: no such profile, or one without models.
    """
    if given is None or (given == DEFAULT and not (FOLDER / f"{given}.yaml").is_file()):
        return BUILT_IN
    folder = FOLDER if FOLDER.is_dir() else PROJECT / FOLDER
    return load_models(given, folder)


def bundles_folder(given: Path | None) -> Path | None:
    """Where the zoo's bundles lie: as given, here, or in the project that this package runs from; None without any.

    Raises:
        ConfigError: the folder that was given is not there.
    """
    if given is not None:
        if not given.is_dir():
            message = f"{given}: no such folder; give the folder of the bundles, such as {paths.BUNDLES}"
            raise ConfigError(message)
        return given
    for folder in (paths.BUNDLES, PROJECT / paths.BUNDLES):
        if folder.is_dir():
            return folder
    return None
