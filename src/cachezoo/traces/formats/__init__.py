"""The registered trace formats, and how well a file's content fits each."""

from pathlib import Path
from typing import get_args

from pydantic import ValidationError

from cachezoo.errors import TraceError
from cachezoo.numerals import number, whole
from cachezoo.traces.formats import (
    alibaba,
    binary_ids,
    biosnoop,
    blkparse,
    blkparse_f,
    blktrace,
    cachelib,
    camelab,
    canonical,
    columns,
    disksim,
    disksim_validate,
    etw,
    fio,
    fio_log,
    fiu,
    ibm_cos,
    iotracer,
    k5,
    libcachesim_csv,
    lis,
    msr,
    nbdkit_log,
    netsys,
    opencas,
    oraclegeneral,
    spc,
    spc_pages,
    srt,
    strace,
    systor,
    tabular,
    tectonic,
    tencent,
    thesios,
    tracefs,
    twitter,
    vscsi,
    webcachesim,
    wikimedia,
)
from cachezoo.traces.formats.base import Fit, Format, Head, Options
from cachezoo.traces.objects import Either, ObjectTrace
from cachezoo.traces.source import HEAD_BYTES, Source


def _registered(*formats: Format) -> dict[str, Format]:
    table: dict[str, Format] = {}
    for entry in formats:
        if entry.id in table:
            raise ValueError(f"format {entry.id} is registered twice")
        table[entry.id] = entry
    return table


FORMATS = _registered(
    canonical.PARQUET,
    canonical.CSV,
    tabular.FORMAT,
    msr.FORMAT,
    systor.FORMAT,
    tencent.FORMAT,
    alibaba.FORMAT,
    blkparse.FORMAT,
    blkparse_f.FORMAT,
    blktrace.FORMAT,
    tracefs.FORMAT,
    spc.FORMAT,
    spc_pages.FORMAT,
    fiu.FORMAT,
    disksim.DISKSIM_FORMAT,
    disksim.MQSIM_FORMAT,
    disksim_validate.FORMAT,
    srt.FORMAT,
    etw.FORMAT,
    vscsi.FORMAT,
    vscsi.CSV,
    oraclegeneral.FORMAT,
    libcachesim_csv.FORMAT,
    webcachesim.FORMAT,
    cachelib.KV,
    cachelib.CDN,
    twitter.FORMAT,
    ibm_cos.FORMAT,
    wikimedia.FORMAT,
    lis.FORMAT,
    tectonic.FORMAT,
    fio.FORMAT,
    fio_log.FORMAT,
    k5.FORMAT,
    camelab.FORMAT,
    netsys.FORMAT,
    thesios.FORMAT,
    iotracer.FORMAT,
    biosnoop.FORMAT,
    nbdkit_log.FORMAT,
    opencas.FORMAT,
    strace.FORMAT,
    binary_ids.FORMAT,
    columns.FORMAT,
)


def head_of(source: Source) -> Head:
    """The beginning of a file.

    Raises:
        TraceError: missing, unreadable, damaged or empty.
    """
    data = source.head()
    if not data.strip():
        raise TraceError(f"{source.path}: the trace is empty; give a file with at least one request")
    plain = source.compression == "none"
    return Head(data, len(data) < HEAD_BYTES, source.size if plain else None, source.stored if plain else None)


def fits_of(source: Source) -> dict[str, Fit]:
    """How well each format that fits at all fits a file's beginning, best first.

    Raises:
        TraceError: the file cannot be read, or is empty.
    """
    head = head_of(source)
    fits = {name: fit for name, entry in FORMATS.items() if (fit := entry.recognise(head)) > Fit.NO}
    return dict(sorted(fits.items(), key=lambda item: -item[1]))


def format_of(name: str) -> Format:
    """A registered format.

    Raises:
        TraceError: there is none of this name.
    """
    if name not in FORMATS:
        raise TraceError(f"format {name}: unknown; use auto or one of {', '.join(FORMATS)}")
    return FORMATS[name]


def _kinds(schema: type[Options], name: str) -> tuple[object, ...]:
    """The types of an option's values; none of an option that there is not."""
    field = schema.model_fields.get(name)
    return (field.annotation, *get_args(field.annotation)) if field is not None else ()


def options_of(entry: Format, given: dict[str, str], *, writing: bool = False) -> Options:
    """A format's options for reading or writing, from text.

    Raises:
        TraceError: an option that the format does not have, or a value that it cannot take.
    """
    schema = entry.write_options if writing else entry.options
    for name, text in given.items():
        kinds = {int, float} & set(_kinds(schema, name))
        if kinds and (whole if kinds == {int} else number)(text) is None:
            raise TraceError(f"format {entry.id}: option {name}: {text[:40]!r} is no number")
    try:
        return schema.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = ".".join(str(part) for part in first["loc"]) or "options"
        known = ", ".join(schema.model_fields) or "none"
        said = first["msg"] if first["type"] != "extra_forbidden" else "no such option"
        raise TraceError(f"format {entry.id}: option {name}: {said}; its options are {known}") from error


def write_as(trace: Either, path: Path, name: str, given: dict[str, str]) -> dict[str, int]:
    """Write a trace in a format.

    Args:
        trace: what to write.
        path: the file, written whole or not at all.
        name: the format's id.
        given: its options for writing, as text.

    Returns:
        What the format cannot hold: how many requests lost what.

    Raises:
        TraceError: the format is unknown or not written, an option is wrong, or the trace does not fit it.
    """
    entry = format_of(name)
    objects = isinstance(trace, ObjectTrace)
    if (entry.write_objects if objects else entry.write) is None:
        written = ", ".join(one.id for one in FORMATS.values() if (one.write_objects if objects else one.write))
        if objects:
            said = f"does not hold objects, and {trace.meta.trace_id} names objects by keys and has no addresses"
            raise TraceError(f"format {name}: {said}; use one of {written}")
        raise TraceError(f"format {name}: is read, not written; use one of {written}")
    options = options_of(entry, given, writing=True)
    if isinstance(trace, ObjectTrace):
        return entry.write_objects(trace, path, options) if entry.write_objects else {}
    return entry.write(trace, path, options) if entry.write else {}
