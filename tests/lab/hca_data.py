"""HCA's figure, made up."""

from lab.hca import document as hca
from lab.hca import paper as hca_paper


def tens(paper):
    """Six hours that are all alike."""
    return [
        hca.Ten(hours=round(k / 6, 6), ram=paper.ram, ssd=paper.ssd, disk=paper.disk, iops=paper.iops,
                storage_iops=paper.iops * (1 - paper.ram), latency_ms=paper.latency_ms, cost=paper.cost)
        for k in range(1, 37)
    ]  # fmt: skip


def long_run(workload, system, **own):
    """As the paper printed it; HCA as L2ARC."""
    paper = hca_paper.MAIN[workload][system != "ram"]
    values = {
        "workload": workload, "system": system, "ram": paper.ram, "ssd": paper.ssd, "disk": paper.disk,
        "over_time": tens(paper), "iops": paper.iops, "latency_ms": paper.latency_ms, "cost": paper.cost,
        "filled_hours": None if system == "ram" else 3.0, "filled": 0.0 if system == "ram" else 1.0,
        "ssd_writes_mb_s": 0.5,
    }  # fmt: skip
    return hca.LongRun(**(values | own))


def sized_run(workload, system, cell, **own):
    """As the paper printed it."""
    values = {
        "workload": workload, "system": system, "ram_gb": cell.ram_gb, "ssd_gb": cell.ssd_gb, "set_gb": cell.set_gb,
        "ram": cell.ram, "ssd": cell.ssd, "disk": cell.disk, "iops": cell.iops, "paper_ssd": cell.ssd,
        "paper_disk": cell.disk, "paper_iops": cell.iops,
    }  # fmt: skip
    return hca.SizedRun(**(values | own))


def point(trace="one", category="database", ratio=0.5, buffer=65536, **own):
    values = {
        "trace": trace, "category": category, "ratio": ratio, "ram_pages": 100, "ssd_pages": 200,
        "buffer_bytes": buffer, "ram": 0.3, "ssd": 0.2, "disk": 0.5, "base_ram": 0.29, "base_disk": 0.71,
        "ssd_early": 0.1, "ssd_late": 0.2, "hcrta_us": 10.0, "amat_us": 5000.0, "base_amat_us": 7000.0,
        "xciops": 1000.0, "ssd_writes": 500,
    }  # fmt: skip
    return hca.CurvePoint(**(values | own))


def points(**functions):
    """Two traces, ratios 1:4 to 1:1, buffers none and 64 KiB; what functions of (category, ratio, buffer) say."""
    return [
        point(f"{category}_test", category, ratio, buffer,
              **{name: value(category, ratio, buffer) for name, value in functions.items()})
        for category in ("database", "web") for ratio in (0.25, 0.5, 1.0) for buffer in (0, 65536)
    ]  # fmt: skip


def figure(long=None, sized=None, curves=None, disk_iops=hca_paper.DISK_IOPS):
    """As the paper has it where nothing is given."""
    systems = [(workload, system) for workload in hca_paper.WORKLOADS for system in hca.LONG]
    return hca.figure_of(
        long or [long_run(*one) for one in systems],
        sized or [sized_run(*one, cell) for one in systems if one[1] in hca.SIZED for cell in hca_paper.cells(one[0])],
        curves or points(), disk_iops,
    )  # fmt: skip
