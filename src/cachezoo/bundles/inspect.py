"""What a bundle says of itself, as plain values and as tables for people."""

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from cachezoo.bundles.card import state_of
from cachezoo.bundles.measured import promotion
from cachezoo.bundles.released import load
from cachezoo.show.formats import percent

if TYPE_CHECKING:
    from rich.console import Group


def inspect(path: str | os.PathLike[str]) -> dict[str, Any]:
    """A bundle's manifest, its digests, and whether it may be champion.

    Args:
        path: a bundle's folder or .zip; it is checked first.

    Raises:
        BundleError: the bundle is damaged or unknown.
    """
    bundle = load(path)
    good, why = promotion(bundle.manifest["measured"])
    return {
        "digest": bundle.digest,
        "model_digest": bundle.model_digest,
        "profile": bundle.profile,
        "conformance": dict(bundle.conformance),
        "promotable": good,
        "why": why,
        "manifest": bundle.manifest,
    }


def branches_of(golden: dict[str, Any]) -> str:
    """How many golden rows pass each branch, in words."""
    return ", ".join(f"{name} {count}" for name, count in sorted(golden["branches"].items()))


def _shares(counts: Sequence[int]) -> str:
    """Counts as shares, those of 0 left out."""
    total = max(sum(counts), 1)
    return ", ".join(f"{place}: {percent(count / total)}" for place, count in enumerate(counts) if count) or "none"


def render(report: dict[str, Any]) -> "Group":
    """Tables of `inspect`'s report for a rich console."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    manifest = report["manifest"]
    facts = Table(title=f"{manifest['id']} {manifest['version']}", title_justify="left", show_header=False)
    cost, synthetic = manifest["cost"], manifest["golden"]["synthetic"]
    rows = {
        "digest": report["digest"],
        "model digest": report["model_digest"],
        "kind": manifest["kind"],
        "category": manifest["category"] or "all",
        "PROTOCOL": manifest["PROTOCOL"],
        "profile": report["profile"],
        "conformance": ", ".join(f"{name} {share}" for name, share in report["conformance"].items()),
        "champion": f"{'may be' if report['promotable'] else 'no'}: {report['why']}",
        "inference": f"{cost['macs']} multiply-accumulates, at most {cost['comparisons']} comparisons",
        "state": state_of(cost),
        "golden rows": f"{manifest['golden']['rows']}, by branch: {branches_of(manifest['golden'])}",
        "synthetic sets": ", ".join(f"{one['name']} {one['rows']}" for one in synthetic) or "none",
        "trained on": ", ".join(f"{t['trace']} ({t['role']})" for t in manifest["provenance"]["traces"]),
    }
    if manifest["kind"] == "streams":
        rows["streams"] = f"{manifest['arch']['streams']}, {cost['parameters'] // 2} ranges of chunks of 32 KiB"
        rows["training's writes by stream"] = _shares(manifest["calibration"]["writes_by_stream"])
    for name, value in rows.items():
        facts.add_row(name, Text(str(value)))
    # A forest takes its inputs as they are: mean 0 and scale 1 in every row would say nothing.
    numbers = ("mean", "scale") if any((one["mean"], one["scale"]) != (0, 1) for one in manifest["features"]) else ()
    features = Table("feature", "formula", "unit", *numbers, title="features", title_justify="left")
    for feature in manifest["features"]:
        scaled = (f"{feature[name]:.6g}" for name in numbers)
        features.add_row(feature["name"], feature["formula"], feature["unit"], *scaled)
    files = Table("file", "bytes", "sha256", title="files", title_justify="left")
    for entry in manifest["files"]:
        files.add_row(entry["path"], str(entry["size"]), entry["sha256"])
    return Group(facts, features, files)
