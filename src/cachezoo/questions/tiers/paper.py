"""The metrics of HCA under the paper's names, with what is wrong about them.

Source: HCA, Sec. VI-A and VII-A, equations 1 to 5. Hierarchies are never ranked by these here: ranks are by AMAT.
"""

from dataclasses import asdict, dataclass

import numpy as np

from cachezoo.errors import ConfigError
from cachezoo.questions.tiers.response import DRAM_US, Response, Tiered


@dataclass(frozen=True)
class PaperMetrics:
    """Of a hierarchy, as the paper has them; times in µs.

    Attributes:
        rhr, shr, dhr: hit ratios of RAM, SSD and disk; a hit in the transient buffer is one of RAM.
        xcrta: `XCRTA`, see `xcrta`.
        hcrta: `HCRTA`, see `hcrta`.
        xciops: `XCIOPS`, see `xciops`.
        bdrta: `BDRTA`, disk hit ratio of the baseline (the same RAM, no buffer, no SSD) times its disk's mean time.
        hcdrta: `HCDRTA`, the same of the hierarchy.
    """

    rhr: float
    shr: float
    dhr: float
    xcrta: float
    hcrta: float
    xciops: float
    bdrta: float
    hcdrta: float

    def values(self) -> dict[str, float]:
        """All of it, for JSON."""
        return asdict(self)


def xcrta(tiered: Tiered) -> float:
    """Extended cache response time average, equation 1: RTA_SSD * SHR.

    It is no response time: the fewer pages the SSD has, the better it looks. It is the SSD's part of AMAT.
    """
    return tiered.rta_ssd_us * tiered.shr


def hcrta(tiered: Tiered) -> float:
    """Hybrid cache response time average, equation 2 as printed: RHR * t_DRAM + SHR * XCRTA.

    SHR is in it twice, as XCRTA has it already, and the disk not at all, where nearly all of the time is spent. So a
    hierarchy that sends more to the disk has a lower HCRTA. What was meant is AMAT.
    """
    return tiered.rhr * DRAM_US + tiered.shr * xcrta(tiered)


def xciops(tiered: Tiered) -> float:
    """Extended cache I/Os a second, equation 3: IOPS_SSD * SHR.

    IOPS_SSD is here the SSD's I/Os, reads and batches flushed to it, over its busy time. A larger transient buffer
    makes fewer and larger I/Os, so XCIOPS falls while the SSD does the same work in less time.
    """
    return tiered.iops_ssd * tiered.shr


def disk_time(tiered: Tiered) -> float:
    """Equations 4 and 5, BDRTA of the baseline and HCDRTA of the hierarchy: DHR * RTA_disk, the disk's part of AMAT."""
    return tiered.dhr * tiered.rta_hdd_us


def paper_metrics(tiered: Tiered, baseline: Tiered) -> PaperMetrics:
    """All of them.

    Args:
        tiered: of the hierarchy.
        baseline: of the same RAM before the same disk.
    """
    return PaperMetrics(
        rhr=tiered.rhr,
        shr=tiered.shr,
        dhr=tiered.dhr,
        xcrta=xcrta(tiered),
        hcrta=hcrta(tiered),
        xciops=xciops(tiered),
        bdrta=disk_time(baseline),
        hcdrta=disk_time(tiered),
    )


def reduction(base: float, hybrid: float) -> float:
    """What a figure falls by: 1 - hybrid / base; negative where it rises.

    Tables I and II print hybrid / (base + hybrid) for latency and cost, which is none: no change would be "50 %".

    Raises:
        ConfigError: the base is not above 0.
    """
    if base <= 0:
        raise ConfigError(f"a reduction from {base:g}: the base must be above 0")
    return 1 - hybrid / base


def usd_per_io(response: Response, usd: float) -> float:
    """$ per I/O, Sec. VI-A: mean over snapshots of 60 s of the price over the I/Os a second of the snapshot.

    The unit is dollars for each I/O a second, not for an I/O. The paper counts the prices of disk and SSD, without
    RAM; here it is the price that is given. The paper's I/Os a second are those that its closed loop got; here they are
    those that the busiest tier would let through.

    Args:
        response: of a hierarchy.
        usd: its price, $.
    """
    return float(np.mean(usd / response.iops_by_snapshot()))
