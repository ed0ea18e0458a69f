"""Figures of a trace's episodes: in the metadata of its labels, and in the flash cache's metrics."""

from typing import Annotated

from cachezoo.documents import Document
from cachezoo.meanings import Means


class EpisodeFigures(Document):
    """A trace cut into episodes, with the flash cache that is to serve it."""

    age_found: Annotated[str, Means("how: refined, few_evictions or no_fixed_point")]
    analytic_eviction_age: Annotated[int, Means("by Little's law", "requests")]
    simulated_eviction_age: Annotated[float, Means("of OPT's run", "requests")]
    eviction_age: Annotated[int, Means("that episodes are cut by", "requests")]
    horizon: Annotated[int, Means("future that an episode must have had for its label to count", "requests")]
    rounds: Annotated[list[tuple[int, float]], Means("age assumed and age simulated in each round", "requests")]
    block_bytes: Annotated[int, Means("block", "bytes")]
    segment_bytes: Annotated[int, Means("segment", "bytes")]
    blocks: Annotated[int, Means("read from", "blocks")]
    segments: Annotated[int, Means("touched", "segments")]
    footprint_inflation: Annotated[
        float, Means("bytes of the segments touched over bytes of the 4 KiB pages touched", "ratio")
    ]
    capacity_segments: Annotated[int, Means("of the flash cache", "segments")]
    budget_writes: Annotated[float, Means("write budget", "segments")]
    budget_reached: Annotated[bool, Means("OPT writes that much")]
    opt_writes: Annotated[int, Means("written by OPT", "segments")]
    accept_all_writes: Annotated[int, Means("written by LRU without admission", "segments")]
    episodes: Annotated[int, Means("in the trace", "episodes")]
    episodes_admitted: Annotated[int, Means("admitted by OPT", "episodes")]
    episodes_open: Annotated[int, Means("still open at the end", "episodes")]
    requests: Annotated[int, Means("in the trace", "requests")]
    transfer_share: Annotated[float, Means("of AcceptAll's disk-head time that is transfer, not seek", "share")]
