"""What a run ends with as rows of one table, for spreadsheets and other programs: `cachezoo results --csv`."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from cachezoo.errors import CachezooError, ConfigError
from cachezoo.io import atomic_file
from cachezoo.questions.results import Results

Row = dict[str, Any]


def of_categories(run: Results, names: Sequence[str]) -> Results:
    """The results of some categories, without those of systems whose one model is of all categories.

    Raises:
        ConfigError: a category that has no results; those that have are named.
    """
    found = [*(own.category for own in run.pages), *(own.category for own in run.flashes)]
    known = list(dict.fromkeys([*found, *(name for own in run.by_category.values() for name in own), *run.tiers]))
    for name in names:
        if name not in known:
            raise ConfigError(f"--category {name}: has no results; these have: {', '.join(known) or 'none yet'}")
    pages = [metrics for metrics in run.pages if metrics.category in names]
    flashes = [metrics for metrics in run.flashes if metrics.category in names]
    own = {
        system: {name: one for name, one in metrics.items() if name in names}
        for system, metrics in run.by_category.items()
    }
    tiers = {name: one for name, one in run.tiers.items() if name in names}
    return Results(pages, flashes, {}, {system: metrics for system, metrics in own.items() if metrics}, tiers)


def rows_of(run: Results) -> list[Row]:
    """A row for each policy and model on each test trace, page caches first.

    Returns:
        `category`, `trace`, `cache` (``page``, ``flash``, ``tiers`` of RAM and SSD, or ``shared``, whose trace is a
        mix), `policy`, of models in page caches `promoted`, then the figures by their names in metrics/
        (docs/data-dictionary.csv has their units); what is nested there is joined by `_`, and an interval is two
        figures that end in `_low` and `_high`.
    """
    pages = [
        {"category": own.category, "trace": one.trace, "cache": "page", "policy": one.row.policy,
         "promoted": one.promoted, **_flat(one.row.model_dump(mode="json"))}
        for own in run.pages
        for one in Results([own], [], {}).page_rows()
    ]  # fmt: skip
    flashes = [
        {"category": own.category, "trace": one.trace, "cache": "flash", "policy": one.policy,
         **_flat(one.row.model_dump(mode="json"))}
        for own in run.flashes
        for one in Results([], [own], {}).flash_rows()
    ]  # fmt: skip
    tiers = [
        {"category": own.category, "trace": key, "cache": "tiers", "policy": row.hierarchy,
         **_flat(row.model_dump(mode="json", exclude={"hierarchy"}))}
        for own in run.tiers.values()
        for key, trace in own.traces.items()
        for row in trace.rows
    ]  # fmt: skip
    shared = [
        {"trace": name, "cache": "shared", "policy": row.partitioner,
         **_flat(row.model_dump(mode="json", exclude={"partitioner"}))}
        for name, mix in (run.share.mixes if run.share is not None else {}).items()
        for row in mix.rows
    ]  # fmt: skip
    return [*pages, *flashes, *tiers, *shared]


def _flat(values: Mapping[str, Any]) -> Row:
    return dict(figure for name, value in values.items() for figure in _figures(name, value))


def _figures(name: str, value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401 - any value of JSON
    if isinstance(value, Mapping):
        for key, own in value.items():
            yield from _figures(f"{name}_{key}", own)
    elif isinstance(value, list):
        yield from zip((f"{name}_low", f"{name}_high"), value, strict=True)
    else:
        yield name, value


def write_csv(run: Results, path: Path) -> None:
    """Write the rows as CSV, see `rows_of`; a figure that no row has gets no column.

    Raises:
        CachezooError: there is no row, or the file cannot be written.
    """
    rows = rows_of(run)
    if not rows:
        raise CachezooError(f"{path}: not written, as there are no results of test traces yet; run `make repro`")
    names = dict.fromkeys(name for row in rows for name in row)
    columns = [name for name in names if any(row.get(name) is not None for row in rows)]
    with atomic_file(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, columns, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
