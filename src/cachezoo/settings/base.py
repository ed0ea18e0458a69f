"""The base of every section of params.yaml, and the numbers that several sections have.

Every number has a least and a greatest value, wider than anything of use and within what runs: a slip of a few zeros
ends in one line, and not hours later in a stage.
"""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

# Of requests, pages, rows and the like; of loops.
Count = Annotated[int, Field(ge=1, le=1 << 40)]
Rounds = Annotated[int, Field(ge=1, le=1_000_000)]
Threads = Annotated[int, Field(ge=1, le=1024)]
Machines = Annotated[int, Field(ge=1, le=1024)]
# Of windows of time, from as many on as intervals of their mean cover what they state.
Windows = Annotated[int, Field(ge=20, le=100_000)]
# The least effect worth having: a gain in hit ratio or accuracy, or the share of a cost that is saved.
Gain = Annotated[float, Field(ge=0, lt=1)]
# A part of a whole, without nothing.
Part = Annotated[float, Field(gt=0, le=1)]
# How two traces are joined to one whose workload changes, see `cachezoo.traces.joined`.
Joining = Literal["other", "shared", "turns", "drift"]


class Strict(BaseModel):
    """A frozen section; unknown keys are refused, and so is what is no number of the kind asked for.

    `true`, "1" and 1.0 are no whole numbers, and infinity and not-a-number are none at all.
    """

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


def fitted_by(fit: object) -> dict[str, Any]:
    """Settings of a fit that go into a model's record: precision, threads, and machines where there are several."""
    said = {name: getattr(fit, name) for name in ("precision", "threads", "machines") if hasattr(fit, name)}
    return {name: value for name, value in said.items() if name != "machines" or value > 1}
