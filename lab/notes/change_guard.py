"""What guards the next-use forest's cache where a workload changes: other settings, on programs that its fit never saw.

    python -m lab.notes.change_guard [--folds 8] [--fold 1] [--seeds 5] [VARIANT …]     needs the stages ingest, corpus

Train traces alone; no validation or test trace is read. Fold k of K leaves out every K-th program by name, the forest
is fitted on the rest, and what was left out is run at the capacity of `judge.reuse`:

    alone      each trace; its first half, from where the cache is full, chooses the rival, its second half is judged
    changes    the first half of each trace, then the second half of the next one of another program, on pages of its
               own; what comes before the change chooses the rival, what follows from two capacities after it is judged

The rival is the classic, with its defaults, that hit most where the choice is made. It has a bar, an allowance of 0.01
and one reload of the cache below it; LRU's bar is 0.01 below LRU. Leads are in points of hit ratio, mean of the seeds.
A line of the table is the mean over the folds, with their standard deviation. The variants:

    as_is              the settings of params.yaml
    no_turns           no row is drawn where two traces take turns
    lru_expert         LRU guards as well
    lru_for_wtinylfu   LRU guards in place of W-TinyLFU
    half_life_2        the follower forgets hits four times as fast
    restart            the cache is emptied at the change, and all that it counted is forgotten. Nothing tells a cache
                       when a workload changes: this is what could be gained if it knew

Each fold is written when it is done, and read if it is wanted again; delete the file where settings or traces changed.
Estimated from a fifth of the train traces: with one seed, `as_is` takes four minutes of a busy core for the first fold,
which draws the rows of all traces, and a minute and a half for each other one of eight. A seed more costs a minute a
fold, a variant more a quarter of a minute for each seed, and `no_turns` the rows and the fits once more.
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import fmean, stdev
from typing import Annotated, Any, NamedTuple

import numpy as np

from cachezoo.arrays import U8
from cachezoo.config.load import load_params
from cachezoo.console import complain
from cachezoo.contest.choice import Goal, choose
from cachezoo.documents import Document
from cachezoo.errors import CachezooError, ConfigError, TraceError
from cachezoo.io import read_json, write_json
from cachezoo.jobs import spread
from cachezoo.meanings import Means
from cachezoo.policies.registry import classics
from cachezoo.policies.simulate import Simulator
from cachezoo.show import markdown
from cachezoo.show.formats import NONE, number, percent
from cachezoo.show.output import drawn
from cachezoo.show.table import Cell, Column, Table, name_cell, number_cell
from cachezoo.traces.joined import join
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.zoo.reuse import fit
from cachezoo.zoo.reuse.cache import FOLLOWING, policy_of
from cachezoo.zoo.reuse.changes import changes_of
from cachezoo.zoo.reuse.evaluate import Counted
from cachezoo.zoo.reuse.fit import Learned
from cachezoo.zoo.reuse.judge import FLOOR, allowed
from cachezoo.zoo.reuse.metrics import LRU
from cachezoo.zoo.reuse.prepared import Prepared
from cachezoo.zoo.reuse.trained import serve_all
from lab.carry_over.run import Settings, Source, fit_fold, rows_in_turns, rows_of, sources_of

FILE = Path(".cache/change_guard.json")
RESTART = "restart"


class Variant(NamedTuple):
    """Values of `fit.reuse` and of the follower in `model.reuse` that differ from params.yaml."""

    fit: Mapping[str, Any] = {}
    model: Mapping[str, Any] = {}


VARIANTS = {
    "as_is": Variant(),
    "no_turns": Variant(fit={"turns": 0.0}),
    "lru_expert": Variant(model={"experts": ["wtinylfu", LRU]}),
    "lru_for_wtinylfu": Variant(model={"experts": [LRU]}),
    "half_life_2": Variant(model={"half_life": 2.0}),
    RESTART: Variant(),
}
Caches = Mapping[str, Sequence[Learned]]  # of each variant, every seed's
Drawn = dict[tuple[float | str, ...], fit.Rows]


class Changed(Document):
    """What became of a variant's cache after a change."""

    lead: Annotated[float, Means("over the rival", "points of 0.01")]
    over_lru: Annotated[float, Means("over LRU", "points of 0.01")]
    above_rival: Annotated[bool, Means("at or above the rival's bar")]
    above_lru: Annotated[bool, Means("at or above LRU's bar")]


class Found(Document):
    """What became of a variant's cache on what a fold leaves out."""

    alone: Annotated[dict[str, float], Means("over the rival on each trace by key", "points of 0.01")]
    changes: Annotated[dict[str, Changed], Means("after each change, by the keys of both traces")]


def left_out(sources: Sequence[Source], fold: int, folds: int) -> list[Source]:
    """The traces of every program that a fold, counted from 0, leaves out."""
    programs = sorted({source.program for source in sources})[fold::folds]
    return [source for source in sources if source.program in programs]


def pairs_of(left: Sequence[Source]) -> list[tuple[Source, Source]]:
    """Each trace with the next one of another program, the last with the first; none where all are of one program."""
    found = []
    for place, first in enumerate(left):
        others = (second for second in [*left[place:], *left[:place]] if second.program != first.program)
        found += [(first, second) for second in islice(others, 1)]
    return found


def varied(settings: Settings, variant: Variant) -> Settings:
    """The settings of a variant."""
    return replace(
        settings,
        fit=settings.fit.model_copy(update=variant.fit),
        model=settings.model.model_copy(update=variant.model),
    )


def caches_of(fitted: Sequence[Source], names: Sequence[str], settings: Settings, drawn_before: Drawn) -> Caches:
    """Fit the forests of these variants, those that learn from the same rows once."""
    forests: dict[float, list[Learned]] = {}
    found = {}
    for name in names:
        own = varied(settings, VARIANTS[name])
        if own.fit.turns not in forests:
            forests[own.fit.turns] = fit_fold(_rows(fitted, own, drawn_before), own)
        following = {value: float(getattr(own.model, value)) for value in FOLLOWING}
        found[name] = [
            Learned(text, replace(plan, experts=own.model.experts, following=following))
            for text, plan in forests[own.fit.turns]
        ]
    return found


def _rows(sources: Sequence[Source], settings: Settings, drawn_before: Drawn) -> fit.Rows:
    """The rows that the stage fit_reuse draws of these traces; each trace's and pair's are drawn once for all folds."""
    of, turns = {source.key: source for source in sources}, settings.fit.turns

    def draw(title: str, work: Callable[..., fit.Rows], traces: Sequence[tuple[str, ...]]) -> list[fit.Rows]:
        new = [keys for keys in traces if (turns, *keys) not in drawn_before]
        made = spread(title, work, [(*(of[key] for key in keys), settings) for keys in new])
        drawn_before.update(zip([(turns, *keys) for keys in new], made, strict=True))
        return [drawn_before[turns, *keys] for keys in traces]

    alone = draw("rows of each trace", rows_of, [(key,) for key in of])
    return fit.joined([*alone, *draw("rows of traces in turns", rows_in_turns, fit.pairs_of(list(of), settings))])


def _served(part: Prepared, capacity: int, caches: Caches, settings: Settings) -> dict[str, list[U8]]:
    """What every seed's cache of each variant does, uint8[m] each."""
    policy = policy_of(settings.model.model_dump(), fit.seeds_of(settings)[0])
    every = [one for forests in caches.values() for one in forests]
    found = iter(run.run.outcome for run in serve_all(part, capacity, every, policy))
    return {name: list(islice(found, len(forests))) for name, forests in caches.items()}


def _classics(part: Prepared, capacity: int) -> dict[str, U8]:
    """What each classic does, uint8[m]."""
    simulator = Simulator(part.trace, part.pages)
    return {name: simulator.run(name, capacity, 0).outcome for name in classics()}


def _rival(before: Mapping[str, float]) -> str:
    """The classic with the highest hit ratio."""
    choice = choose({name: [ratio] for name, ratio in before.items()}, Goal.GAIN)
    assert choice is not None  # there are classics
    return choice.chosen


def run_alone(source: Source, caches: Caches, settings: Settings) -> dict[str, float]:
    """Points by which each variant's cache leads on a trace."""
    part = Prepared.read(source.key, source.path)
    capacity = capacity_pages(settings.judge.capacity, part.pages.n_pages)
    counted, rivals = Counted.of(part.pages, capacity), _classics(part, capacity)
    rival = rivals[_rival({name: counted.first_half(outcome) for name, outcome in rivals.items()})]
    theirs = counted.judged(rival).mean()
    return {
        name: 100 * fmean(float(counted.judged(outcome).mean() - theirs) for outcome in seeds)
        for name, seeds in _served(part, capacity, caches, settings).items()
    }


def run_change(first: Source, second: Source, caches: Caches, settings: Settings) -> dict[str, Changed]:
    """What each variant's cache does after a change; empty where the second trace is too short to say."""
    stream = join("other", *(Prepared.read(source.key, source.path).trace for source in (first, second)))
    trace, pages = stream.trace, expand_pages(stream.trace)
    part = Prepared(trace.meta.trace_id, None, trace, pages)
    capacity = capacity_pages(settings.judge.capacity, pages.n_pages)
    try:
        (change,) = changes_of(pages, stream.at, capacity)
    except TraceError:
        return {}
    ways = {name: change.hits(outcome) for name, outcome in _classics(part, capacity).items()}
    rival, lru = ways[_rival({name: hits.before for name, hits in ways.items()})].settled, ways[LRU].settled
    served = _served(part, capacity, caches, settings)
    if RESTART in caches:
        after = trace.rows(stream.at[0], len(trace))
        anew = Prepared(part.key, None, after, expand_pages(after))
        fresh = _served(anew, capacity, {RESTART: caches[RESTART]}, settings)[RESTART]
        served[RESTART] = [
            np.concatenate([outcome[: change.at], own]) for outcome, own in zip(served[RESTART], fresh, strict=True)
        ]
    found = {}
    for name, seeds in served.items():
        ours = fmean(change.hits(outcome).settled for outcome in seeds)
        found[name] = Changed(
            lead=100 * (ours - rival),
            over_lru=100 * (ours - lru),
            above_rival=ours >= rival - allowed(capacity, change.end - change.settled),
            above_lru=ours >= lru - FLOOR,
        )
    return found


def measure(
    sources: Sequence[Source], fold: int, folds: int, names: Sequence[str], settings: Settings, drawn_before: Drawn
) -> dict[str, Found]:
    """Fit these variants without the programs that a fold leaves out, and run them on those.

    Args:
        sources: train traces.
        fold: counted from 0.
        folds: of how many.
        names: variants.
        settings: parameters.
        drawn_before: rows that other folds have drawn; those of this one are added.

    Raises:
        ConfigError: there are fewer programs than folds, or no other fold.
        TrainingError: no trace has an access whose next use is settled.
        TraceError: a trace is missing or damaged.
    """
    left = left_out(sources, fold, folds)
    fitted = [source for source in sources if source not in left]
    if not left or not fitted:
        raise ConfigError(f"fold {fold + 1} of {folds}: give 2 folds to as many as there are programs")
    caches, pairs = caches_of(fitted, names, settings, drawn_before), pairs_of(left)
    leads = spread("traces left out", run_alone, [(source, caches, settings) for source in left])
    after = spread("changes", run_change, [(*pair, caches, settings) for pair in pairs])
    return {
        name: Found(
            alone={source.key: lead[name] for source, lead in zip(left, leads, strict=True)},
            changes={
                f"{first.key}+{second.key}": own[name]
                for (first, second), own in zip(pairs, after, strict=True) if own
            },
        )
        for name in names
    }  # fmt: skip


def update(
    sources: Sequence[Source], chosen: Sequence[int], folds: int, names: Sequence[str], settings: Settings, file: Path
) -> dict[str, list[Found]]:
    """What became of each variant in each of the chosen folds; folds that the file lacks are measured and added to it.

    Raises:
        CachezooError: as `measure`, or the file is damaged or cannot be written.
    """
    known = {key: Found.model_validate(own) for key, own in (read_json(file) if file.exists() else {}).items()}
    drawn_before: Drawn = {}

    def key(name: str, fold: int) -> str:
        return f"{name}, fold {fold + 1} of {folds}, seeds: {settings.fit.seeds}"

    for fold in chosen:
        if new := [name for name in names if key(name, fold) not in known]:
            measured = measure(sources, fold, folds, new, settings, drawn_before)
            known |= {key(name, fold): own for name, own in measured.items()}
            write_json(file, {name: own.model_dump(mode="json") for name, own in known.items()})
    return {name: [known[key(name, fold)] for fold in chosen] for name in names}


def table(found: Mapping[str, Sequence[Found]]) -> Table:
    """A line a variant."""
    columns = [
        Column("variant", numeric=False),
        Column("traces", "run alone"),
        Column("lead alone", "over the rival, points"),
        Column("changes"),
        Column("lead after", "over the rival, points"),
        Column("rival's bar", "part of the changes after which it is kept"),
        Column("LRU's bar", "the same"),
        Column("lowest", "over LRU after a change, points"),
    ]
    return Table("Programs left out of the fit", columns, [_line(name, own) for name, own in found.items()])


def _line(name: str, folds: Sequence[Found]) -> list[Cell]:
    changes = [list(one.changes.values()) for one in folds if one.changes]
    alone = [fmean(one.alone.values()) for one in folds]
    leads = [fmean(change.lead for change in own) for own in changes]
    bars = [[fmean(getattr(change, bar) for change in own) for own in changes] for bar in ("above_rival", "above_lru")]
    lowest = min((change.over_lru for own in changes for change in own), default=None)
    return [
        name_cell(name),
        number_cell(sum(len(one.alone) for one in folds)),
        _mean(alone, lambda value: number(value, 2, signed=True)),
        number_cell(sum(map(len, changes))),
        _mean(leads, lambda value: number(value, 2, signed=True)),
        *(_mean(shares, lambda value: percent(value, 0)) for shares in bars),
        Cell(number(lowest, 2, signed=True), lowest),
    ]


def _mean(values: Sequence[float], shown: Callable[[float], str]) -> Cell:
    """The mean over the folds, with their standard deviation."""
    if not values:
        return Cell(NONE)
    apart = f"± {shown(stdev(values)).lstrip('+')}" if len(values) > 1 else ""
    return Cell(shown(fmean(values)), fmean(values), apart)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("variants", nargs="*", metavar="VARIANT", help=f"of {', '.join(VARIANTS)}; default: all")
    parser.add_argument("--folds", type=int, default=8)
    parser.add_argument("--fold", type=int, help="from 1; default: all")
    parser.add_argument("--seeds", type=int, help="forests of each fit; default: as params.yaml says")
    parser.add_argument("--out", type=Path, default=FILE, help="where folds are written; default: %(default)s")
    given = parser.parse_args(arguments)
    for name in given.variants:
        if name not in VARIANTS:
            parser.error(f"there is no variant {name}; there are {', '.join(VARIANTS)}")
    chosen = range(given.folds) if given.fold is None else [given.fold - 1]
    try:
        settings = Settings.of(load_params())
        if given.seeds is not None:
            settings = varied(settings, Variant(fit={"seeds": given.seeds}))
        found = update(sources_of(settings), chosen, given.folds, given.variants or [*VARIANTS], settings, given.out)
    except CachezooError as error:
        complain(str(error))
        return 1
    print(markdown.titled(drawn(table(found))))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
