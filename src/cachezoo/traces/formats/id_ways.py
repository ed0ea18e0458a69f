"""What the ids of a file may be that leaves it open: addresses in sectors or pages, or keys of objects."""

from collections.abc import Mapping
from itertools import product

from cachezoo.coded import Coded
from cachezoo.traces.alignment import FEW, NEARLY_ALL, continued, fixed_sizes, multiples, skewed
from cachezoo.traces.formats.base import Head, Way, is_number
from cachezoo.traces.glance import Doubt
from cachezoo.traces.rates import moment_units
from cachezoo.traces.reading import SECTOR_BYTES, Chunk, Requests
from cachezoo.traces.table import PAGE_BYTES

PAGES_DOUBT, OBJECTS_DOUBT = 1.5, 1.5
OTHER_UNIT_DOUBT = 0.5
GOES_ON = 0.1  # the share of requests that go on where others end, from which ids are addresses
SAID = "what ids are, by the sizes and what lies next to what"


def id_ways(head: Head, given: Mapping[str, str]) -> list[Way]:
    """Ids that count sectors of 512 bytes, or pages, or name objects."""
    del head
    if "ids" in given or "unit_bytes" in given:
        return [Way({})]
    pages = Way({"unit_bytes": str(PAGE_BYTES)}, PAGES_DOUBT, SAID)
    return [Way({}), pages, Way({"ids": "object"}, OBJECTS_DOUBT, SAID)]


def timed_id_ways(head: Head, given: Mapping[str, str], names: tuple[str, ...]) -> list[Way]:
    """The ways of `id_ways` and of `headed_time_ways`, each with each.

    Args:
        head: the file's beginning.
        given: options.
        names: what a header calls the column of times.
    """
    units = [Way({})] if "time_col" in given else headed_time_ways(head, given, names)
    return [
        Way({**unit.options, **way.options}, unit.doubt + way.doubt, "; ".join(filter(None, (unit.said, way.said))))
        for unit, way in product(units, id_ways(head, given))
    ]


def time_ways(first: str, given: Mapping[str, str]) -> list[Way]:
    """Times in seconds, or in the other unit that makes a day of the first.

    Args:
        first: the first time, a number.
        given: options.
    """
    if "time_unit" in given:
        return [Way({})]
    others = [unit for unit in moment_units(float(first))[:1] if unit in ("ms", "us", "ns")]
    return [Way({}), *(Way({"time_unit": unit}, OTHER_UNIT_DOUBT, "the unit of time by the year") for unit in others)]


def headed_time_ways(head: Head, given: Mapping[str, str], names: tuple[str, ...]) -> list[Way]:
    """The same of a file with a header; `names` are what it calls the column of times."""
    return time_ways(_first_time(head, names), given)


def _first_time(head: Head, names: tuple[str, ...]) -> str:
    """The time of the first row of a file between commas, tabs or the like; 0 where it says none."""
    for sign in (",", "\t", ";", "|", None):
        rows = head.rows(sign)
        places = [place for place, name in enumerate(rows[0] if rows else []) if name.lower() in names]
        if places and len(rows) > 1 and len(rows[1]) > places[0] and is_number(rows[1][places[0]]):
            return rows[1][places[0]]
    return "0"


def id_doubts(chunk: Requests) -> list[Doubt]:
    """What of some requests speaks against their ids being what they were read as."""
    sizes = chunk.size
    if len(chunk) < FEW:
        return []
    if not isinstance(chunk, Chunk):
        if isinstance(chunk.key, Coded) or multiples(sizes, SECTOR_BYTES) < NEARLY_ALL:
            return []
        bound = chunk.key[(chunk.key >= 0) & (chunk.key < 2**50)]
        goes_on = len(bound) == len(chunk) and any(
            continued(bound * unit, sizes) > GOES_ON for unit in (SECTOR_BYTES, PAGE_BYTES)
        )
        return [Doubt(3.0, "requests go on where others end, as addresses do", "")] if goes_on else []
    found = []
    if multiples(sizes, SECTOR_BYTES) < NEARLY_ALL:
        found.append(Doubt(3.0, "sizes are no multiples of 512 bytes, as those of objects", "address"))
    if fixed_sizes(chunk.offset, sizes):
        found.append(Doubt(1.5, "each id comes with a size of its own, as objects do", "address"))
    if skewed(chunk.offset, sizes):
        said = "requests of whole 4 KiB pages begin anywhere in pages, as where ids count pages or name objects"
        found.append(Doubt(3.0, said, "pages"))
    return found
