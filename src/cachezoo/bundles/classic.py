"""Bundles of classics: a composition of the simulator's grammar, written as a file of parameters with golden sets."""

import hashlib
import re
from dataclasses import asdict
from pathlib import Path
from typing import Any

from cachezoo.bundles.protocol import MANIFEST, PROTOCOL
from cachezoo.bundles.writer import ExportSettings, complete, write_files
from cachezoo.errors import ConfigError
from cachezoo.policies.mounted import mounted
from cachezoo.policies.spec import Spec
from cachezoo.serving.requests import RequestBatch
from cachezoo.traces.table import PAGE_BYTES
from cachezoo.zoo.policy.bundle import KIND, REALS, golden_stream
from cachezoo.zoo.policy.serve import values_of

KIND_ID = "policy"
VERSION = "0.1.0"  # raised where what acts in the bundle of some composition changes
LONGEST = 64  # characters of the last part of an id
MARK = 8  # of those, of a digest, where a text is longer
FEATURE = {
    "name": "page", "formula": "request.page", "unit": "pages of 4 KiB from the volume's start", "encoding": "number",
    "mean": 0.0, "scale": 1.0,
}  # fmt: skip
REASON = "nothing was learned and nothing was measured: it is the rule that was asked for"


def id_of(spec: Spec) -> str:
    """The id of a composition's bundle, such as `policy.s3fifo` or `policy.rejectx_lirs_next_n_4`."""
    text = str(spec)
    name = re.sub(r"[^a-z0-9]+", "_", text.replace("-", "m")).strip("_")
    if len(name) > LONGEST:
        name = f"{name[: LONGEST - MARK - 1]}_{hashlib.sha256(text.encode()).hexdigest()[:MARK]}"
    return f"{KIND_ID}.{name}"


def _draft(spec: Spec) -> dict[str, Any]:
    """Both documents in one, without what `complete` puts in."""
    name = id_of(spec)
    manifest: dict[str, Any] = {
        "PROTOCOL": PROTOCOL, "id": name, "version": VERSION, "kind": KIND_ID, "category": None,
        "arch": {"arch": name.partition(".")[2]}, "features": [FEATURE], "encodings": {},
        "geometry": {"page_bytes": PAGE_BYTES}, "calibration": {}, "policy": values_of(spec),
    }  # fmt: skip
    state = KIND.state(manifest)
    return {
        **manifest,
        "profile": KIND.profile(manifest),
        "conformance": dict(KIND.conformance(manifest)),
        "provenance": {"inputs": {}, "traces": [], "seeds": {}, "libraries": {}},
        "cost": {
            **asdict(KIND.cost(manifest, {})),
            "state_bytes": state.fixed,
            "state_bytes_per_key": state.each,
            "state_key": state.key,
        },
        "measured": {"beats_baseline": False, "reason": REASON, "training": {}, "evaluated": {}, "baselines": {}},
    }


def build_policy(text: str) -> tuple[dict[str, bytes], str]:
    """All files of a classic's bundle by path, and its digest.

    Args:
        text: a composition, such as `s3fifo` or `rejectx+lirs+next(n=4)`.

    Raises:
        ConfigError: it is none, or libcachezoo does not run it.
    """
    spec = mounted(text)
    manifest = _draft(spec)
    requests: RequestBatch = golden_stream(manifest["policy"])
    return complete(manifest, {}, requests, ExportSettings(VERSION, REALS, REALS, {}, {}))


def write_policy(text: str, out_dir: Path | None = None) -> tuple[Path, str]:
    """Write the bundle of a classic.

    Args:
        text: as `build_policy`'s.
        out_dir: its folder; an older bundle there is replaced. None: a folder of its id, in the working folder.

    Returns:
        The folder, and the bundle's digest.

    Raises:
        ConfigError: as `build_policy`, or something else than a bundle is in the folder.
    """
    folder = Path(id_of(mounted(text))) if out_dir is None else out_dir
    if folder.is_dir() and any(folder.iterdir()) and not (folder / MANIFEST).is_file():
        raise ConfigError(f"{folder}: holds something else than a bundle, which would be replaced; name another folder")
    files, digest = build_policy(text)
    write_files(files, folder)
    return folder, digest
