"""How the readings of a file stand: which is taken unless told otherwise, and why not the others."""

import shlex
from dataclasses import dataclass

from cachezoo.errors import TraceError
from cachezoo.traces.formats import head_of
from cachezoo.traces.formats.columns import parsed
from cachezoo.traces.guess import guessed
from cachezoo.traces.nearest import looks_like
from cachezoo.traces.read import OpenTrace, TraceFiles, silent
from cachezoo.traces.recognise import Candidate, UnclearTrace, UnknownTrace, by_columns, choose, readings
from cachezoo.traces.source import Source

GUESSED = "of no known format; a guess by names and values, to be checked"
FITS = ("taken", "unreadable", "possible", "unlikely")


@dataclass(frozen=True)
class Standing:
    """A reading among the others of a file."""

    candidate: Candidate  # the reading
    fit: str  # ``taken``, ``unreadable`` of what would be taken, ``possible``, or ``unlikely``
    why: str  # what speaks against it, or what has to be said; empty if nothing
    columns: str = ""  # the `--columns` that it is read by; empty of a format with columns of its own

    @property
    def asks(self) -> str:
        """What to give on the command line for this reading."""
        return f"--columns {shlex.quote(self.columns)}" if self.columns else self.candidate.asks


def standings_by(source: Source, columns: str) -> list[Standing]:
    """A file by the columns that are named.

    Raises:
        TraceError: they are none, or the file does not have them.
    """
    one = by_columns(source, parsed(columns))
    next(OpenTrace(TraceFiles([source.path], "columns", options=dict(one.options)), silent).chunks())
    return [Standing(one, "taken", "; ".join(doubt.said for doubt in one.doubts), columns)]


def standings(source: Source) -> list[Standing]:
    """What a file could be, as `readings`, and how it stands: what is taken unless told otherwise comes first.

    Of a file of no known format it is the guess at its columns, where there is one.

    Raises:
        TraceError: as `readings`.
    """
    try:
        found = readings(source)
        choice = choose(source, "auto", {})
    except UnknownTrace:
        if guesses := _guesses(source):
            guessed_at = [_guess(source, columns) for columns in guesses]
            return sorted(guessed_at, key=lambda one: FITS.index(one.fit))
        raise
    except UnclearTrace as unclear:
        equal = {one.meaning for one in unclear.candidates}
        why = f"one of {len(unclear.candidates)} readings that are about as likely, say which"
        standing = [
            Standing(one, "possible", why) if one.meaning in equal else Standing(one, "unlikely", _why_not(one))
            for one in found
        ]
    else:
        taken = [one for one in found if (one.format.id, dict(one.options)) == (choice.format.id, choice.options)]
        first = taken[0] if taken else found[0]
        standing = [_first(source, first), *(_other(one) for one in found if one is not first)]
    return sorted(standing, key=lambda one: FITS.index(one.fit))


def _first(source: Source, one: Candidate) -> Standing:
    """The reading that is taken, where it can be read."""
    if wrong := _complaint(TraceFiles([source.path])):
        return Standing(one, "unreadable", wrong)
    return Standing(one, "taken", "; ".join(doubt.said for doubt in one.doubts))


def _complaint(files: TraceFiles) -> str:
    """Why the beginning of a trace's first file cannot be read, as `info` and `ingest` say; empty where it can."""
    try:
        next(OpenTrace(files, silent).chunks())
    except TraceError as error:
        return str(error).removeprefix(f"{files.paths[0]}: ")
    return ""


def _other(one: Candidate) -> Standing:
    """A reading that is not taken: possible where nothing implausible comes of it."""
    return Standing(one, "unlikely" if one.doubts else "possible", _why_not(one))


def _why_not(one: Candidate) -> str:
    return "; ".join(doubt.said for doubt in one.doubts) or "less usual than what is taken, or fits the rows less well"


def _guess(source: Source, columns: str) -> Standing:
    """One guess at the columns of a file of no known format."""
    one = by_columns(source, parsed(columns))
    if wrong := _complaint(TraceFiles([source.path], "columns", options=dict(one.options))):
        return Standing(one, "unlikely", f"{GUESSED}; {wrong}", columns)
    said = "; ".join(doubt.said for doubt in one.doubts)
    return Standing(one, "unlikely" if said else "possible", f"{GUESSED}; {said}" if said else GUESSED, columns)


def _guesses(source: Source) -> list[str]:
    """What to give `--columns` for a file of no known format; none where that cannot be guessed whole."""
    head = head_of(source)
    if looks_like(head):
        return []
    found = guessed(head.lines)
    return [columns for columns in (found.columns, *found.others) if "op=" in columns]
