"""Parameters of the stage export."""

from typing import Self

from pydantic import Field, model_validator

from cachezoo.settings.base import Rounds, Strict

SEMVER = r"^(0|[1-9]\d*)\.(0|[1-9]\d*)\.(0|[1-9]\d*)(-[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)*)?$"


class Export(Strict):
    """`export`: version and golden rows of the bundles.

    Attributes:
        version: semantic version; raise it when a released bundle's bytes change.
        golden_rows: golden requests to start with.
        golden_rows_max: they are doubled up to this many while a branch of the runtime is not passed.
    """

    version: str = Field(pattern=SEMVER)
    golden_rows: Rounds
    golden_rows_max: Rounds

    @model_validator(mode="after")
    def _rising(self) -> Self:
        if self.golden_rows_max < self.golden_rows:
            raise ValueError(f"golden_rows_max {self.golden_rows_max} is below golden_rows {self.golden_rows}")
        return self
