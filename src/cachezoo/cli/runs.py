"""What the simulation commands share: their options, a trace ready to be simulated, and words for tables."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cachezoo.cli.options import RANGES, page_bytes, sample_rate
from cachezoo.cli.reading import AUTO, READER, Reading
from cachezoo.errors import ConfigError, TraceError
from cachezoo.remote import located
from cachezoo.show.formats import number, percent
from cachezoo.sizes import PAGE_BYTES, Size, human, human_pages, refused

if TYPE_CHECKING:
    from cachezoo.questions.page.bench import Bench, Options
    from cachezoo.questions.page.turns import TurnsCache
    from cachezoo.traces.long import LongTrace
    from cachezoo.traces.objects import ObjectTrace
    from cachezoo.traces.read import TraceFiles
    from cachezoo.traces.sampling import Part, SampledTrace
    from cachezoo.traces.table import Trace

EXPLAINED = "simulate"  # in whose help the options are that several commands have
TracePath = Annotated[
    Path, typer.Argument(metavar="TRACE", parser=located, help="Trace of any known format.", rich_help_panel=READER)
]
Sizes = Annotated[
    list[str] | None,
    typer.Option(
        "--size",
        metavar="SIZE,…",
        help="64MiB, 10% (of distinct pages) or 4096p (pages); repeatable.",
        rich_help_panel=EXPLAINED,
    ),
]
Policies = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="POLICY",
        help="[admission+]eviction[+prefetch], follow(experts=A|B), vrm(...), rcrnn(category=auto) or module:Class; "
        "see policies; repeatable; default lru.",
        rich_help_panel=EXPLAINED,
    ),
]
ModelsFolder = Annotated[
    Path | None,
    typer.Option("--models", metavar="DIR", help="Models of rcrnn; default models/bundles.", rich_help_panel=EXPLAINED),
]
Counted = Annotated[
    str,
    typer.Option(
        "--count",
        metavar="FROM",
        help="Count: half (the second), all, auto (once LRU has filled the cache), or from 25%, 60s or access 1000 on.",
        rich_help_panel=EXPLAINED,
    ),
]
WritesOption = Annotated[
    str,
    typer.Option(
        "--writes", metavar="back|through|around", help="How writes use the cache.", rich_help_panel=EXPLAINED
    ),
]
UnitOption = Annotated[
    str, typer.Option("--unit", metavar="page|segment|request", help="Unit of admission.", rich_help_panel=EXPLAINED)
]
DeviceOption = Annotated[
    str | None,
    typer.Option(
        "--device",
        metavar="PROFILE",
        help="YAML, or name in conf/device: adds response times.",
        rich_help_panel=EXPLAINED,
    ),
]
PageSize = Annotated[str, typer.Option("--page-size", metavar="SIZE", help="4KiB to 1MiB.", rich_help_panel=EXPLAINED)]
Ignore = Annotated[
    str | None,
    typer.Option(
        "--ignore",
        metavar="deletes,ttl,sizes",
        help="Ignore these of an object trace; without sizes all objects are equal.",
        rich_help_panel=EXPLAINED,
    ),
]
Sampled = Annotated[
    str,
    typer.Option(
        "--sample",
        metavar="auto|exact|RATE",
        help="Simulate this share of pages; auto (default elsewhere): above 50 million page accesses.",
        rich_help_panel=EXPLAINED,
    ),
]
First = Annotated[
    int | None,
    typer.Option(
        "--first",
        min=RANGES["first"].least,
        metavar="N",
        help="Use only the first N requests.",
        rich_help_panel=EXPLAINED,
    ),
]
Speed = Annotated[
    float | None,
    typer.Option("--speed", metavar="X", min=0.001, max=1000, help="Replay X times as fast."),
]
ByOp = Annotated[bool, typer.Option("--by-op", help="Show read and write hit ratios.", rich_help_panel=EXPLAINED)]
RATIOS = ("hit_ratio", "read_hit_ratio", "write_hit_ratio", "transfers", "byte_hit_ratio")
DIGITS = {**dict.fromkeys(RATIOS, 4), "gap_points": 2}
ERROR = "error_90"  # at the end of the names of what an estimate may be off
LEAST_DECISION, MOST_DECISION = RANGES["decision_us"]
DecisionUs = Annotated[
    float,
    typer.Option(
        metavar="US",
        min=LEAST_DECISION,
        max=MOST_DECISION,
        help="Time of a decision, added to each request.",
        rich_help_panel=EXPLAINED,
    ),
]


def options_of(
    count: str, writes: str, unit: str, device: str | None, decision_us: float, reading: Reading = AUTO,
    page_size: str = "4KiB", first: int | None = None, sample: str = "auto",
) -> "Options":  # fmt: skip
    """How the policies run, from the options; what is unknown is refused before anything is read."""
    from cachezoo.contest.counting import Count
    from cachezoo.devices.profile import load_models
    from cachezoo.policies.stream import known_unit, known_writes
    from cachezoo.questions.page.bench import Options

    rules, page = (Count(count), known_writes(writes), known_unit(unit)), page_bytes(page_size)
    if device is not None and page != PAGE_BYTES:
        message = (
            f"--device {device}: response times are of the bytes that requests ask for, and a page of {human(page)} is "
            "read whole; leave --device or --page-size out"
        )
        raise ConfigError(message)
    models = None if device is None else load_models(device)
    part = part_of(sample, first, first)
    return Options(*rules, models, decision_us, reading, page_bytes=page, first=first, sample=part)


def of_pages(options: "Options") -> dict[str, bool]:
    """Which options of caches of pages say something else than without them, as the commands call them."""
    return {
        "--unit": options.unit != "page", "--page-size": options.page_bytes != PAGE_BYTES,
        "--device": options.device is not None, "--decision-us": options.decision_us != 0,
    }  # fmt: skip


def at_speed(trace: "Trace", speed: float | None) -> "Trace":
    """A trace that is replayed so many times as fast; None leaves it as it is."""
    from cachezoo.traces.transforms import faster

    return trace if speed is None else faster(trace, speed)


def known(ids: list[str], turns: bool = False) -> list[str]:
    """The policy ids as given; an unknown one is refused before anything runs.

    Args:
        ids: as typed.
        turns: RC-RNN's cache may be among them.
    """
    from cachezoo.policies.registry import policy
    from cachezoo.questions.page.rcrnn import rcrnn_of

    models = rcrnn_of(ids)
    if models and not turns:
        raise ConfigError(f"policy {next(iter(models))}: its models take turns in simulate and compare alone")
    return [*dict.fromkeys(str(models[own]) if own in models else policy(own).id for own in ids)]


def known_anywhere(ids: list[str]) -> None:
    """Refuse, before anything is read, what neither a cache of pages nor one of objects has."""
    from cachezoo.policies.registry import policy
    from cachezoo.questions.page.rcrnn import rcrnn_of

    models = rcrnn_of(ids)
    for own in (own for own in ids if own not in models):
        try:
            policy(own)
        except ConfigError as error:
            from cachezoo.sized.spec import parse

            try:
                parse(own)
            except ConfigError:
                raise error from None


def of_models(ids: list[str], models: Path | None) -> dict[str, bool]:
    """Which options that need the models of page caches were given, as `objects.refuse_of_pages` takes them."""
    from cachezoo.questions.page.rcrnn import ID, rcrnn_of

    return {f"--policy {ID}": bool(rcrnn_of(ids)), "--models": models is not None}


def taking_turns(ids: list[str], models: Path | None, options: "Options") -> "dict[str, TurnsCache]":
    """RC-RNN's caches among the policies, by their texts as `known` gives them, with the models of a folder.

    Raises:
        ConfigError: a folder that none of the policies needs.
    """
    from cachezoo.questions.page.rcrnn import FORM, rcrnn_of

    if asked := rcrnn_of(ids):
        from cachezoo.questions.page.turns import turns_of

        return turns_of(asked.values(), models, options)
    if models is not None:
        raise ConfigError(f"--models {models}: no policy takes models from there; add --policy '{FORM}'")
    return {}


def turns_values(caches: "Mapping[str, TurnsCache]") -> dict[str, Any]:
    """Who decided in the runs of RC-RNN's caches, as JSON values; nothing where there is none."""
    return {"turns": [own.values() for cache in caches.values() for own in cache.turns]} if caches else {}


def turns_words(caches: "Mapping[str, TurnsCache]") -> list[str]:
    """The same, a line each."""
    return [own.words() for cache in caches.values() for own in cache.turns]


def requests_of(path: Path, reading: Reading) -> "Trace | ObjectTrace":
    """A trace read whole into memory, of addresses or of objects."""
    from cachezoo.traces.read import TraceFiles, read_either

    return read_either(TraceFiles([path], reading[0], options=dict(reading[1])), replay=True)


def simulated_of(path: Path, options: "Options") -> "Trace | ObjectTrace | SampledTrace | LongTrace":
    """A trace as the options say: whole in memory, a sample of it, or one that is too long and is not read yet."""
    from cachezoo.questions.page.sweep import files_of
    from cachezoo.traces.long import opened

    return opened(files_of(path, options), options.sample, options.page_bytes, options.first)


def sample_of(
    files: "TraceFiles", sample: str, page: int = PAGE_BYTES, first: int | None = None, *, requests: bool = True
) -> "Trace | ObjectTrace | SampledTrace":
    """A trace in memory, whole or a sample of it; see `cachezoo.traces.read.read_part`.

    Raises:
        ConfigError: a part of the first requests, of which all are read.
    """
    from cachezoo.traces.read import read_part

    return read_part(files, part_of(sample, first if requests else None, first), page, requests=requests)


def addressed_of(files: "TraceFiles", sample: str) -> "Trace | SampledTrace":
    """As `sample_of`, of a trace of addresses.

    Raises:
        TraceError: it is of objects.
    """
    from cachezoo.traces.objects import ObjectTrace
    from cachezoo.traces.read import read_part

    found = read_part(files, part_of(sample), objects=False, near=True)
    assert not isinstance(found, ObjectTrace)
    return found


def part_of(sample: str, alone: int | None = None, first: int | None = None) -> "Part":
    """How much of a trace is read.

    Args:
        sample: as of `--sample`.
        alone: as of `--first`, where a part of so many requests cannot be taken.
        first: as of `--first`, of which all are read.
    """
    rate = sample_rate(sample)
    if rate is not None and alone is not None:
        raise refused("--sample", sample, "takes the whole trace; leave out --sample or --first")
    if sample == "exact" or first is not None:
        return "exact"
    return "auto" if rate is None else rate


def refuse_of_samples(given: Mapping[str, bool]) -> None:
    """Refuse options that need the whole trace where only a sample is read; `given` as `objects.refuse_of_pages`."""
    for option in (option for option, own in given.items() if own):
        raise ConfigError(
            f"{option}: needs all requests, of which a sample is read; leave it out, or run all of it: --sample exact"
        )


def present(traces: list[Path]) -> None:
    """A trace that is not there, or cannot be read more than once, is refused before the others run."""
    from cachezoo.traces.source import refuse_pipe

    for path in traces:
        if not path.exists():
            raise TraceError(f"{path}: no such file")
        refuse_pipe(path)


def bench_of(trace: "Trace | SampledTrace | LongTrace", options: "Options", sizes: list[Size]) -> "Bench":
    """The trace, ready; says where a size is above its working set."""
    from cachezoo.console import err
    from cachezoo.questions.page import sweep

    bench = sweep.bench_of(trace, options)
    page = bench.runs.page_bytes
    for own in sizes:
        if (size := bench.size(own)) > bench.n_pages:
            err().print(
                f"warning: a size of {human_pages(size, page)} is above the working set of "
                f"{human_pages(bench.n_pages, page)}: only first touches miss"
            )
    return bench


def check_sizes(bench: "Bench", ids: list[str], sizes: list[Size]) -> None:
    """Refuse a size that a policy cannot have before the others run: each such policy serves one page access.

    Raises:
        ConfigError: what the policy says of the size.
    """
    from cachezoo.policies.registry import ONE, policy
    from cachezoo.questions.page.rcrnn import parse

    for entry in (policy(own) for own in ids if parse(own) is None):
        if (entry.spec is not None and entry.spec.is_virtual) or entry.kind == "follower":
            for size in sizes:
                entry.simulate(ONE, bench.size(size))


def counted_words(rows: list[dict[str, Any]]) -> str:
    """From where on the runs count, in words."""
    from cachezoo.contest import counting

    warmups = [row["warmup"] for row in rows]
    said = counting.counted_words(warmups, [row["warmup"] + row["page_accesses"] for row in rows])
    rates = sorted({row["rate"] for row in rows if row.get("rate") is not None})
    if not rates:
        return said
    return f"{said}; estimated from {percent(rates[0])} of the pages, ± 90 %; ratios of requests are the sample's"


def shown(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows for a table: a size in pages of more than 4 KiB says so, an estimate has half its 90 % interval."""
    sized = [
        row if row["page_bytes"] == PAGE_BYTES else {**row, "capacity": human_pages(row["capacity"], row["page_bytes"])}
        for row in rows
    ]
    return [{name: own for name, own in {**row, **_with_errors(row)}.items() if ERROR not in name} for row in sized]


def _with_errors(row: dict[str, Any]) -> dict[str, str]:
    """The ratios of a row that are estimates, with half their 90 % intervals."""
    errors = {name.removesuffix(ERROR).rstrip("_") or "hit_ratio": own for name, own in row.items() if ERROR in name}
    known = {name: own for name, own in errors.items() if own is not None}
    digits = {name: DIGITS.get(name, 0) for name in known}
    return {name: f"{number(row[name], digits[name])} ± {number(own, digits[name])}" for name, own in known.items()}


def draw(plot: Path | None, rows: list[dict[str, Any]], title: str) -> None:
    """Draw the hit ratios of runs where a plot is wanted."""
    if plot is not None:
        from cachezoo.questions.page.plot import draw_hit_ratios

        draw_hit_ratios(rows, title, plot)
