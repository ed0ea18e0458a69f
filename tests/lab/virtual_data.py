"""The virtual I/O cache's figure, made up."""

from lab.virtual import document as virtual
from lab.virtual.alone import PARTS, SWEEPS, SWEPT_MB
from lab.virtual.paper import APPLICATIONS, LOOPING, SIZES_MB, WORKLOADS

QUEUES = virtual.QUEUES


def costs(**own):
    """Of a cache whose hit ratio VRM raises by 20 points, for 10 pages more than that in 100 references."""
    return {"plain": 0.5, "hits": 0.7, "allocation": 0.05, "fragmentation": 0.25} | own


def point(kind="made", queue="lru", megabytes=64, **own):
    halves = {"plain_half": 0.1, "hits_half": 0.1, "gain_half": 0.05}
    return virtual.Point(kind=kind, queue=queue, megabytes=megabytes, **(costs() | halves | own))


def profile(application, kind="made", megabytes=64, **own):
    return virtual.Profile(application=application, kind=kind, megabytes=megabytes, **costs(**own))


def mixed(workload="W4", megabytes=64, **own):
    count = len(WORKLOADS[workload])
    return virtual.Mixed(
        workload=workload, kind="made", applications=count, megabytes=megabytes, split=0.6, **costs(**own)
    )


def swept(parameter, value, megabytes, kind="made", **own):
    return virtual.Swept(kind=kind, parameter=parameter, value=value, megabytes=megabytes, **costs(**own))


def busy(application="lu", latency_us=100, **own):
    values = {"plain": 0.3, "demand": 0.1, "busy": 0.32, "plain_us": 1100.0, "mean_us": 1030.0}
    return virtual.Busy(application=application, latency_us=latency_us, **(values | own))


def heat(application="lu", rows=None):
    """Four references at every row of 4 MB, eight between 128 and 192 MB."""
    shown = [[8 if 32 <= row < 48 else 4] * 3 for row in range(64)] if rows is None else rows
    return virtual.Heat(application=application, kind="made", mb_a_row=4, references=6000, rows=shown)


def figure(**own):
    """All of it; what is given stands in its place."""
    kinds = tuple(virtual.KINDS)
    names = [(name, "made") for name in APPLICATIONS] + [(f"{k}_test", "captured") for k in range(3)]
    values = {
        "loop": virtual.Loop(pages=900, capacity=128, transfers=1.00004, **costs(plain=0.0, hits=0.97)),
        "heats": [heat()],
        "points": [point(kind, queue, size) for kind in kinds for queue in QUEUES for size in SIZES_MB],
        "parts": [virtual.Part(kind=kind, part=part, **costs()) for kind in kinds for part in PARTS],
        "profiles": [profile(name, kind, size) for name, kind in names for size in SIZES_MB],
        "mixed": [mixed(name, size) for name in WORKLOADS for size in SIZES_MB],
        "swept": [
            swept(parameter, value, size, kind)
            for kind in kinds for parameter, values in SWEEPS.items() for value in values for size in SWEPT_MB
        ],
        "disk": [busy(name, latency) for name in LOOPING for latency in (100, 200)],
    }  # fmt: skip
    return virtual.figure_of(**(values | own))
