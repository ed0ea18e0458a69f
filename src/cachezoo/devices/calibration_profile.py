"""What a calibration leaves behind: a profile for conf/device, and its residuals beside it."""

from pathlib import Path

import yaml

from cachezoo.devices.calibration import PUBLISHED, Calibration, Score
from cachezoo.errors import ConfigError
from cachezoo.io import atomic_file, check_file, write_json
from cachezoo.settings.device import AnalyticDevice, Hdd

SUFFIXES = (".yaml", ".yml")


def sidecar(out: Path) -> Path:
    """Where a profile's residuals lie."""
    return out.with_suffix(".residuals.json")


def check_outputs(out: Path, plot: Path | None, force: bool) -> None:
    """Refuse before anything is measured what could not be written after it.

    Raises:
        ConfigError: no YAML file is named, or an output is there already and not to be replaced.
        CachezooError: an output cannot be written.
    """
    if out.suffix not in SUFFIXES:
        raise ConfigError(f"--out {out}: a profile is a YAML file; let its name end in .yaml")
    for path in (out, sidecar(out), *([plot] if plot else [])):
        if path.exists() and not path.is_dir() and not force:
            raise ConfigError(f"{path}: is there already; name another file, or replace it with --force")
        check_file(path)


def device_of(calibration: Calibration, base: AnalyticDevice) -> AnalyticDevice:
    """The base with the fitted model in its place."""
    kind = "hdd" if isinstance(calibration.after, Hdd) else "ssd"
    return base.model_copy(update={kind: calibration.after})


def _score_line(name: str, score: Score) -> str:
    return (
        f"{name}: demerit {score.demerit:.1%} of {score.requests:,} requests, two constants "
        f"{score.baseline_demerit:.1%} by least squares, {score.tuned_demerit:.1%} fitted for demerit; "
        f"mean {score.mean_error:+.1%}"
    )


def comments(calibration: Calibration, base: str, provenance: dict[str, str]) -> list[str]:
    """Lines that say where a profile comes from; with a trace they hold neither date nor host."""
    kind, other = ("hdd", "ssd") if isinstance(calibration.after, Hdd) else ("ssd", "hdd")
    lines = [f"{kind}: fitted to service times by cachezoo device calibrate; {other}: as in {base}"]
    lines += [f"{key}: {value}" for key, value in provenance.items()]
    lines.append(_score_line("fitted on", calibration.fit))
    lines.append(_score_line("tested on others", calibration.test))
    if calibration.refitted:
        lines.append("then fitted to all of them once more")
    return [" ".join(line.split()) for line in [*lines, PUBLISHED]]


def profile_text(calibration: Calibration, base: AnalyticDevice, name: str, provenance: dict[str, str]) -> str:
    """A profile's YAML: what differs from the schema's defaults, under a block of comments.

    Args:
        calibration: whose model goes in.
        base: gives the other device.
        name: what the base is called.
        provenance: where the service times come from.
    """
    values = device_of(calibration, base).model_dump(mode="json", exclude_defaults=True)
    head = [f"# {line}" for line in comments(calibration, name, provenance)]
    body = yaml.safe_dump(values, sort_keys=False, allow_unicode=True)
    return "\n".join(["# @package device", *head, body])


def write_calibration(
    calibration: Calibration, base: AnalyticDevice, name: str, provenance: dict[str, str], out: Path
) -> None:
    """Write the profile and its residuals; arguments as of `profile_text`.

    Raises:
        CachezooError: a file cannot be written.
    """
    text = profile_text(calibration, base, name, provenance)
    write_json(sidecar(out), {**calibration.as_json(), "base": name, "provenance": provenance})
    with atomic_file(out) as temporary:
        temporary.write_text(text, encoding="utf-8")
