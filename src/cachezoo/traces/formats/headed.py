"""Delimited text whose first line names the columns, in any order."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from cachezoo.errors import TraceError
from cachezoo.traces.column_names import Named, named
from cachezoo.traces.delimited import Column, Layout, split_line
from cachezoo.traces.formats.base import Head
from cachezoo.traces.formats.keyed import KEY_LINES, key_kind
from cachezoo.traces.source import Source

MOST_DOUBT = 1.0  # of a name that seems to say what it is of


@dataclass(frozen=True)
class Field:
    """A column that a header may name."""

    role: str  # how the reader calls it
    names: tuple[str, ...]  # what headers call it, in small letters
    kind: str  # as of a `Column`, or ``key``: numbers or texts, as the beginning has them
    needed: bool = True  # whether a file must have it; else its values may be empty, too


def is_headed(head: Head, fields: Sequence[Field], delimiter: str = ",") -> bool:
    """Whether a file's first line that is no comment has the columns that `layout_of` asks for."""
    return not _wrong(_names(_lines(head.lines), delimiter), fields)


def _lines(lines: Sequence[str]) -> list[str]:
    """Those that are no comments."""
    return [line for line in lines if not line.startswith("#")]


def _names(lines: Sequence[str], delimiter: str) -> list[str]:
    """The fields of the first line, in small letters."""
    first = lines[0].strip(" \t" if delimiter != "\t" else " ") if lines else ""
    return [name.lower() for name in split_line(first, delimiter)[0]]


def _wrong(found: list[str], fields: Sequence[Field]) -> str:
    """What is wrong with a header's names; empty if nothing."""
    if missing := [field.names[0] for field in fields if field.needed and not set(field.names) & set(found)]:
        return f"lacks {', '.join(missing)}"
    named = [[name for name in found if name in field.names] for field in fields]
    twice = [" and ".join(dict.fromkeys(names)) for names in named if len(names) > 1]
    return f"names {', '.join(twice)} more than once" if twice else ""


def unread(names: Sequence[str], read: Collection[int], role: str) -> list[tuple[int, Named]]:
    """The first column of a header that is not read and whose name seems to say a role, and what the name says.

    Args:
        names: of the columns.
        read: indices of those that are read.
        role: ``time`` or ``size``, as of `Named`.

    Returns:
        It, if there is one; the surest, and of equals the first.
    """
    found = [(place, named(name)) for place, name in enumerate(names) if place not in read]
    meant = [(place, what) for place, what in found if what.role == role and what.doubt < MOST_DOUBT]
    return sorted(meant, key=lambda one: one[1].doubt)[:1]


def layout_of(source: Source, fields: Sequence[Field], delimiter: str = ",", keys: str = "auto") -> Layout:
    """The columns of a file as its header orders them; those of no field are passed over.

    Args:
        source: the file.
        fields: what its header may name.
        delimiter: one character.
        keys: as of `cachezoo.traces.formats.keyed.KeyOptions`.

    Raises:
        TraceError: a needed column is missing, or one is named twice; one of times or sizes may be missing, where a
            name of no field seems to say it.
    """
    lines = _lines(source.first_lines())
    found = _names(lines, delimiter)
    if said := _wrong(found, fields):
        raise TraceError(f"{source.path}: its header {said}: {delimiter.join(found)[:120]!r}; fix the header")
    roles = {name: field for field in fields for name in field.names}
    known = [place for place, name in enumerate(found) if name in roles]
    for missing in fields:
        if missing.role in ("time", "size") and not set(missing.names) & set(found):
            for place, _ in unread(found, known, missing.role):
                said = f"{found[place]} may be the {missing.role}: name it {missing.names[0]}, or drop the column"
                raise TraceError(f"{source.path}: its header's {said}; or name the columns with --columns")
    columns = []
    for place, name in enumerate(found):
        field = roles.get(name)
        if field is None:
            columns.append(Column(f"unread_{place}", "skip"))
            continue
        values = (split_line(line, delimiter)[0][place : place + 1] for line in lines[1 : KEY_LINES + 1])
        kind = key_kind((value[0] for value in values if value), keys) if field.kind == "key" else field.kind
        columns.append(Column(field.role, kind, optional=not field.needed and field.kind != "text"))
    return Layout(tuple(columns), delimiter, quoted=True, header=lambda _: True)
