"""The base of every section of params.yaml, and the numbers that several sections have.

Every number has a least and a greatest value, wider than anything of use and within what runs: a slip of a few zeros
ends in one line, and not hours later in a stage.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

# Of requests, pages, rows and the like; of loops.
Count = Annotated[int, Field(ge=1, le=1 << 40)]
Rounds = Annotated[int, Field(ge=1, le=1_000_000)]
Threads = Annotated[int, Field(ge=1, le=1024)]
# A bootstrap's time blocks, and its resamples.
Blocks = Annotated[int, Field(ge=20, le=100_000)]
Resamples = Annotated[int, Field(ge=100, le=1_000_000)]
# A part of a whole, without nothing.
Part = Annotated[float, Field(gt=0, le=1)]


class Strict(BaseModel):
    """A frozen section; unknown keys are refused, and so is what is no number of the kind asked for.

    `true`, "1" and 1.0 are no whole numbers, and infinity and not-a-number are none at all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)
