"""zoo.json as a document: the seats, and who sits in them. It alone says who is champion."""

from pathlib import Path
from typing import Annotated, Literal

from pydantic import ValidationError

from cachezoo.documents import Document, Interval
from cachezoo.errors import ConfigError
from cachezoo.io import read_json
from cachezoo.meanings import Each, Means

FILE = Path("zoo.json")
CHAMPION, CHALLENGER = "champion", "challenger"


class Entry(Document):
    """A bundle in a seat."""

    id: Annotated[str, Means("model")]
    version: Annotated[str, Means("of the bundle")]
    model_digest: Annotated[str, Means("sha256 of what acts; names its archive in models/zoo")]
    profile: Annotated[str, Means("block, or full where it wants names that no block layer sees")]
    threshold: Annotated[float | None, Means("at or above which it admits; null where it has none")]
    prefetch: Annotated[str | None, Means("prefetch mode that runs beside; null outside flash caches")]
    why: Annotated[str, Means("what gave it its place")]
    lead: Annotated[float | None, Means("over the champion of that time on validation; null without one")]
    interval: Annotated[Interval | None, Means("90 % of the lead")]

    def names(self, model_id: str, model_digest: str | None) -> bool:
        """Whether this is the entry of a model."""
        return (self.id, self.model_digest) == (model_id, model_digest)


class Seat(Document):
    """What one bundle is run as."""

    champion: Annotated[Entry | None, Means("runs")]
    challenger: Annotated[Entry | None, Means("the last one that was not shown to be better")]
    previous: Annotated[list[Entry], Means("champions before, the latest last")]


class Zoo(Document):
    """zoo.json."""

    seats: Annotated[dict[str, Seat], Each("one seat", "role and category")]
    sets: Annotated[
        dict[str, dict[Literal["page", "flash"], str | None]],
        Means("by category, the champions that run together: its own, else that of all"),
    ]

    def standing(self, model_id: str, model_digest: str | None) -> str | None:
        """What a model is in its seat: `champion`, `challenger`, or None.

        Args:
            model_id: `kind[.category].arch`.
            model_digest: of the bundle; None without one.
        """
        entries = [(word, getattr(seat, word)) for word in (CHAMPION, CHALLENGER) for seat in self.seats.values()]
        return next((word for word, entry in entries if entry and entry.names(model_id, model_digest)), None)


NOBODY = Seat(champion=None, challenger=None, previous=[])


def read_zoo(root: Path) -> Zoo:
    """zoo.json of a project; empty where there is none.

    Raises:
        ConfigError: it holds something else.
    """
    path = root / FILE
    if not path.exists():
        return Zoo(seats={}, sets={})
    try:
        return Zoo(**read_json(path))
    except (ValidationError, TypeError) as error:
        raise ConfigError(f"{path}: is no zoo ({str(error).splitlines()[0]}); restore it from Git") from error
