"""Two studies of a system beside each other: setting by setting, and what they were made from."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, TypeAdapter, model_validator

from cachezoo.errors import ConfigError
from cachezoo.io import read_json
from cachezoo.study.grid import differing
from cachezoo.study.paired import difference, verdict
from cachezoo.study.tables import span
from cachezoo.yaml_file import checked

if TYPE_CHECKING:
    from rich.table import Table

MOST_NAMED = 4
PARTS = {"params": "params.yaml", "data": "data", "sources": "sources", "libraries": "libraries"}


class Figure(BaseModel):
    """A figure of the trainings of a setting, in the order of their seeds."""

    each: list[float]


class Row(BaseModel):
    """A setting of a study; see `cachezoo.study.summary.summary`, as for the classes below."""

    setting: str
    set: dict[str, str]
    is_params_yaml: bool
    trained: list[int]
    choosing: Figure
    judging: Figure | None = None
    test: dict[str, Figure] = {}

    @model_validator(mode="after")
    def _as_many(self) -> "Row":
        if any(len(own.each) != len(self.trained) for own in (self.choosing, *self.test.values())):
            raise ValueError(f"the setting {self.setting} has another number of figures than of trainings")
        return self

    def figures(self) -> dict[str, Figure]:
        """Its figures that there are one of for each training, by name."""
        judging = {"judging": self.judging} if self.judging and len(self.judging.each) == len(self.trained) else {}
        return {"choosing": self.choosing, **judging, **{f"test {key}": own for key, own in self.test.items()}}


class MadeFrom(BaseModel):
    """What a study hangs on besides what was asked."""

    params: dict[str, Any]
    data: dict[str, str]
    sources: dict[str, str]
    libraries: dict[str, str]


class StudyFile(BaseModel):
    """What `cachezoo models study -o` writes, as far as two are compared."""

    system: str
    seed: int
    seeds: int
    choosing: str
    lower_is_better: bool
    judging: str
    judging_lower_is_better: bool
    tests: str
    categories: dict[str, list[Row]]
    made_from: MadeFrom


def read_study(path: Path) -> StudyFile:
    """Read a study's figures.

    Raises:
        CachezooError: the file is missing or no JSON.
        ConfigError: it is not what a study writes; the first key that is not is named.
    """
    return checked(TypeAdapter(StudyFile), read_json(path), str(path), "write it anew with `cachezoo models study -o`")


def compare(first: Path, second: Path) -> dict[str, Any]:
    """Compare two studies.

    Args:
        first: a file that `cachezoo models study -o` wrote.
        second: another one.

    Returns:
        `system` and what its figures are; `files`; `differ`: what the studies were made from that is not the same, by
        part, each with both values; `categories`: for each the settings that are in both, with the difference of every
        figure (second less first, see `cachezoo.study.paired.difference`), and `alone`, those that one of them has.

    Raises:
        CachezooError: a file cannot be read.
        ConfigError: one is no study, or they are of other systems or of no common category.
    """
    studies = [read_study(path) for path in (first, second)]
    one, other = studies
    if one.system != other.system:
        message = f"{second}: is a study of {other.system}, and {first} of {one.system}; compare two of one system"
        raise ConfigError(message)
    shared = [name for name in one.categories if name in other.categories]
    if not shared:
        names = [", ".join(own.categories) for own in studies]
        message = f"{second}: is of {names[1]}, and {first} of {names[0]}; compare two with a category in common"
        raise ConfigError(message)
    return {
        "system": one.system,
        "files": [str(first), str(second)],
        "lower_is_better": {"choosing": one.lower_is_better, "judging": one.judging_lower_is_better},
        "figures": {"choosing": one.choosing, "judging": one.judging, "test": one.tests},
        "seeds": [[own.seed, own.seeds] for own in studies],
        "differ": {part: differing(getattr(one.made_from, part), getattr(other.made_from, part)) for part in PARTS},
        "categories": {name: _category(one, other, name) for name in shared},
    }


def _category(one: StudyFile, other: StudyFile, name: str) -> dict[str, Any]:
    rows, others = one.categories[name], other.categories[name]
    pairs = list(_matched(rows, others))
    matched = [id(row) for pair in pairs for row in pair]
    return {
        "settings": [
            {
                "setting": second.setting if first.set == second.set else f"{first.setting} / {second.setting}",
                "figures": _differences(one, other, first, second),
            }
            for first, second in pairs
        ],
        "alone": [[row.setting for row in own if id(row) not in matched] for own in (rows, others)],
    }


def _matched(rows: list[Row], others: list[Row]) -> Iterator[tuple[Row, Row]]:
    """Settings that set the same; then those of params.yaml, whatever was set to arrive at it."""
    left = list(others)
    for row in sorted(rows, key=lambda own: all(own.set != other.set for other in others)):
        same = [other for other in left if other.set == row.set]
        same = same or [other for other in left if row.is_params_yaml and other.is_params_yaml]
        if same:
            left.remove(same[0])
            yield row, same[0]


def _differences(one: StudyFile, other: StudyFile, first: Row, second: Row) -> dict[str, Any]:
    found = {}
    theirs = second.figures()
    for name, figure in first.figures().items():
        if name in theirs:
            values = [
                dict(zip((study.seed + seed for seed in row.trained), own.each, strict=True))
                for study, row, own in ((one, first, figure), (other, second, theirs[name]))
            ]
            means = [sum(own.values()) / len(own) if own else None for own in values]
            found[name] = {"means": means, **difference(*values)}
    return found


def tables(found: Mapping[str, Any]) -> "list[Table]":
    """Of each category the differences, then what the studies were made from."""
    from rich.markup import escape
    from rich.table import Table

    made = []
    for category, own in found["categories"].items():
        title = f"{category}: B less A, with its 90 % interval. A is {found['files'][0]}, B is {found['files'][1]}."
        table = Table("setting", "figure", "A", "B", "B less A", "interval", "seeds", "", title=escape(title))
        for row in own["settings"]:
            for name, one in row["figures"].items():
                means = [_shown(value) for value in one["means"]]
                pairs = f"{one['seeds']} {'pairs' if one['paired'] else 'not paired'}"
                step = "-" if one["mean"] is None else f"{one['mean']:+.4f}"
                table.add_row(escape(row["setting"]), name, *means, step, span(one), pairs, says(found, name, one))
        for file, settings in zip("AB", own["alone"], strict=True):
            for setting in settings:
                table.add_row(escape(setting), f"only {file} has it")
        made.append(table)
    return made


def says(found: Mapping[str, Any], name: str, one: Mapping[str, Any]) -> str:
    """A difference in words; test traces choose nothing, so of theirs it is said only whether they are apart."""
    if name in found["lower_is_better"]:
        return verdict(one, found["lower_is_better"][name], "B is better", "A is better")
    return verdict(one, True, "B is lower", "B is higher")


def lines(found: Mapping[str, Any]) -> Iterator[str]:
    """What the figures are, what differs besides the settings, and how far to trust an interval."""
    for name, text in found["figures"].items():
        yield f"{name}: {text}{', less is better' if found['lower_is_better'].get(name) else ''}"
    for part, entries in found["differ"].items():
        if not entries:
            yield f"{PARTS[part]}: the same"
            continue
        named = [_entry(part, key, values) for key, values in list(entries.items())[:MOST_NAMED]]
        more = f", and {len(entries) - MOST_NAMED} more (--json has all)" if len(entries) > MOST_NAMED else ""
        count = f"{len(entries)} {'differs' if len(entries) == 1 else 'differ'}"
        yield f"{PARTS[part]}: {count}: {', '.join(named)}{more}"
    settings = [row for own in found["categories"].values() for row in own["settings"]]
    compared = sum(one["mean"] is not None for row in settings for one in row["figures"].values())
    yield f"Of {compared} differences about {compared / 10:.1f} would leave out 0 by chance alone."


def _entry(part: str, key: str, values: list[Any]) -> str:
    """A value before and after; of files their names alone."""
    if part in ("data", "sources"):
        return f"{key} ({'only B' if values[0] is None else 'only A' if values[1] is None else 'changed'})"
    return f"{key} {values[0]} -> {values[1]}"


def _shown(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"
