"""What the numbers of a trace of objects mean for a cache: a sentence a part, by rules that docs/trace-report.md lists.

A part that the trace does not have, such as times to live, has no sentence, and nothing is said of addresses.
"""

import numpy as np

from cachezoo.questions.objects.description import ObjectCharacteristics, ObjectCurve
from cachezoo.show.formats import duration, number, share, size, words
from cachezoo.trace_report.sentences import (
    FEW_POINTS,
    HALF,
    HARDLY,
    LITTLE_REUSE,
    MOSTLY,
    MUCH_REUSE,
    NEAR_BEST,
    Named,
    latency_sentence,
    load_sentence,
    popularity_sentence,
)

OBJECTS = Named("object", "requests")
MANY_UNSIZED = 0.01  # of the objects, from which on nothing is said of shares of bytes
LEAST_VOID = 0.001  # of the requests, from which on it is said that they find theirs void
UNKNOWN_SIZES = "No request says how large an object is: a capacity counts objects, and nothing is said of bytes."


def capacity_words(curve: ObjectCurve, capacity: float) -> str:
    """A capacity, in bytes or objects."""
    return size(capacity) if curve.unit == "bytes" else f"{number(capacity)} objects"


def unsized(found: ObjectCharacteristics) -> bool:
    """Whether so many objects have no known size that shares of bytes are not of the whole trace."""
    own = found.sizes
    return own is None or own.unknown_objects >= MANY_UNSIZED * (own.unknown_objects + own.object_bytes.count)


def curve_sentence(found: ObjectCharacteristics) -> str:
    """How much cache LRU needs, and whether its hits are of small objects."""
    own = found.curve
    best = float(own.hit_ratio.max())
    if best < LITTLE_REUSE:
        return (
            f"In the trace's second half LRU of any size hits on at most {share(best)} of the requests: objects hardly "
            "come again, so a cache hardly pays."
        )
    at = int(np.flatnonzero(own.hit_ratio >= NEAR_BEST * best)[0])
    of_all = "the bytes of all objects" if own.unit == "bytes" else "all objects"
    told = (
        f"In the trace's second half LRU needs {capacity_words(own, int(own.capacities[at]))} "
        f"({share(int(own.capacities[at]) / own.whole)} of {of_all}) for hits "
        f"on {share(float(own.hit_ratio[at]))} of the requests"
    )
    more = ""
    if own.byte_hit_ratio is not None and not unsized(found):
        of_bytes = float(own.byte_hit_ratio[at])
        lead = float(own.hit_ratio[at]) - of_bytes
        told += f" and {share(of_bytes)} of the bytes"
        if abs(lead) >= FEW_POINTS:
            more = f"; hits are of {'small' if lead > 0 else 'large'} objects more than misses are"
    return f"{told}; LRU of any size hits on at most {share(best)} of the requests{more}."


def reuse_sentence(found: ObjectCharacteristics) -> str:
    """Whether and how soon objects come again, and whether a cache still has them then."""
    own = found.reuse
    if own.requests_between is None:
        return "No object is requested twice: a cache of any size gets no hit."
    told = f"{share(own.again_share)} of the whole trace's requests are for objects requested before"
    within = [f"{number(own.requests_between.median)} other requests"]
    if own.bytes_between is not None and not unsized(found):
        within.append(f"{size(own.bytes_between.median)} that they ask for")
    if own.time_between_s is not None:
        within.append(duration(own.time_between_s.median))
    told += f", half of those within {words(within)}"
    void, these = own.again_share - own.held_share, "these"
    if void >= LEAST_VOID:
        told += f"; {share(void)} find theirs deleted or expired since, which no cache can hit"
        these = f"the other {share(own.held_share)}"
    means = "little to cache" if own.held_share < LITTLE_REUSE else f"a cache can hit at most {these}"
    means = "much to cache" if own.held_share >= MUCH_REUSE else means
    return f"{told}: {means}."


def mix_sentence(found: ObjectCharacteristics) -> str:
    """Reads and writes."""
    summary = found.summary
    reads = summary["reads"] / (summary["reads"] + summary["writes"])
    if reads >= MOSTLY:
        means = "a cache serves mostly reads"
    elif reads <= HARDLY:
        means = "what is written must soon be read, or a cache only takes writes in"
    else:
        means = "a cache serves both reads and writes"
    aside = " that are no deletes" if summary["deletes"] else ""
    return f"{share(reads)} of the requests{aside} are reads: {means}."


def sizes_sentence(found: ObjectCharacteristics) -> str:
    """Whether objects are so unequal that a policy must weigh their sizes."""
    own = found.sizes
    if own is None:
        return UNKNOWN_SIZES
    told = (
        f"Half of the objects have at most {size(own.object_bytes.median)}, half of the requests ask for at most "
        f"{size(own.request_bytes.median)}"
    )
    if not unsized(found):
        told += f"; the largest tenth of the objects has {share(own.largest_tenth_share)} of the bytes"
        if own.largest_tenth_share >= HALF:
            told += ", so a policy that weighs sizes (GDSF, AdaptSize) may hit more requests"
    if own.unknown_objects:
        told += f"; of {number(own.unknown_objects)} objects no request says a size, so that they never enter"
    return f"{told}."


def lifetimes_sentence(found: ObjectCharacteristics) -> str:
    """What deletes and times to live end."""
    own = found.lifetimes
    assert own is not None  # a part of the page only where it is
    told = []
    if own.deletes:
        told.append(f"{number(own.deletes)} requests delete, {number(own.deleted)} of them what is there")
    if own.ttl_s is not None:
        told.append(
            f"{number(own.with_ttl)} requests give a time to live, half of them at most {duration(own.ttl_s.median)}; "
            f"{number(own.expired)} requests find their object expired"
        )
    said = "; ".join(told)
    return f"{said}."


def lead(found: ObjectCharacteristics) -> list[str]:
    """The page's answer: how much cache, and who profits."""
    return [curve_sentence(found), popularity_sentence(found.popularity, OBJECTS)]


def others(found: ObjectCharacteristics) -> list[tuple[str, str]]:
    """The sentences of all other parts that the trace has, with their names."""
    said = [
        ("when objects come again", reuse_sentence(found)), ("reads, writes", mix_sentence(found)),
        ("sizes", sizes_sentence(found)), ("load", load_sentence(found.arrivals)),
    ]  # fmt: skip
    if found.lifetimes is not None:
        said.append(("deletes, times to live", lifetimes_sentence(found)))
    if found.latency is not None:
        said.append(("response times", latency_sentence(found.latency)))
    return said


def sentences_of(found: ObjectCharacteristics) -> list[tuple[str, str]]:
    """Every part's sentence, with its name."""
    return [*zip(("how much cache", "popularity"), lead(found), strict=True), *others(found)]
