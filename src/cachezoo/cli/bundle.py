"""Bundles: `cachezoo models bundle …`."""

import dataclasses
from pathlib import Path
from typing import Annotated

import typer

from cachezoo.cli.common import Group, Json, hand_out, output_option, outputs, print_values, project, shows
from cachezoo.cli.reading import FormatName
from cachezoo.remote import located
from cachezoo.show.formats import percent
from cachezoo.show.output import print_lines, print_table, value_text
from cachezoo.show.table import text_table

app = typer.Typer(cls=Group, no_args_is_help=True, help="Check, show, write and release bundles.")
BundlePath = Annotated[Path, typer.Argument(metavar="DIR", help="Folder or .zip of a bundle.")]


KeyOption = Annotated[
    Path | None,
    typer.Option("--key", metavar="FILE", help="Public key (PEM); default CACHEZOO_KEY or /etc/cachezoo/key.pub."),
]


@app.command("verify", cls=shows("models bundle verify models/bundles/admission.web.lgbm"))
def bundle_verify(path: BundlePath, key: KeyOption = None, as_json: Json = False) -> None:
    """Check a bundle's files, stored answers and, with a key, signature."""
    from cachezoo.bundles.released import verify

    print_values(verify(path, key), as_json, f"{path}: verified")


@app.command("policy", cls=shows("models bundle policy rejectx+lirs -o lirs"))
def bundle_policy(
    policy: Annotated[str, typer.Argument(metavar="POLICY", help="Such as s3fifo or rejectx+lirs.")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="DIR", help="Folder to write; default its id.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Write a bundle of a classic for libcachezoo."""
    from cachezoo.bundles.classic import write_policy

    folder, digest = write_policy(policy, output)
    print_values({"folder": str(folder), "digest": digest}, as_json, f"{folder}: written")


@app.command("receive", cls=shows("models bundle receive release --key key.pub"))
def bundle_receive(
    folder: Annotated[Path, typer.Argument(metavar="DIR", help="Folder with release.json.")],
    key: KeyOption = None,
    as_json: Json = False,
) -> None:
    """Check a signed release; refuse older ones than its floor from then on."""
    from cachezoo.bundles.release import receive

    found = receive(folder, key)
    values = {"release": found.number, "floor": found.floor, "bundles": len(found.bundles)}
    print_values(values, as_json, f"{folder}: release {found.number}, signed")


@app.command("release", cls=shows("models bundle release release --key key.pem"))
def bundle_release(
    out_dir: Annotated[Path, typer.Argument(metavar="OUT", help="Folder for the archives.")],
    key: Annotated[
        Path | None, typer.Option("--key", metavar="FILE", help="Ed25519 private key (PEM) to sign with.")
    ] = None,
    number: Annotated[
        int | None, typer.Option("--number", metavar="N", help="Release number; default the next.", min=1)
    ] = None,
    floor: Annotated[
        int | None, typer.Option("--floor", metavar="N", help="Oldest accepted release; default unchanged.", min=1)
    ] = None,
    output: Annotated[list[Path] | None, output_option("Write a table of all bundles (.md).")] = None,
    as_json: Json = False,
) -> None:
    """Pack all bundles into archives; sign them with a key."""
    from cachezoo import paths
    from cachezoo.bundles.measured import unseen_traces
    from cachezoo.bundles.release import bundles_below, release, sign_release, zoo_page
    from cachezoo.errors import ConfigError
    from cachezoo.io import atomic_file

    page = outputs(output, ("markdown",)).get("markdown")
    if key is None and (number, floor) != (None, None):
        raise ConfigError("--number and --floor are those of a signed release; give --key")
    root = project()
    found = release(bundles_below(root / paths.BUNDLES), out_dir)
    signed = None if key is None else sign_release(found, out_dir, key, number, floor)
    if page is not None:
        with atomic_file(page) as temporary:
            temporary.write_text(zoo_page(found, unseen_traces(root)), encoding="utf-8", errors="replace")
    if hand_out([{"archive": str(one.archive), "bytes": one.size, "sha256": one.sha256} for one in found], as_json):
        return
    rows = ((one.archive.name, value_text(one.size), one.sha256) for one in found)
    print_table(text_table(str(out_dir), ("archive", "bytes", "sha256"), rows))
    if signed is not None:
        print_lines(f"release {signed.number}, floor {signed.floor}, signed by the key of {key}")


@app.command("export", cls=shows("models bundle export models/bundles/admission.web.lgbm --onnx admission.onnx"))
def bundle_export(
    path: BundlePath,
    onnx: Annotated[Path, typer.Option("--onnx", metavar="FILE", help="File to write.")],
    as_json: Json = False,
) -> None:
    """Export a model as ONNX, checked against the original."""
    from cachezoo.bundles.onnx_export import export_onnx
    from cachezoo.bundles.released import load

    difference = export_onnx(load(path), onnx)
    print_values({"file": str(onnx), "output_difference": difference}, as_json, f"{path}: written to {onnx}")


@app.command("inspect", cls=shows("models bundle inspect models/bundles/admission.web.lgbm"))
def bundle_inspect(path: BundlePath, as_json: Json = False) -> None:
    """Show a bundle's description."""
    from cachezoo.bundles.card import inspect, render
    from cachezoo.console import out

    report = inspect(path)
    if not hand_out(report, as_json):
        out().print(render(report))


@app.command("drift", cls=shows("models bundle drift models/bundles/admission.web.lgbm trace.parquet"))
def bundle_drift(
    path: BundlePath,
    trace: Annotated[Path, typer.Argument(metavar="TRACE", parser=located, help="Trace, such as a runtime's log.")],
    fmt: FormatName = "auto",
    as_json: Json = False,
) -> None:
    """Report a trace's drift from a model's training data."""
    from cachezoo.bundles.drift import drift, retrain_command, table_of
    from cachezoo.bundles.released import load
    from cachezoo.console import out
    from cachezoo.serving.requests import batch_of
    from cachezoo.traces.read import read_any

    bundle = load(path)
    found = drift(bundle, batch_of(read_any(trace, fmt, pages=False, replay=True)))
    if hand_out(dataclasses.asdict(found), as_json):
        return
    looked_at = f"{found.reads:,} reads" if found.placed is None else f"{found.placed.writes:,} writes"
    looked_at = f"{found.requests:,} requests" if found.requests else looked_at
    out().print(table_of(found, f"{path} on {trace}: {looked_at}"))
    if found.placed is not None:
        shares = (found.placed.beyond, found.placed.several_chunks, found.placed.other_streams)
        beyond, chunks, others = map(percent, shares)
        unseen = f"{beyond} of them begin beyond the last chunk that was learned."
        several = f"{chunks} span several chunks, {others} end in a chunk of another stream; the first byte decides."
        if found.placed.by_lifetime:
            unseen = f"{beyond} of them begin in a page that was not written before."
            several = f"{chunks} span several flash pages, {others} end in a page of another stream."
        print_lines(unseen, several)
    if found.like is not None:
        print_lines(f"Held against the training of {found.like}, which it is most like.")
    if found.left_out:
        print_lines(f"Left out, as the trace names none: {', '.join(found.left_out)}.")
    if found.admitted is not None:
        print_lines(f"{percent(found.admitted)} of them would be admitted.")
    worst = found.inputs[0]
    again = f"train it again: {retrain_command(str(trace), found.like or bundle.manifest['category'])}"
    advice = {"same": "nothing to do", "moved": "look again soon", "drifted": again}
    print_lines(f"{worst.name} is farthest: {worst.verdict}; {advice[worst.verdict]}")
