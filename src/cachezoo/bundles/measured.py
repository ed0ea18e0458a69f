"""What was measured of a model, as its manifest holds it, and what follows for its promotion."""

from collections.abc import Mapping
from typing import Any

from cachezoo.models.trained import TrainedModel

FLASH_MODEL = "baleen"
INTERVAL = "paired_difference_interval"
LOWEST = ("difference_low", "mean_dt_saved_low")  # where that interval begins, as the verdicts of training call it


def measured(trained: TrainedModel, metrics: Mapping[str, Any]) -> dict[str, Any]:
    """The manifest's `measured` section.

    Args:
        trained: the model.
        metrics: metrics/<category>.json (metrics/workload.json for the workload model); under `flash` what
            metrics/flash/<category>.json holds, where there is one.
    """
    baselines = {
        name: [dict(row) for row in trace.get("rows", [])]
        for name, trace in metrics.get("traces", {}).items()
        if isinstance(trace, Mapping) and trace.get("role", "test") == "test" and isinstance(trace.get("rows"), list)
    }
    evaluated = dict(metrics.get("models", {}).get(trained.model_id, {}))
    flash = metrics.get("flash") or {}
    if comparison := _comparison(trained, flash):
        evaluated["flash"] = {name: _flash(trace[comparison]) for name, trace in flash["traces"].items()}
    return {
        "beats_baseline": trained.beats_baseline,
        "reason": trained.reason,
        "training": dict(trained.validation),
        "evaluated": evaluated,
        "baselines": baselines,
    }


def _comparison(trained: TrainedModel, flash: Mapping[str, Any]) -> str | None:
    """Which comparison of the flash cache is the model's: an admission by itself, a prefetch with its admission."""
    if flash.get("model_id") == trained.model_id:
        return "admission_alone"
    return "deployed" if flash.get("prefetch", {}).get("model_id") == trained.model_id else None


def _flash(deployed: Mapping[str, Any]) -> dict[str, Any]:
    """Read disk-head time with the shipped threshold: the model's, and each other policy's at its writes."""
    out: dict[str, Any] = {}
    for policy, row in deployed["rows"].items():
        prefix = "" if policy == FLASH_MODEL else f"{policy}_"
        for statistic in ("peak", "mean"):
            out[f"{prefix}{statistic}_dt"] = row["read_dt"][statistic]
            out[f"{prefix}{statistic}_dt_interval"] = row.get("read_dt_interval", {}).get(statistic)
    return {**out, **deployed["gap"]}


def promotion(measured: Mapping[str, Any]) -> tuple[bool, str]:
    """Whether a bundle may be `champion`, and why.

    A champion beat its baseline on validation when it was trained, and the interval of the paired difference
    there, as training or the evaluation gives it, lies above 0. An evaluation that says `promoted: false` decides.

    Args:
        measured: the manifest's section of that name.
    """
    evaluated = measured["evaluated"]
    interval = evaluated.get(INTERVAL)
    if not measured["beats_baseline"]:
        return False, measured["reason"]
    if not evaluated:
        return False, "the evaluation holds no figures of it"
    if interval is not None and not float(interval[0]) > 0:
        low, high = (float(end) for end in interval)
        return False, f"the paired difference on validation, [{low:.4f}, {high:.4f}], is not above 0"
    lowest = [low for name in LOWEST if (low := measured["training"].get(name)) is not None]
    if interval is None and lowest and not min(lowest) > 0:
        return False, f"the interval of the paired difference on validation begins at {min(lowest):.4f}, not above 0"
    if evaluated.get("promoted", True) is not True:
        return False, "the evaluation does not promote it"
    return True, measured["reason"]
