"""What a trace asks of a cache, of addresses or of objects: its figures, sentences and page."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cachezoo.characteristics.describe import Characteristics, characterise
from cachezoo.console import Advance
from cachezoo.questions.objects.description import ObjectCharacteristics, characterise_objects
from cachezoo.trace_report import object_page, object_sentences, page, sentences
from cachezoo.traces.objects import Either, ObjectTrace
from cachezoo.traces.pages import expand_pages


@dataclass(frozen=True)
class Reported:
    """A trace, described."""

    trace_id: str
    figures: Characteristics | ObjectCharacteristics
    sentences: Sequence[tuple[str, str]]  # a part's name, and what it means for a cache
    page: Callable[[], str]  # its HTML, which is drawn when it is wanted


def reported(trace: Either, advance: Advance | None = None) -> Reported:
    """Describe a trace.

    Args:
        trace: as read.
        advance: told the part of the work done.

    Raises:
        TraceError: it is of objects, and has deletes alone.
    """
    if isinstance(trace, ObjectTrace):
        own = characterise_objects(trace, advance)
        said = object_sentences.sentences_of(own)
        return Reported(own.summary["trace_id"], own, said, lambda: object_page.object_page(own))
    found = characterise(trace, expand_pages(trace), advance=advance)
    return Reported(
        found.summary.trace_id, found, sentences.sentences_of(found), lambda: page.trace_page(found)
    )  # fmt: skip
