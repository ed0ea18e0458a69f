"""What a flash cache before hard disks costs a year: the disks that its busiest time takes, and the flash it wears out.

Disks are bought for what their heads can do, not for what they hold: as many as the busiest window keeps busy, with
room left, since a disk that never rests answers late. The flash is replaced after its years, or when it has been
written as often as it is warranted for, whichever is first; of the classes of endurance the cheapest is taken.

Source: Wong et al., "Baleen: ML Admission & Prefetching for Flash Caches", FAST 2024, which provisions disks for the
peak of disk-head time and flash for its writes; prices as `cachezoo.settings.prices`.
"""

import math

from cachezoo.metrics.flash import Yearly
from cachezoo.settings.prices import Priced, Prices

MOST_BUSY = 0.7
"""Of a disk's time in the busiest window; requests that come at random then take 3.3 times an idle disk's."""
GB = 1e9
DAYS_A_YEAR = 365.25
SECONDS_A_YEAR = DAYS_A_YEAR * 86_400
KWH_A_YEAR = DAYS_A_YEAR * 24 / 1000  # of one watt


def yearly(
    prices: Prices, peak_busy: float, capacity_bytes: float, written_bytes_s: float, most_busy: float = MOST_BUSY
) -> Yearly:
    """The cost of a year at the trace's own pace.

    Args:
        prices: of disks, of SSDs by endurance, and of power.
        peak_busy: disk-head seconds a second of the busiest window, writes included.
        capacity_bytes: of the flash; 0 without a cache.
        written_bytes_s: bytes a second that the flash is written.
        most_busy: share of a disk's time that may be taken then, above 0 and at most 1.
    """
    disks = math.ceil(peak_busy / most_busy - 1e-9)
    drive = prices.hdd.drive_gb * GB
    disks_usd = disks * (_bought(prices.hdd, drive) / prices.hdd.years + _power(prices, prices.hdd, drive))
    if not capacity_bytes:
        return Yearly(disks=disks, disks_usd=disks_usd, flash_usd=0.0, endurance="")
    ssd, written = prices.ssd, written_bytes_s * SECONDS_A_YEAR

    def of(name: str) -> float:
        """Dollars a year of a class."""
        own = ssd.classes[name]
        endured = own.dwpd * capacity_bytes * DAYS_A_YEAR * ssd.years
        return _bought(ssd, capacity_bytes) * own.dearer * max(1 / ssd.years, written / endured)

    cheapest = min(ssd.classes, key=of)
    flash_usd = of(cheapest) + _power(prices, ssd, capacity_bytes)
    return Yearly(disks=disks, disks_usd=disks_usd, flash_usd=flash_usd, endurance=cheapest)


def _bought(medium: Priced, size: float) -> float:
    """Dollars of so many bytes."""
    return medium.usd_per_gb * size / GB


def _power(prices: Prices, medium: Priced, size: float) -> float:
    """Dollars a year of the power that they take."""
    watts = medium.watts_per_gb * size / GB
    return watts * KWH_A_YEAR * prices.power.overhead * prices.power.usd_per_kwh
