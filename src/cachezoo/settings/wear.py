"""The drive of flash that writes are judged on, and what FIOS asks of the chunks that are written to it."""

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from cachezoo.settings.base import Count, Rounds, Strict

Victim = Literal["greedy", "wear", "cost-benefit", "cost-age-times", "d-choices", "windowed", "fifo"]
Copies = Literal["keep", "shared", "apart"]
PageBytes = Annotated[int, Field(ge=512, le=1 << 20)]


class StreamsLabel(Strict):
    """`label.streams`: FIOS's thresholds (its vector delta, Sec. II-B and II-C), each from where on a bit is 1.

    Attributes:
        frequency: F, more writes than so many; `median` is that of the written chunks.
        sequential: S, share of the chunk's writes that go on where the request before ended.
        windows: C, windows in which the chunk is written.
    """

    frequency: Literal["median"] | Annotated[int, Field(ge=0, le=1_000_000_000)] = "median"
    sequential: Annotated[float, Field(gt=0, le=1)] = 0.5
    windows: Annotated[int, Field(ge=1, le=1_000_000)] = 2


class Drive(Strict):
    """A drive. It is as large as what is written to it, unless its capacity is given.

    Attributes:
        page_bytes: a flash page, the least that is written.
        pages_per_block: flash pages of an erase block.
        metadata_pages: of these, those that hold no data (FIOS, Sec. III-C: one).
        over_provisioning: part of the flash that no address has.
        gc_free_blocks: the drive erases blocks until more than so many are free, each time it opens one. It is pinned,
            because write amplification moves with it.
        victim: which full block is erased, see `cachezoo.kernels.ftl.Victim`.
        wear_slack: of the victim `wear`: erases above the mean that a block may have, and still be chosen.
        among: of the victims `d-choices` and `windowed`: blocks of which the emptiest is erased.
        copies: where copied pages go, see `cachezoo.kernels.ftl.Copies`.
        trims: whether the drive heeds trims, in traces that have any.
        capacity_bytes: addresses of the drive; None takes as many as are written. Addresses that nothing writes are
            room to spare.
        cycles: erases that a block endures; for the lifetime alone.
    """

    page_bytes: PageBytes = 8192
    pages_per_block: Annotated[int, Field(ge=2, le=1 << 20)] = 64
    metadata_pages: Annotated[int, Field(ge=0, le=1 << 10)] = 1
    over_provisioning: float = Field(default=0.11, gt=0, lt=0.9)
    gc_free_blocks: Rounds = 8
    victim: Victim = "greedy"
    wear_slack: Annotated[int, Field(ge=0, le=1_000_000)] = 8
    among: Annotated[int, Field(ge=1, le=1_000_000)] = 10
    copies: Copies = "keep"
    trims: bool = False
    capacity_bytes: Count | None = None
    cycles: Rounds = 3000

    @model_validator(mode="after")
    def _holds_data(self) -> Self:
        if self.metadata_pages >= self.pages_per_block:
            raise ValueError(f"metadata_pages {self.metadata_pages} leave no page for data: pages_per_block has more")
        return self
