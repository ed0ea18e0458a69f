"""Delimited text whose first line names the columns, in any order."""

from collections.abc import Callable, Mapping

from cachezoo.errors import TraceError
from cachezoo.traces.delimited import Column, Layout, split_line
from cachezoo.traces.formats.base import Head
from cachezoo.traces.source import Source


def names_of(line: str) -> list[str]:
    """The names in a line between commas, in small letters."""
    return [name.lower() for name in split_line(line, ",")[0]]


def is_headed(head: Head, needed: Mapping[str, str], more: Mapping[str, str]) -> bool:
    """Whether a file's first line that is no comment has the columns that `layout_of` asks for."""
    line = next((line for line in head.lines if not line.startswith("#")), "")
    return not _wrong(names_of(line.strip(" \t")), needed, more)


def _wrong(found: list[str], needed: Mapping[str, str], more: Mapping[str, str]) -> str:
    """What is wrong with a header's names; empty if nothing."""
    if missing := [name for name in needed if name not in found]:
        return f"lacks {', '.join(missing)}"
    twice = [name for name in (*needed, *more) if found.count(name) > 1]
    return f"names {', '.join(twice)} more than once" if twice else ""


def names(*needed: str) -> Callable[[str], bool]:
    """A test of whether a line names all of some columns."""
    return lambda line: set(needed) <= set(names_of(line))


def layout_of(source: Source, needed: Mapping[str, str], more: Mapping[str, str]) -> Layout:
    """The columns of a file as its header orders them.

    Args:
        source: the file.
        needed: the kind of each column that must be there, by its name in small letters.
        more: the same of columns that may be missing, or empty.

    Raises:
        TraceError: a needed column is missing, or one is named twice.
    """
    line = next((line.strip(" \t") for line in source.first_lines() if not line.startswith("#")), "")
    found = names_of(line)
    kinds = {**needed, **more}
    if said := _wrong(found, needed, more):
        raise TraceError(f"{source.path}: its header {said}: {line[:120]!r}; fix the header")
    columns = (
        Column(name, kinds[name], optional=name in more and kinds[name] != "text")
        if name in kinds
        else Column(f"unread_{index}", "skip")
        for index, name in enumerate(found)
    )
    return Layout(tuple(columns), quoted=True, header=names(*needed))
