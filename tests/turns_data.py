"""Bundles whose models take turns: a monitor, the model that begins, and one for each of two categories."""

import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np

from tests.bundle_data import reseal

GOLDEN = Path(__file__).parent / "golden/protocol2"
CACHING, WORKLOAD = GOLDEN / "caching.database.lstm1x8", GOLDEN / "workload.lstm8"


def changed(folder: Path, name: str, category: str, threshold: float, scale: float, **policy: Any) -> Path:
    """The caching bundle with other weights, rules, threshold and category."""
    path = folder / name
    shutil.copytree(CACHING, path)

    def change(manifest: dict[str, Any]) -> None:
        manifest["category"] = category
        manifest["calibration"]["threshold"] = threshold
        manifest["policy"] |= policy

    reseal(path, change)
    file = path / "weights.safetensors"
    content = bytearray(file.read_bytes())
    begin = 8 + struct.unpack_from("<Q", content)[0]
    weights = np.frombuffer(content, np.float32, offset=begin)
    weights *= np.float32(scale)
    file.write_bytes(content)
    reseal(path)
    return path


def monitor(folder: Path) -> Path:
    """The workload bundle, to which no window is strange, and one vote of which switches."""
    path = folder / "monitor"
    shutil.copytree(WORKLOAD, path)
    reseal(path, lambda manifest: manifest["policy"].update(switch_votes=1, unknown_above={"window": 1e9, "vote": 1e9}))
    return path


def turns(folder: Path) -> list[Path]:
    """Of the monitor, of the model that begins, and of one for each category."""
    rules = {"on_hit": "requeue", "queues": "single", "protected_percent": 50, "demote_capacities": 1}
    return [
        monitor(folder),
        CACHING,
        changed(folder, "pairs", "pairs", 0.5, 1.3),
        changed(folder, "turns", "turns", 0.45, 0.7, **rules, state="reset100"),
    ]
