"""Write amplification with forests of lifetimes beside dictionaries and baselines, through the system's own stages.

Run as `.venv/bin/python lab/notes/deaths.py [--unknown] NAME=FILE[,FILE,FILE] ...`. A single file is one drive's
trace, cut into three cycles of equally many write requests; three files are its cycles; `FILE@0.4@0.7` is cut at these
shares of its requests. All is chosen on the second cycle; figures are of the third. `--unknown` takes seconds and
prints one figure alone: the share of page writes that go to chunks which the first cycle never wrote. No dictionary of
that cycle can tell those apart.
"""

import argparse
import time
from itertools import pairwise
from pathlib import Path

import numpy as np

from cachezoo.config.load import load_params
from cachezoo.errors import CachezooError
from cachezoo.flash_drive.writes import drive_writes
from cachezoo.labels.streams import labels_of
from cachezoo.models.trained import TrainedModel
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any
from cachezoo.traces.table import OP_WRITE, Trace
from cachezoo.zoo.streams import evaluate, fit, judge
from cachezoo.zoo.streams.bench import Bench
from cachezoo.zoo.streams.deaths import fit_lifetimes
from cachezoo.zoo.streams.learn import learn

COLUMNS = ("legacy", "equal", "sepbit", "fios", "chosen", "online", "forest", "least", "most", "oracle")


def cycles_of(files: str) -> list[Trace]:
    """The three cycles of a drive, see the module."""
    paths = files.split(",")
    if len(paths) > 1:
        return [read_any(Path(path)) for path in paths]
    name, *shares = paths[0].split("@")
    trace = read_any(Path(name))
    writes = np.flatnonzero(trace.op == OP_WRITE)
    cuts = [int(float(share) * len(trace)) for share in shares] or [int(writes[len(writes) * k // 3]) for k in (1, 2)]
    return [trace.rows(a, b) for a, b in pairwise([0, *cuts, len(trace)])]


def unknown(cycles: list[Trace]) -> float:
    """Share of the page writes of the last cycle that go to chunks which the first never wrote."""
    writes = drive_writes(cycles)
    return 1 - float(np.isin(writes.chunks[writes.cycle(-1)], writes.chunks[writes.cycle(0)]).mean())


def measure(name: str, cycles: list[Trace]) -> tuple[dict[str, float], str]:
    """WAF of the third cycle by placement, and what is said beside it."""
    params = load_params()
    settings = fit.Settings(params.model.streams, params.fit.streams, {}, params.seed)
    rules = params.judge.streams.model_copy(update={"over_provisioning": []})
    drive = params.policy.drive
    train, validation, _ = ([one] for one in cycles)
    start = time.perf_counter()
    model, variants = fit.fit_prepared(name, {name: train[0]}, [labels_of(train[0], expand_pages(train[0]))], settings)
    if not model.trained:
        raise CachezooError(model.reason)
    middle = time.perf_counter()
    forests = fit_lifetimes(drive_writes(train), settings.fit.lifetime, params.seed, name)
    fitted = time.perf_counter() - middle
    bench = Bench.of(train, validation, drive, settings.model.streams)
    verdict, judged, _ = judge.judge(model, variants, train, bench, rules, forests)
    labels, seed = labels_of(validation[0], expand_pages(validation[0])), model.seeds[fit.CONTEXT]
    size = settings.fit.sid_bytes_per_tb
    (anew,) = learn(labels, [judged.chosen], settings.model.streams, settings.model.window, seed, size)
    given = dict(zip(("train", "validation", "test"), ([one] for one in cycles), strict=True))
    found = evaluate.evaluate(
        TrainedModel.of(model, verdict, {}), judged, variants, evaluate.Further((), anew, forests), given,
        evaluate.Settings(rules, drive, settings.model.arch, {}),
    )  # fmt: skip
    waf = {row.policy: row.waf for row in found.rows}
    fios = min((row for row in found.rows if row.kind == "fios"), key=lambda row: (row.validation_waf, row.streams))
    seeds = [row.waf for row in found.rows if row.policy.startswith("lifetime.")]
    figures = {
        **waf, "fios": fios.waf, "chosen": waf[judged.chosen], "forest": waf.get("lifetime", np.nan),
        "least": min(seeds, default=np.nan), "most": max(seeds, default=np.nan),
    }  # fmt: skip
    arguments = judged.lifetime[0].parameters if judged.lifetime else "none"
    return (
        figures,
        f"{fios.policy}; {judged.chosen}; {arguments}; forests {fitted:.1f} of {time.perf_counter() - start:.0f} s",
    )


def main() -> None:
    """Print what the options ask for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("drives", nargs="+", metavar="NAME=FILE[,FILE,FILE]")
    parser.add_argument("--unknown", action="store_true", help="print how much goes to unknown chunks, and no WAF")
    given = parser.parse_args()
    drives = [(name, files) for name, _, files in (drive.partition("=") for drive in given.drives)]
    if given.unknown:
        for name, files in drives:
            print(f"{name}: {unknown(cycles_of(files)):.1%} of the page writes go to chunks that the first never wrote")
        return
    print_wafs(drives)


def print_wafs(drives: list[tuple[str, str]]) -> None:
    """Print a line a drive, then medians over those with something to gain.

    Args:
        drives: name and files of each.
    """
    print("WAF by placement;", ", ".join(COLUMNS), "(least and most of the forest's seeds); FIOS; chosen; arguments")
    rows = []
    for name, files in drives:
        try:
            figures, said = measure(name, cycles_of(files))
        except CachezooError as error:
            print(f"{name}: refused, {error}")
            continue
        rows.append(figures)
        print(f"{name}:", " ".join(f"{figures[column]:.3f}" for column in COLUMNS), f"({said})", flush=True)
    told = [row for row in rows if row["legacy"] >= 1.05]
    if told:
        medians = " ".join(f"{np.median([row[column] / row['legacy'] for row in told]):.3f}" for column in COLUMNS)
        print(f"median of legacy over {len(told)} drives with WAF of 1.05 or more: {medians}")


if __name__ == "__main__":
    main()
