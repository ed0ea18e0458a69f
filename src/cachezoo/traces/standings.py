"""How the readings of a file stand: which is taken unless told otherwise, and why not the others."""

from dataclasses import dataclass

from cachezoo.traces.recognise import Candidate, UnclearTrace, choose, readings
from cachezoo.traces.source import Source

FITS = ("taken", "possible", "unlikely")


@dataclass(frozen=True)
class Standing:
    """A reading among the others of a file.

    Attributes:
        candidate: the reading.
        fit: ``taken``, ``possible``, or ``unlikely``.
        why: what speaks against it, or what has to be said; empty if nothing.
    """

    candidate: Candidate
    fit: str
    why: str


def standings(source: Source) -> list[Standing]:
    """What a file could be, as `readings`, and how it stands: what is taken unless told otherwise comes first.

    Raises:
        TraceError: as `readings`.
    """
    found = readings(source)
    try:
        choose(source, "auto", {})
    except UnclearTrace as unclear:
        equal = {one.meaning for one in unclear.candidates}
        why = f"none is taken: {len(unclear.candidates)} readings are about as likely, say which"
        standing = [
            Standing(one, "possible", why) if one.meaning in equal else Standing(one, "unlikely", _why_not(one))
            for one in found
        ]
    else:
        first, *others = found
        said = "; ".join(doubt.said for doubt in first.doubts)
        standing = [Standing(first, "taken", said), *map(_other, others)]
    return sorted(standing, key=lambda one: FITS.index(one.fit))


def _other(one: Candidate) -> Standing:
    """A reading that is not taken: possible where nothing implausible comes of it."""
    return Standing(one, "unlikely" if one.doubts else "possible", _why_not(one))


def _why_not(one: Candidate) -> str:
    return "; ".join(doubt.said for doubt in one.doubts) or "less usual than what is taken, or fits the rows less well"
