"""The table of docs/traces.md: `python -m scripts.format_table` prints it, `--write` puts it there."""

from typing import Literal, get_args, get_origin

from cachezoo.traces.formats import FORMATS
from cachezoo.traces.formats.base import Format, Options
from cachezoo.traces.table import CODED_COLUMNS
from scripts.corpus_table import ROOT, line, put

PAGE = ROOT / "docs/traces.md"
HEAD = "| id | what | kept besides | options |\n|---|---|---|---|\n"
EVERYTHING = {"latency_us", "count", *CODED_COLUMNS[1:]}
NONE = "-"


def row(entry: Format) -> str:
    """A format's line."""
    written = entry.write is not None or entry.write_objects is not None
    keeps = "every column" if set(entry.keeps) == EVERYTHING else ", ".join(entry.keeps)
    options = [*options_of(entry.options), *(f"write {one}" for one in options_of(entry.write_options))]
    title = entry.title.replace("|", r"\|")
    return line(f"{entry.id}{' (r/w)' if written else ''}", title, keeps or NONE, "; ".join(options) or NONE)


def options_of(schema: type[Options]) -> list[str]:
    """Options by name, with what each may be where these are a few words."""
    found = []
    for name, field in schema.model_fields.items():
        few = get_args(field.annotation) if get_origin(field.annotation) is Literal else ()
        found.append(f"`{name}`{' = ' if few else ''}{', '.join(few)}")
    return found


def table() -> str:
    """The whole table."""
    return HEAD + "".join(row(entry) for entry in FORMATS.values())


if __name__ == "__main__":
    put({"formats": table()}, PAGE)
