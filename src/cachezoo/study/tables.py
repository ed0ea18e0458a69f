"""A study as tables."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from cachezoo.study.summary import verdict

if TYPE_CHECKING:
    from rich.table import Table

HEADS = ("mean", "standard deviation", "median", "90 % interval of the mean", "each seed")
# Trials of a search that its table shows; the JSON has all.
SHOWN = 10


def tables(found: Mapping[str, Any]) -> "list[Table]":
    """Of a search its best trials; then the settings by what may choose, and what is judged and tested of them."""
    made = [_search(found)] if "search" in found else []
    for category, rows in found["categories"].items():
        made.append(_choosing(found, category, rows))
        made += [_judged(found, category, row) for row in rows if "judging" in row]
        if "search" in found and len(rows) > 1:
            made.append(_differences(found))
    return made


def _choosing(found: Mapping[str, Any], category: str, rows: Sequence[Mapping[str, Any]]) -> "Table":
    from rich.markup import escape
    from rich.table import Table

    less = ", less is better" if found["lower_is_better"] else ""
    ending = f"{found['seeds']} seeds. This alone may choose a setting."
    if "search" in found:
        ending = f"{found['seeds']} fresh seeds, which no trial had."
    table = Table("setting", *HEADS, title=f"{category}: {found['choosing']}{less}; {ending}")
    for row in rows:
        trained = len(row["trained"])
        few = "" if trained == found["seeds"] else f" ({trained} of {found['seeds']} trained)"
        table.add_row(escape(row["setting"]) + few, *_cells(row["choosing"]))
    return table


def _judged(found: Mapping[str, Any], category: str, row: Mapping[str, Any]) -> "Table":
    from rich.markup import escape
    from rich.table import Table

    promoted = f"{row['promoted']} of {found['seeds']} promoted"
    which = "of params.yaml" if row["is_params_yaml"] else escape(row["setting"])
    table = Table("figure", *HEADS, title=f"{category}: the setting {which}, {promoted}")
    table.add_row(found["judging"], *_cells(row["judging"]))
    for key, own in row.get("test", {}).items():
        table.add_row(f"{key}: {found['tests']}", *_cells(own))
    return table


def _search(found: Mapping[str, Any]) -> "Table":
    from rich.markup import escape
    from rich.table import Table

    search = found["search"]
    kept = {trial["number"]: trial for trial in search["kept"]}
    able = [trial for trial in search["trials"] if trial["mean"] is not None]
    sign = 1 if found["lower_is_better"] else -1
    ranked = sorted(able, key=lambda trial: (trial["number"] not in kept, sign * trial["mean"], trial["number"]))
    shown = f"the best {min(SHOWN, len(ranked))} of {len(search['trials'])} trials"
    title = (
        f"{next(iter(found['categories']))}: {shown}, by {found['choosing']}. "
        "The best of many owes some of its figure to luck: fresh seeds say below what it is worth."
    )
    table = Table("trial", "setting", f"mean of {search['trial_seeds']}", f"mean of {found['seeds']}", "", title=title)
    for trial in ranked[:SHOWN]:
        whole = kept[trial["number"]]["mean"] if trial["number"] in kept else None
        chosen = "chosen" if trial["number"] == search["chosen"] else ""
        table.add_row(str(trial["number"]), escape(trial["setting"]), _shown(trial["mean"]), _shown(whole), chosen)
    return table


def _differences(found: Mapping[str, Any]) -> "Table":
    from rich.table import Table

    table = Table("figure", "chosen less params.yaml", "90 % interval", "", title="Is it better? The same fresh seeds.")
    for name in ("choosing", "judging"):
        own = found["search"][f"{name}_difference"]
        table.add_row(found[name], _shown(own["mean"], "+"), span(own), _says(found, name))
    return table


def _says(found: Mapping[str, Any], name: str) -> str:
    """Whether a chosen setting is better than that of params.yaml, in one of the two figures."""
    lower = found["lower_is_better" if name == "choosing" else "judging_lower_is_better"]
    return verdict(found["search"][f"{name}_difference"], lower, "better", "worse")


def advice(found: Mapping[str, Any]) -> Iterator[str]:
    """What to do with what a search found, in lines."""
    if "search" not in found:
        return
    search = found["search"]
    (rows,) = found["categories"].values()
    if len(rows) == 1:
        yield "The search chose the setting of params.yaml: there is nothing to change."
        return
    chosen = next(trial for trial in search["kept"] if trial["number"] == search["chosen"])
    chooses, judges = _says(found, "choosing"), _says(found, "judging")
    if search["choosing_difference"]["mean"] is None:
        yield "Keep params.yaml: too few of the fresh seeds trained both settings to compare them."
    elif chooses != "better":
        yield f"Keep params.yaml: with fresh seeds the chosen setting is {chooses}."
    elif judges != "better":
        yield f"Keep params.yaml: the chosen setting is better on what chose it, but {judges} where it is judged."
    else:
        yield f"With fresh seeds the chosen setting is better, also where it is judged: {chosen['setting']}"
        yield "To take it over, write it into conf/ (docs/study.md) and run `make repro`, which judges it again."


def _cells(own: Mapping[str, Any]) -> list[str]:
    each = " ".join(map(_shown, own["each"]))
    return [*(_shown(own[name]) for name in ("mean", "sd", "median")), span(own), each]


def span(own: Mapping[str, Any]) -> str:
    """An interval, or that there is none."""
    return "-" if own["low"] is None else f"{_shown(own['low'])} to {_shown(own['high'])}"


def _shown(value: float | None, sign: str = "") -> str:
    return "-" if value is None else f"{value:{sign}.4f}"
