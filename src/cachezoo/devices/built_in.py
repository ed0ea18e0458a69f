"""The devices that need no profile beside them: of response times where none is named, and of disk-head time."""

from cachezoo.settings.device import AnalyticDevice, Hdd, Ssd

DEFAULT = "exosx20_990pro"
DEFAULT_IS = "a Seagate Exos X20 disk behind a Samsung 990 PRO SSD, by their data sheets"
DEFAULT_ENDURANCE_TB = 1200.0
"""Samsung, NVMe SSD 990 PRO data sheet (2022): 1,200 TBW for 2 TB."""
# conf/device/exosx20_990pro.yaml, so that no project need lie beside the package; a test holds both together.
BUILT_IN = AnalyticDevice(
    source="analytic",
    hdd=Hdd(
        capacity_bytes=20000588955648, rotation_us=8333.3, seek_base_us=230.0, seek_root_us=13443.75,
        write_settle_us=800.0, outer_mb_s=285.0, inner_mb_s=142.5, interface_mb_s=600.0,
    ),
    ssd=Ssd(read_us=44.9, write_us=11.9, read_mb_s=7450.0, write_mb_s=6900.0, channels=64),
)  # fmt: skip
WDREDPRO2TB = Hdd(
    capacity_bytes=2000398934016, rotation_us=8333.3, seek_base_us=800.0, seek_root_us=13337.0, outer_mb_s=164.0,
    inner_mb_s=82.0,
)  # fmt: skip
"""The disk of conf/device/wdredpro2tb_850pro.yaml, held together with it by the same test."""
