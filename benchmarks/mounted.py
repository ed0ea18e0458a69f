"""The nbdkit filter before a slow disk: hits, flash writes and read latency of a captured trace, policy by policy.

Each policy runs as it would be deployed: RejectX's window and prefetch mode, and the mode of LRU, are those that
validation chose (metrics/flash/<category>.json); the model is the category's admission bundle. The disk is nbdkit's
memory plugin, each read of which waits; the requests are sent one after the other, as fast as they are answered.
"""

import argparse
import json
import subprocess
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from cachezoo.arrays import F64, I64
from cachezoo.demo.mounted import serving
from cachezoo.devices.nbd.client import connected
from cachezoo.kernels.segments import Geometry, expand_segments
from cachezoo.serve.metrics import accesses
from cachezoo.show.palette import colour_of
from cachezoo.show.style import GREY, VERMILION, panels, save, settings
from cachezoo.traces.store import read_trace
from cachezoo.traces.table import OP_READ

ROOT = Path(__file__).parents[1]
COLOURS = {
    "no cache": GREY, "lru": colour_of("lru"), "lru, prefetch": VERMILION, "rejectx": colour_of("rejectx"),
    "model": colour_of("admission"),
}  # fmt: skip
MIB = 1 << 20


@dataclass(frozen=True)
class Measured:
    """What a policy did.

    Attributes:
        name: of the policy.
        mode: of its prefetch.
        read_us: float64[reads] response times, µs.
        counters: the filter's; empty without it.
    """

    name: str
    mode: str
    read_us: F64
    counters: dict[str, Any]

    def row(self) -> dict[str, Any]:
        """As the table and the JSON have it: milliseconds, MiB, shares."""
        found, ms = self.counters, self.read_us / 1e3
        units, hits = accesses(found)
        return {
            "policy": self.name,
            "prefetch": self.mode,
            "hit_ratio": hits / units if units else 0.0,
            "reads_without_disk": 1 - found["disk_reads"] / found["read_requests"] if found else 0.0,
            "flash_writes_mib": found.get("ssd_write_bytes", 0) / MIB,
            "mean_ms": float(ms.mean()),
            "p50_ms": float(np.quantile(ms, 0.5)),
            "p99_ms": float(np.quantile(ms, 0.99)),
            "decision_p50_us": found["latency"]["decision"]["p50"] * 1e6 if found else 0.0,
            "decision_p99_us": found["latency"]["decision"]["p99"] * 1e6 if found else 0.0,
        }


def run(*words: object) -> None:
    """Run a program; what it said to stderr is shown where it fails."""
    subprocess.run([str(word) for word in words], check=True, stdout=subprocess.DEVNULL)


def variants(category: str, segments: int) -> list[tuple[str, str, list[str]]]:
    """(name, prefetch mode, options of the filter) of every policy; the first has no filter."""
    modes = json.loads((ROOT / f"metrics/flash/{category}.json").read_text())["modes"]
    rejectx, everything = modes["rejectx"], modes["accept_all"]
    bundle = ROOT / f"models/bundles/admission.{category}.lgbm"
    manifest = json.loads((bundle / "manifest.json").read_text())
    model_file = bundle / "model.json"
    model = json.loads(model_file.read_text()) if model_file.exists() else manifest
    geometry, with_prefetch = model["geometry"], model["calibration"]["with_prefetch"]["mode"]
    size = [f"cz-size={segments * geometry['segment_bytes']}"]
    plain = [*size, f"cz-unit={geometry['segment_bytes']}", f"cz-block={geometry['block_bytes']}"]
    window = int(rejectx["figures"][rejectx["mode"]]["knob"])
    return [
        ("no cache", "none", []),
        ("lru", "none", plain),
        ("lru, prefetch", everything["mode"], [*plain, f"cz-prefetch={everything['mode']}"]),
        (
            "rejectx",
            rejectx["mode"],
            [*plain, "cz-mode=rejectx", f"cz-window={window}", f"cz-prefetch={rejectx['mode']}"],
        ),
        ("model", with_prefetch, [*size, f"cz-bundle={bundle}"]),
    ]


def measure(folder: Path, rows: I64, variant: tuple[str, str, list[str]], disk: list[str]) -> Measured:
    """Send the requests to a disk behind one policy."""
    name, mode, options = variant
    stats, ssd = folder / "stats.json", folder / "ssd"
    for old in (stats, ssd):
        old.unlink(missing_ok=True)
    words = disk
    if options:
        library = folder / "build/nbdkit-cachezoo-filter.so"
        words = [f"--filter={library}", *disk, f"cz-ssd={ssd}", f"cz-stats={stats}", *options]
    read_us = []
    with serving(folder, words) as path, connected(path) as client:
        for op, offset, size in rows.tolist():
            if op == OP_READ:
                read_us.append(client.read(offset, size)[1])
            else:
                client.write(offset, bytes(size))
    return Measured(name, mode, np.asarray(read_us), json.loads(stats.read_text()) if options else {})


def print_table(rows: list[dict[str, Any]]) -> None:
    """One line a policy."""
    print(
        f"{'policy':<15}{'prefetch':<16}{'hit ratio':>10}{'no disk I/O':>12}{'flash MiB':>11}{'mean ms':>9}{'p50':>8}"
        f"{'p99':>8}{'decision p50 µs':>17}{'p99':>7}"
    )
    for row in rows:
        print(
            f"{row['policy']:<15}{row['prefetch']:<16}{row['hit_ratio']:>10.3f}{row['reads_without_disk']:>12.3f}"
            f"{row['flash_writes_mib']:>11.1f}{row['mean_ms']:>9.3f}{row['p50_ms']:>8.3f}{row['p99_ms']:>8.3f}"
            f"{row['decision_p50_us']:>17.2f}{row['decision_p99_us']:>7.2f}"
        )


def plot(found: list[Measured], title: str, folder: Path) -> None:
    """Response times of reads, and what each policy's hits cost in flash writes."""
    with settings():
        canvas, ((left, right),) = panels(1, 2, 3.6)
        for one in found:
            ms = np.sort(one.read_us) / 1e3
            share = np.arange(1, len(ms) + 1) / len(ms)
            label = one.name if one.mode == "none" else f"{one.name.split(',')[0]}, {one.mode}"
            left.plot(ms, share, color=COLOURS[one.name], label=label)
            row = one.row()
            right.plot(row["flash_writes_mib"], row["mean_ms"], "o", color=COLOURS[one.name])
            above, left_of = one.name != "model", row["flash_writes_mib"] > 1000
            right.annotate(
                label, (row["flash_writes_mib"], row["mean_ms"]), xytext=(-6 if left_of else 6, 5 if above else -12),
                textcoords="offset points", ha="right" if left_of else "left", color=COLOURS[one.name],
            )  # fmt: skip
        left.set(xscale="log", xlabel="response time of reads, ms", ylabel="share of reads", ylim=(0, 1), title=title)
        left.legend(loc="lower right")
        right.set_xscale("symlog", linthresh=100)
        highest = max(one.read_us.mean() for one in found) / 1e3
        right.set(
            xlabel="written to flash, MiB", ylabel="mean response time of reads, ms", title="what it costs",
            xlim=(-5, 2e4), ylim=(0, 1.15 * highest),
        )  # fmt: skip
        save(canvas, folder, "mounted.png")


def main() -> None:
    """Build, measure, print a table, draw a plot."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--category", default="web", help="its test trace, admission bundle and validation's choices")
    parser.add_argument("--requests", type=int, default=30_000, help="from the trace's first; 0: all")
    parser.add_argument("--delay-ms", type=int, default=1, help="that a read of the disk takes")
    parser.add_argument("--out", type=Path, help="folder that mounted.png and mounted.json are written to")
    given = parser.parse_args()
    trace = read_trace(ROOT / f"data/raw/captured/{given.category}_test.parquet")
    capacity = expand_segments(trace.volume.codes, trace.offset, trace.size, Geometry()).n_segments // 10
    rows = np.stack([trace.op, trace.offset, trace.size], axis=1).astype(np.int64)[: given.requests or None]
    end = int((trace.offset + trace.size).max())
    disk = ["--filter=delay", "memory", str((end + 4095) // 4096 * 4096), f"delay-read={given.delay_ms}ms"]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        run("make", "-s", "-C", ROOT / "runtimes/c", "filter", f"BUILD={folder / 'build'}")
        found = [measure(folder, rows, variant, disk) for variant in variants(given.category, capacity)]
    title = f"{given.category}: {len(rows):,} requests, disk reads of {given.delay_ms} ms"
    print(f"{title}; cache of {capacity:,} segments of 4 KiB, 10 % of the trace's")
    table = [one.row() for one in found]
    print_table(table)
    if given.out is not None:
        given.out.mkdir(parents=True, exist_ok=True)
        (given.out / "mounted.json").write_text(json.dumps({"title": title, "policies": table}, indent=2) + "\n")
        plot(found, title, given.out)


if __name__ == "__main__":
    main()
