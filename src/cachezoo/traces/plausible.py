"""What of a trace no disk can have done, as warnings that name a fix: most often a misread unit."""

from cachezoo.traces.formats import FORMATS
from cachezoo.traces.glance import Glance
from cachezoo.traces.table import TraceMeta

LEAST_WEIGHT = 2


def warnings_of(glance: Glance, meta: TraceMeta) -> list[str]:
    """Warnings on a trace's requests, the gravest first.

    Args:
        glance: of all its requests.
        meta: the format it comes from, and what its reader noted. Traces of no foreign format, such as captures and
            mixtures, have the right units and may hold large requests.
    """
    options: tuple[str, ...]
    entry = FORMATS.get(meta.source_format)
    clean = "time_jumps" not in meta.extra  # a wild row, which is said by itself, makes any span
    if entry is None:
        doubts, options = glance.doubts(frozenset(), clock=clean, large=True), ()
    else:
        options = tuple(entry.options.model_fields)
        doubts = glance.doubts(entry.in_sectors(meta.extra), entry.clock and clean, entry.large)
        doubts += [] if entry.large else glance.askew()
    return [f"{doubt.said}: {_fix(doubt.hint, options)}" for doubt in doubts if doubt.weight >= LEAST_WEIGHT]


def _fix(hint: str, options: tuple[str, ...]) -> str:
    if hint == "bytes" and "unit_bytes" in options:
        return "where the file counts bytes, read it with --option unit_bytes=1"
    if hint == "sectors":
        way = "--option unit_bytes=512" if "unit_bytes" in options else "--columns offset=…:512"
        return f"where offsets count sectors, read the file with {way}"
    if hint == "time" and "time_unit" in options:
        return "check the unit of time (--option time_unit=…)"
    if hint == "pages" and "ids" in options:
        return "where ids count pages, read it with --option unit_bytes=4096"
    if hint == "address" and "ids" in options:
        return "where ids are no addresses, read it with --option ids=object"
    return "check the format and its units (cachezoo trace formats FILE), or name the columns with --columns"
