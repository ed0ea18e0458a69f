"""lab/results/rcrnn/public.json: RC-RNN's cache beside its rivals on public block traces.

The paper's traces (Table 4) are public ones. Where an environment variable names a folder of such, this runs the caches
of Figs. 11 to 15 on every block trace in its folder `block`: `rcrnn(category=auto)`, whose model is that of the nearest
category by the workload classifier, as no model was trained on any of these. No stage reads them.
"""

import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Annotated

from cachezoo import paths
from cachezoo.console import err, progress
from cachezoo.devices.profile import load_models
from cachezoo.documents import Document
from cachezoo.errors import TraceError
from cachezoo.meanings import Each, Means
from cachezoo.metrics.files import MAKE, REPRO, present, read
from cachezoo.params import At, Picked
from cachezoo.policies.simulate import Simulator
from cachezoo.questions.page.bench import Bench
from cachezoo.questions.page.rcrnn import FORM, Rcrnn
from cachezoo.questions.page.turns import TurnsCache
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.read import read_any
from cachezoo.traces.table import OP_READ, Trace
from lab.claims.finding import Figure
from lab.rcrnn.files import FOLDER
from lab.rcrnn.sizes import CacheRun
from lab.rcrnn.sizes_run import rivals, row

VARIABLE, BLOCK = "CACHEZOO_PUBLIC_TRACES", "block"
FILE, PLOT = FOLDER / "public.json", FOLDER / "public.png"
PROFILE = "wdredpro2tb_850pro"  # the paper's own disk and SSD
MOST_REQUESTS = 150_000
"""Of a trace, from its first on; those of Table 4 have 60 to 90 thousand."""
MSR = re.compile(
    r"(?:^|[^a-z0-9])((?:hm|mds|prn|proj|prxy|rsrch|src1|src2|stg|ts|usr|wdev|web)_\d)(?![0-9])", re.IGNORECASE
)
NOTE = (
    "Public traces that no model was trained on: the workload classifier says whose model decides. Classics with their "
    "defaults; counted on the second half of each trace."
)


@dataclass(frozen=True)
class Settings(Picked):
    """What is read of params.yaml."""

    fractions: Annotated[list[float], At("label.benefit.capacities")]
    decision_us: Annotated[dict[str, float], At("evaluate.decision_cost_us")]


class Decided(Document):
    """A category whose model decided."""

    category: Annotated[str, Means("category; `no model` before the classifier's first vote")]
    share: Annotated[float, Means("of the requests", "share")]


class PublicTrace(Document):
    """A public trace."""

    trace: Annotated[str, Means("its file's name, without what the format puts behind it")]
    msr_volume: Annotated[str, Means("the volume of MSR Cambridge that it is, by its name or format; empty of others")]
    format: Annotated[str, Means("that it was read as")]
    requests: Annotated[int, Means("that were run")]
    distinct_pages: Annotated[int, Means("of them", "4 KiB pages")]
    reads_per_write: Annotated[float | None, Means("requests; null without writes")]
    mean_kib: Annotated[float, Means("size of a request", "KiB")]
    takeovers: Annotated[int, Means("times that a model began to decide")]
    decided: Annotated[list[Decided], Each("one category", "category")]


class PublicTraces(Figure):
    """The caches of Figs. 11 to 15 on public traces; no claim of the paper is held against these."""

    profile: Annotated[str, Means("device profile of the response times")]
    traces: Annotated[list[PublicTrace], Each("one trace", "trace")]
    rows: Annotated[list[CacheRun], Each("one cache on a trace", "trace, capacity_fraction and policy")]


def msr_volume(name: str, trace: Trace) -> str:
    """The volume of MSR Cambridge that a trace is of, such as `hm_0`; empty where it is none."""
    named = MSR.search(name)
    if named is not None:
        return named[1].lower()
    volumes = trace.volume.names
    return volumes[0].replace(".", "_") if trace.meta.source_format == "msr" and len(volumes) == 1 else ""


def block_traces(folder: Path) -> Iterator[tuple[str, Trace]]:
    """The traces of a folder whose requests have addresses and directions, by name, each once.

    The same requests in another format are left out, and what is left out is said in a line.
    """
    known: dict[str, str] = {}
    for path in sorted(one for one in folder.iterdir() if one.is_file()):
        try:
            whole = read_any(path, quiet=True)
        except TraceError as error:
            err().print(f"left out: {error}", soft_wrap=True, markup=False)
            continue
        trace = whole.rows(0, min(len(whole), MOST_REQUESTS))
        key = sha256(trace.offset.tobytes() + trace.size.tobytes() + trace.op.tobytes()).hexdigest()
        why = f"has the requests of {known[key]}" if key in known else "does not say what was written"
        if key in known or "op" in trace.meta.extra:
            err().print(f"left out: {path.name} {why}", soft_wrap=True, markup=False)
            continue
        known[key] = path.name
        yield trace.meta.trace_id, trace


def about(name: str, trace: Trace, pages: int, own: TurnsCache) -> PublicTrace:
    """What a trace is, and who decided on it."""
    reads, (turns, *_) = int((trace.op == OP_READ).sum()), own.turns
    return PublicTrace(
        trace=name, msr_volume=msr_volume(name, trace), format=trace.meta.source_format, requests=len(trace),
        distinct_pages=pages, reads_per_write=reads / (len(trace) - reads) if reads < len(trace) else None,
        mean_kib=float(trace.size.mean()) / 1024, takeovers=turns.takeovers,
        decided=[Decided(category=category, share=share) for category, share in turns.decided.items()],
    )  # fmt: skip


def run_public(folder: Path, bundles: Path, settings: Settings) -> PublicTraces:
    """Run every cache on every block trace of a folder.

    Args:
        folder: of the traces.
        bundles: of the trained models.
        settings: sizes, and what a decision is charged.

    Raises:
        CachezooError: a bundle is missing or damaged, or the folder has no block trace.
    """
    device, traces, rows = load_models(PROFILE), list[PublicTrace](), list[CacheRun]()
    found = list(block_traces(folder))
    if not found:
        raise TraceError(f"{folder}: has no block trace; put some there, or unset {VARIABLE}")
    with progress("caches on public traces", len(found)) as advance:
        for done, (name, trace) in enumerate(found):
            pages = expand_pages(trace)
            bench, own = Bench.of(Simulator(trace, pages), device), TurnsCache(Rcrnn(), present(bundles, REPRO))
            assert bench.times is not None
            for fraction in settings.fractions:
                advance(done, f"{name}, {100 * fraction:g} %")
                capacity = capacity_pages(fraction, pages.n_pages)
                rows += [row(name, fraction, kind, one, bench.times) for kind, one in rivals(bench.simulator, capacity)]
                ran = own.simulated(bench, capacity)
                rows.append(row(name, fraction, "ours", ran, bench.times, settings.decision_us["caching"]))
            traces.append(about(name, trace, pages.n_pages, own))
    return PublicTraces(
        id="public", source="Table 4, Figs. 11 to 15", title=f"{FORM} on public traces", note=NOTE, findings=[],
        profile=PROFILE, traces=traces, rows=rows,
    )  # fmt: skip


def public_folder(environment: Mapping[str, str] = os.environ) -> Path | None:
    """Where public block traces lie; None, said in a line, where no variable names them."""
    named = environment.get(VARIABLE, "")
    if named:
        return Path(named) / BLOCK
    err().print(f"public traces: {VARIABLE} is not set; {FILE} stays as it is", soft_wrap=True, markup=False)
    return None


def measured(settings: Settings) -> PublicTraces | None:
    """The document of the folder that the environment names; None without one.

    Raises:
        CachezooError: as `run_public`.
    """
    folder = public_folder()
    if folder is None:
        return None
    if not folder.is_dir():
        raise TraceError(f"{folder}: is not there; {VARIABLE} names its parent, which has block traces in it")
    return run_public(folder, paths.BUNDLES, settings)


def read_public(path: Path) -> PublicTraces:
    """lab/results/rcrnn/public.json, see `cachezoo.metrics.files.read`."""
    return read(path, PublicTraces, MAKE)
