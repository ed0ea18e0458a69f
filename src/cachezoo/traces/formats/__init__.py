"""The registered trace formats, and how a file's format is recognised by its content."""

from dataclasses import dataclass

from pydantic import ValidationError

from cachezoo.errors import TraceError
from cachezoo.traces.formats import canonical, msr
from cachezoo.traces.formats.base import Fit, Format, Head, Options
from cachezoo.traces.source import HEAD_BYTES, Source


def _registered(*formats: Format) -> dict[str, Format]:
    table: dict[str, Format] = {}
    for entry in formats:
        if entry.id in table:
            message = f"format {entry.id} is registered twice"
            raise ValueError(message)
        table[entry.id] = entry
    return table


FORMATS = _registered(
    canonical.PARQUET,
    canonical.CSV,
    msr.FORMAT,
)


@dataclass(frozen=True)
class Recognised:
    """What a file was taken for.

    Attributes:
        format: the best fit.
        fit: how well it fits.
        others: ids of formats that fit less well.
    """

    format: Format
    fit: Fit
    others: tuple[str, ...]


def head_of(source: Source) -> Head:
    """The beginning of a file.

    Raises:
        TraceError: missing, unreadable, damaged or empty.
    """
    data = source.head()
    if not data.strip():
        message = f"{source.path}: the trace is empty; give a file with at least one request"
        raise TraceError(message)
    return Head(data, len(data) < HEAD_BYTES, source.size if source.compression == "none" else None)


def recognise(source: Source) -> Recognised:
    """Recognise a file's format by its content.

    Raises:
        TraceError: the file cannot be read, no format fits, or several fit equally well.
    """
    head = head_of(source)
    fits = {name: fit for name, entry in FORMATS.items() if (fit := entry.recognise(head)) > Fit.NO}
    best = max(fits.values(), default=Fit.NO)
    first = [name for name, fit in fits.items() if fit == best]
    if not first:
        message = f"{source.path}: row 1 fits none of {', '.join(FORMATS)}; use --format, or see docs/traces.md"
        raise TraceError(message)
    if len(first) > 1:
        message = f"{source.path}: could be {' or '.join(first)}; say which with --format"
        raise TraceError(message)
    return Recognised(FORMATS[first[0]], best, tuple(name for name in fits if name != first[0]))


def format_of(name: str) -> Format:
    """A registered format.

    Raises:
        TraceError: there is none of this name.
    """
    if name not in FORMATS:
        message = f"format {name}: unknown; use auto or one of {', '.join(FORMATS)}"
        raise TraceError(message)
    return FORMATS[name]


def options_of(entry: Format, given: dict[str, str], *, writing: bool = False) -> Options:
    """A format's options for reading or writing, from text.

    Raises:
        TraceError: an option that the format does not have, or a value that it cannot take.
    """
    schema = entry.write_options if writing else entry.options
    try:
        return schema.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "options"
        known = ", ".join(schema.model_fields) or "none"
        said = first["msg"] if first["type"] != "extra_forbidden" else "no such option"
        message = f"format {entry.id}: option {name}: {said}; its options are {known}"
        raise TraceError(message) from error
