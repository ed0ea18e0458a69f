"""Rows of part of a user's own trace, to fit the forest on as well: labelled as if nothing else had been recorded."""

from cachezoo.seeds import derive_seed
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.zoo.reuse import fit
from cachezoo.zoo.reuse.prepared import Prepared


def rows_of_part(part: Prepared, first: int, end: int, settings: fit.Settings, seed: int) -> fit.Rows:
    """Rows of some requests of a trace, [first, end), at the capacities of the whole trace.

    At most `fit.reuse.rows` at each capacity; none where no target is settled.
    """
    requests = part.trace.rows(first, end)
    recorded = Prepared(part.key, part.path, requests, expand_pages(requests))
    return fit.joined(
        fit.trace_rows(
            recorded, capacity_pages(fraction, part.pages.n_pages), settings.fit.rows, settings,
            derive_seed(seed, part.key, str(fraction)),
        )
        for fraction in settings.fit.capacities
    )  # fmt: skip
