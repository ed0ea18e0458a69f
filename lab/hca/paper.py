"""What HCA's paper measured on ZFS's L2ARC: Tables I to VIII, as printed, and what can be read off them.

Aldahlawi, El-Araby, Suboh, El-Ghazawi: An Empirical and Architectural Study of Using an SSD-Aware Hybrid Storage System
(2012), Sections V and VI. Ratios are shares here, percents there.
"""

from typing import NamedTuple

RANDOM, OLTP = "random read", "OLTP"
WORKLOADS = (RANDOM, OLTP)
RAM_GB, SSD_GB, SET_GB = (2, 4, 6), (4, 6, 8), (10, 15, 20)
MAIN_RAM_GB, MAIN_SSD_GB, MAIN_SET_GB = 2, 32, 10  # of Tables I and II
RUN_HOURS, SNAPSHOT_S = 6.0, 60.0
RECORD_BYTES = 8192
SSD_PRICE, PRICE = 55.0, 250.0
"""Dollars: of the SSD, and of hard disk and SSD together (Section VI.A), which it divides by the IOPS of both runs."""
DISK_IOPS = 102.0
"""Table V's IOPS times Table III's disk hit ratio, about, which is what the disk alone did."""


class Main(NamedTuple):
    """A run of Table I or II.

    Attributes:
        iops: of the workload, mean over the snapshots.
        storage_iops: of the devices.
        ram, ssd, disk: hit ratios; ssd 0 without one.
        latency_ms: of an I/O.
        cost: dollars over I/Os a second, mean over the snapshots.
    """

    iops: float
    storage_iops: float
    ram: float
    ssd: float
    disk: float
    latency_ms: float
    cost: float


MAIN: dict[str, tuple[Main, Main]] = {
    RANDOM: (
        Main(138.5, 105.22, 0.2434, 0.0, 0.7566, 0.09, 1.89),
        Main(2390.4, 1728.09, 0.2501, 0.7234, 0.0265, 0.04, 0.94),
    ),
    OLTP: (
        Main(378.6, 140.09, 0.5326, 0.0, 0.4674, 0.80, 1.44),
        Main(1050.0, 418.51, 0.5029, 0.3764, 0.1207, 0.22, 0.71),
    ),
}
"""By workload: the baseline without an SSD, and with it."""

# A row an SSD of 4, 6, 8 GB; in it the RAM of 2, 4, 6 GB for the working set of 10 GB, then for 15, then for 20 GB.
_DISK = {
    RANDOM: ((57.89, 45.1, 43.92, 73.81, 62.92, 60.31, 80.39, 72.13, 70.45),
             (44.15, 36.56, 35.65, 63.41, 56.93, 54.34, 72.74, 68.42, 67.25),
             (24.33, 16.61, 23.51, 51.44, 37.77, 47.89, 64.29, 53.47, 64.2)),
    OLTP: ((38.95, 26.67, 28.71, 55.63, 40.1, 42.11, 64.15, 50.82, 52.46),
           (36.32, 24.06, 25.02, 48.8, 36.49, 38.01, 58.69, 47.3, 49.55),
           (28.01, 21.0, 21.4, 43.3, 32.99, 34.13, 53.2, 44.68, 45.27)),
}  # fmt: skip
_SSD = {
    RANDOM: ((22.38, 24.81, 21.24, 15.76, 17.48, 17.3, 12.05, 13.42, 12.89),
             (39.8, 33.27, 29.79, 26.4, 23.54, 23.47, 19.86, 17.22, 16.35),
             (59.98, 48.86, 42.3, 38.56, 40.06, 30.1, 28.56, 30.38, 19.55)),
    OLTP: ((23.99, 16.62, 17.88, 20.88, 14.73, 15.14, 18.58, 12.74, 12.7),
           (28.53, 22.44, 23.7, 26.54, 20.05, 20.43, 24.24, 16.86, 17.33),
           (33.44, 27.4, 27.9, 34.24, 25.0, 25.44, 29.63, 21.65, 21.92)),
}  # fmt: skip
_IOPS = {
    RANDOM: ((170.6, 227.2, 233.5, 139.8, 164.0, 170.4, 126.8, 141.1, 145.3),
             (232.8, 279.5, 289.2, 161.4, 180.8, 186.5, 140.2, 148.0, 151.3),
             (403.2, 421.8, 584.5, 199.6, 265.8, 211.4, 157.0, 189.6, 160.4)),
    OLTP: ((495.3, 570.5, 538.8, 389.7, 425.7, 413.7, 341.6, 362.8, 354.0),
           (534.9, 629.6, 627.4, 423.7, 466.6, 458.7, 360.8, 380.6, 374.7),
           (628.6, 700.2, 702.4, 473.6, 506.4, 504.2, 393.1, 408.9, 405.8)),
}  # fmt: skip
SWAPPED = ((4, 8, 10), (6, 8, 10))
"""Cells (RAM, SSD, working set) of Table V whose IOPS are evidently each other's: 421.8 * 23.51 % and 584.5 * 16.61 %
are 99.2 and 97.1, as everywhere else, and as printed the products are 70.1 and 137.4."""


class Cell(NamedTuple):
    """A set-up of Tables III to VIII: GB of RAM, SSD and working set; hit ratios and IOPS as printed."""

    ram_gb: int
    ssd_gb: int
    set_gb: int
    disk: float
    ssd: float
    iops: float

    @property
    def ram(self) -> float:
        """The rest."""
        return 1 - self.disk - self.ssd

    @property
    def key(self) -> tuple[int, int, int]:
        """GB of RAM, SSD and working set."""
        return self.ram_gb, self.ssd_gb, self.set_gb


def cells(workload: str) -> list[Cell]:
    """The 27 set-ups of a workload, by working set, then SSD, then RAM."""
    found = []
    for k, set_gb in enumerate(SET_GB):
        for row, ssd_gb in enumerate(SSD_GB):
            for own, ram_gb in enumerate(RAM_GB):
                at = 3 * k + own
                disk, ssd, iops = (table[workload][row][at] for table in (_DISK, _SSD, _IOPS))
                found.append(Cell(ram_gb, ssd_gb, set_gb, disk / 100, ssd / 100, iops))
    return found


def implied_ram_gb(ram_gb: int) -> tuple[float, float]:
    """GB of records that RAM held by its hits of uniform reads, the least and the most of a size's nine set-ups."""
    found = [one.ram * one.set_gb for one in cells(RANDOM) if one.ram_gb == ram_gb]
    return min(found), max(found)
