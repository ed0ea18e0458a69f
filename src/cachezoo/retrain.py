"""`make retrain`: a user's own traces become part of the fit, and the models made of it challenge the champions.

Each trace is cut in time: its first part is fitted, the rest joins what the judges see. What ran before keeps its seat
in zoo.json until a new bundle is shown to gain on validation.

`TRY=1` changes nothing of the zoo: it fits the page cache with more and more of the first part, and judges on the rest.
"""

import argparse
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from cachezoo import paths
from cachezoo.bundles.drift import retrain_command
from cachezoo.bundles.measured import ROLES, promotion
from cachezoo.bundles.protocol import MANIFEST
from cachezoo.bundles.reader import load
from cachezoo.config.load import load_params
from cachezoo.config.matrix import NewTrace, add_trace
from cachezoo.console import complain, out
from cachezoo.errors import CachezooError, ConfigError
from cachezoo.params import categories_of
from cachezoo.show.output import print_table
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import TraceFiles, read_files
from cachezoo.tracking.zoo import promote
from cachezoo.zoo.registry import SYSTEMS
from cachezoo.zoo.reuse.prepared import Prepared
from cachezoo.zoo.reuse.record import REUSE
from cachezoo.zoo.reuse.tried import Tried, sentence, table, try_past

FITTED = 0.7  # of each trace


def bundles(root: Path, category: str) -> list[Path]:
    """The bundles of the models that a category's traces are fitted into.

    Those of all categories come first: a category's own model challenges the champion of all.

    Raises:
        ConfigError: there is no such category.
    """
    params = load_params(root / paths.PARAMS)
    pages = params.data.page_categories
    of_scope = {"all": pages, "category": categories_of(params), "page category": pages}
    of_scope["stream category"] = list(params.data.cycles)
    known = sorted({name for names in of_scope.values() for name in names})
    if category not in known:
        message = f"category {category!r}: params.yaml has {', '.join(known)}; begin one by `cachezoo trace add`"
        raise ConfigError(message)
    found = []
    for kind, system in sorted(SYSTEMS.items(), key=lambda entry: entry[1].scope != "all"):
        if system.bundling is not None and category in of_scope[system.scope]:
            own = () if system.scope == "all" else (category,)
            found.append(paths.bundle(".".join((kind, *own, getattr(params.model, kind).arch))))
    return found


def _has_seat(bundle: Path) -> bool:
    return bundle.name.partition(".")[0] in ROLES


def _made(root: Path, bundle: Path) -> str:
    """What came of a bundle that was made again; one with a seat challenges for it."""
    if not (root / bundle / MANIFEST).exists():
        return f"{bundle}: was refused, see REFUSED.json there; the champion stays"
    if not _has_seat(bundle):
        good, why = promotion(load(root / bundle).manifest["measured"])
        return f"{bundle}: runs beside others, without a seat; {'gains' if good else 'does not gain'}: {why}"
    good, why, _ = promote(root, load_params(root / paths.PARAMS), root / bundle)
    return f"{bundle}: {'is champion' if good else 'stays challenger'}: {why}"


def retrain(root: Path, traces: Sequence[Path], category: str) -> list[str]:
    """Add traces, make the models again, and let them challenge.

    Args:
        root: the project.
        traces: raw traces, of any format that `cachezoo trace formats` lists.
        category: what they are of.

    Returns:
        A line for each model: whether it took the seat.

    Raises:
        CachezooError: a trace cannot be read, or a stage failed; what was added stays in conf/matrix.yaml.
    """
    wanted = bundles(root, category)
    for bundle in wanted:
        if _has_seat(bundle) and (root / bundle / MANIFEST).exists():
            promote(root, load_params(root / paths.PARAMS), root / bundle)
    for trace in traces:
        for role, part in (("train", (0.0, FITTED)), ("validation", (FITTED, 1.0))):
            add_trace(root, NewTrace(trace, category, role, part=part))
    if subprocess.run([sys.executable, "-m", "dvc", "repro", "export"], cwd=root, check=False).returncode:
        message = f"{root}: a stage failed, see above; run make retrain again without TRACES after it is fixed"
        raise CachezooError(message)
    return [_made(root, bundle) for bundle in wanted]


def tried(root: Path, traces: Sequence[Path], category: str) -> Tried:
    """What the traces' past brings the page cache of all categories.

    Args:
        root: the project.
        traces: raw traces of any format that `cachezoo trace formats` lists; several are files of one trace.
        category: what they are of.

    Raises:
        CachezooError: a trace cannot be read or is too short, there is no trained model, or the category has no page
            cache.
    """
    if not any(bundle.name.startswith(f"{REUSE.id}.") for bundle in bundles(root, category)):
        raise ConfigError(f"category {category!r}: has no page cache that could be tried; leave TRY out")
    trace = read_files(TraceFiles(list(traces), category=category), replay=True)
    part = Prepared(trace.meta.trace_id, traces[0], trace, expand_pages(trace))
    return try_past(part, int(FITTED * len(trace)), load_params(root / paths.PARAMS))


def main(words: Sequence[str]) -> int:
    """Run it from the command line; an expected error is one line."""
    parser = argparse.ArgumentParser(prog="make retrain", description="Fit your own traces in, and challenge.")
    parser.add_argument("traces", nargs="*", type=Path, help="raw traces; none: only make the models again")
    parser.add_argument("--category", help="a category of conf/matrix.yaml")
    parser.add_argument("--try", dest="only_try", action="store_true", help="change nothing, say what it would bring")
    given = parser.parse_args(words)
    try:
        if given.category is None:
            raise ConfigError(f"say which traces, and of which category: {retrain_command('a.csv b.csv', 'database')}")
        if given.only_try:
            found = tried(Path(), given.traces, given.category)
            out().print(sentence(found), soft_wrap=True, markup=False)
            print_table(table(found))
            return 0
        lines = retrain(Path(), given.traces, given.category)
    except CachezooError as error:
        complain(f"retrain: {error}")
        return 1
    for line in lines:
        out().print(line, soft_wrap=True, markup=False)
    return 0
