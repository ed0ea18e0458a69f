"""`cachezoo device calibrate`: a device's model from measured service times."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cachezoo.cli.common import Json, hand_out, output_option, outputs, shows
from cachezoo.cli.options import device_bytes
from cachezoo.errors import ConfigError, DeviceError
from cachezoo.show.formats import number, percent, share, significant
from cachezoo.show.output import flat, print_lines, print_table, value_text
from cachezoo.show.table import text_table

if TYPE_CHECKING:
    from cachezoo.devices.calibration import Calibration
    from cachezoo.devices.samples import Samples
    from cachezoo.settings.device import AnalyticDevice, Hdd, Ssd

app = typer.Typer()
FAR = 0.3  # a demerit figure above which a model says nothing of the device; DiskSim's own have 0.02 to 0.15
LEAST_S, REQUEST_S = 3600.0, 0.1  # of a measurement in all and for each request; it is killed after the longer time


@dataclass(frozen=True)
class Taken:
    """Service times and what is said of them."""

    samples: "Samples"  # the service times, and requests whose own is not known
    name: str  # what was measured, for titles and errors
    provenance: dict[str, str]  # for the profile's comments
    capacity_bytes: int | None = None  # of the target; None where a trace does not say

    @property
    def untimed(self) -> int:
        """How many requests have no service time of their own."""
        return len(self.samples) - self.samples.known


def _from_trace(path: Path) -> Taken:
    from cachezoo.devices.calibration import of_trace
    from cachezoo.devices.samples import read_disk_trace
    from cachezoo.io import sha256_file
    from cachezoo.traces.read import OpenTrace, TraceFiles, read_any, silent
    from cachezoo.traces.source import refuse_pipe

    refuse_pipe(path)
    form = OpenTrace(TraceFiles([path]), silent).format.id
    if form == "disksim_validate":  # its times have fractions, and are service times by definition
        samples = read_disk_trace(path)
    else:
        samples = of_trace(read_any(path, pages=False), str(path))
    said = {"service times from": f"{path.name} ({form}, sha256 {sha256_file(path)[:16]})"}
    taken = Taken(samples, path.name, said)
    said["requests"] = f"{samples.known:,}"
    if taken.untimed:
        said["requests"] += f"; {taken.untimed:,} more may have waited and only move the model"
    return taken


def _from_target(path: Path, kind: Literal["hdd", "ssd"], requests: int, writes: bool, force: bool) -> Taken:
    from cachezoo.devices.fio.replay import Settings
    from cachezoo.devices.fio.target import Use, open_target
    from cachezoo.devices.microbench import BLOCK, measure

    use = Use(
        block_bytes=BLOCK,
        writes=writes,
        force=force,
        force_word="give --force-target",
        writes_word="--writes was given",
        reads_word="leave out --writes",
    )
    target = open_target(str(path), path.name, use)
    settings = Settings(
        logical_block_bytes=BLOCK,
        timeout_s=max(LEAST_S, REQUEST_S * requests),
        timeout_word=f"the time for --requests {requests}",
    )
    samples, said = measure(target, settings, kind, requests, writes)
    if "target.virtual" in said:
        from cachezoo.console import err

        err().print(f"note: {path}: {said['target.virtual']}", soft_wrap=True, markup=False)
    kept = {key: value for key, value in said.items() if key not in ("command", "repetitions", "target.name")}
    kept["requests"] = f"{len(samples):,} designed ones"
    return Taken(samples, str(path), kept, target.data_bytes)


def _start(base: "AnalyticDevice", kind: Literal["hdd", "ssd"], taken: Taken, capacity: int | None) -> "Hdd | Ssd":
    """The model to begin with; of a disk with its capacity, which service times do not show."""
    if kind == "ssd":
        if capacity is not None:
            raise ConfigError("--size: is of a disk's seeks, and --kind is ssd; leave it out")
        return base.ssd
    reach = int((taken.samples.offset + taken.samples.size).max())
    size = capacity or taken.capacity_bytes or reach
    if capacity is not None and capacity < reach:
        message = f"--size {capacity}: {taken.name} has a request that ends at byte {reach}; give the disk's size"
        raise ConfigError(message)
    return base.hdd.model_copy(update={"capacity_bytes": size})


def _say_capacity(model: "Hdd | Ssd") -> None:
    """A trace does not show where a disk ends."""
    from cachezoo.console import err
    from cachezoo.settings.device import Hdd

    if isinstance(model, Hdd):
        text = f"note: the disk is taken to end where its requests do, at byte {model.capacity_bytes:,}; "
        err().print(f"{text}if it is larger, say so with --size", soft_wrap=True)


def _refusal(found: "Calibration", kind: str, out: Path, accepted: float) -> str | None:
    """Why a model that is far from what was measured is not written; None of one that is near enough."""
    score = found.test
    if score.demerit <= accepted:
        return None
    bar = math.ceil(100 * score.demerit) / 100
    model, constants = percent(score.demerit), percent(score.baseline_demerit)
    return (
        f"{out}: not written, as the model is far from the measured times: demerit {model}, and at most "
        f"{share(accepted)} is accepted (two constants have {constants}). Was it an {kind.upper()}, and nothing before "
        f"it? A plot (-o fit.png) shows where; --accept-demerit {bar:g} writes it all the same"
    )


def _say_far(found: "Calibration") -> None:
    """A model that is accepted, and yet no better than two constants, is not written without a word."""
    from cachezoo.console import err

    score = found.test
    if score.demerit > min(FAR, score.baseline_demerit):
        text = f"warning: the model is far from the measured times: demerit {percent(score.demerit)}, two constants "
        err().print(f"{text}{percent(score.baseline_demerit)}", soft_wrap=True)


def _calibrated(taken: Taken, start: "Hdd | Ssd", refit: bool) -> "Calibration":
    from cachezoo.devices.calibration import calibrate as run

    try:
        return run(taken.samples, start, refit=refit)
    except DeviceError as error:
        raise DeviceError(f"{taken.name}: {error}") from error


@app.command(
    "calibrate",
    cls=shows(
        "device calibrate --kind hdd --base wdredpro2tb_850pro --target /dev/sdb -o mine.yaml",
    ),
)
def calibrate(
    kind: Annotated[Literal["hdd", "ssd"], typer.Option(help="Kind of the device.")],
    base: Annotated[str, typer.Option(metavar="PROFILE", help="Profile to start from.")],
    output: Annotated[
        list[Path],
        output_option("Write the profile (.yaml) with its residuals, and a plot (.png, .svg); repeatable."),
    ],
    trace: Annotated[
        Path | None, typer.Option(metavar="TRACE", help="Times of a trace with latencies (to an idle device), or in "
                                                        "DiskSim's validation format.")
    ] = None,
    target: Annotated[
        Path | None, typer.Option(metavar="DEV", help="Or measure this device or file with fio.")
    ] = None,
    writes: Annotated[bool, typer.Option("--writes", help="Also write to the target; see `device prepare`.")] = False,
    requests: Annotated[int, typer.Option(metavar="N", min=200, max=1_000_000, help="Requests to the target.")] = 3000,
    size: Annotated[str | None, typer.Option(metavar="SIZE", help="Capacity of the traced disk, e.g. 4TB.")] = None,
    refit: Annotated[bool, typer.Option("--refit", help="Fit the final model to all requests.")] = False,
    force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    force_target: Annotated[
        bool, typer.Option("--force-target", help="Allow a target in use, not empty, or on the root disk.")
    ] = False,
    accept_demerit: Annotated[
        float, typer.Option(metavar="X", min=0.0, help="Write no model above this demerit (status 1).")
    ] = FAR,
    as_json: Json = False,
) -> None:  # fmt: skip
    """Fit a device model to measured times, and report its error.

    The first half fits the model, the second tests it. See docs/devices.md.
    """
    from cachezoo.devices.calibration import check_outputs, write_calibration
    from cachezoo.devices.profile import load_models

    if (trace is None) == (target is None):
        raise ConfigError("give either --trace, a file of service times, or --target, a device or file to measure")
    if trace is not None and (writes or force_target):
        raise ConfigError("--writes and --force-target are of a --target; leave them out beside --trace")
    models = load_models(base)
    files = outputs(output, ("profile", "plot"))
    if "profile" not in files:
        raise ConfigError("--output: name the profile to write, which ends in .yaml")
    out, plot = files["profile"], files.get("plot")
    check_outputs(out, plot, force)
    capacity = None if size is None else device_bytes(size)
    taken = (
        _from_trace(trace)
        if trace is not None
        else _from_target(target or Path(), kind, requests, writes, force_target)
    )
    found = _calibrated(taken, _start(models, kind, taken, capacity), refit)
    if capacity is None and taken.capacity_bytes is None:
        _say_capacity(found.after)
    refusal = _refusal(found, kind, out, accept_demerit)
    if plot is not None:
        from cachezoo.devices.profile_plot import draw

        draw(found, f"{taken.name} as {kind}", plot)
    if refusal is None:
        _say_far(found)
        write_calibration(found, models, Path(base).stem, taken.provenance, out)
    written = out if refusal is None else None
    about = {"name": taken.name, "untimed": taken.untimed, "out": str(written) if written else None}
    if not hand_out({**about, **found.as_json()}, as_json):
        _print(found, taken, written)
    if refusal is not None:
        raise DeviceError(refusal)


def _print(found: "Calibration", taken: Taken, out_file: Path | None) -> None:
    """Every parameter before and after, then the model beside both pairs of constants."""
    from cachezoo.devices.calibration import PUBLISHED

    title = f"{taken.name}: {taken.samples.known:,} requests"
    if taken.untimed:
        title += f"; {taken.untimed:,} more, which others may have been under way beside, only move the model"
    before, after = (flat(model.model_dump(mode="json")) for model in (found.before, found.after))
    rows = [
        (key, _value(before[key]), _value(own), "" if before[key] == own else "changed") for key, own in after.items()
    ]
    print_table(text_table(title, ("parameter", "before", "after", ""), rows, 1))
    score = found.test
    scores = [
        (f"demerit, {own.requests:,} {name}", *map(percent, (own.baseline_demerit, own.tuned_demerit, own.demerit)))
        for name, own in (("fitted", found.fit), ("tested", score))
    ]
    squares = map(number, (score.baseline_rms_us, score.tuned_rms_us, score.rms_us))
    scores += [
        ("root mean square, µs", *squares),
        ("mean less measured", "", "", percent(score.mean_error, signed=True)),
    ]
    heads = ("", "two constants,\nleast squares", "two constants,\nfor demerit", "model")
    print_table(text_table("", heads, scores, 1))
    refitted = "; then fitted to all requests" if found.refitted else ""
    print_lines(PUBLISHED, f"written: {out_file}{refitted}" if out_file else "not written")


def _value(value: object) -> str:
    return significant(value, 6) if isinstance(value, float) else value_text(value)
