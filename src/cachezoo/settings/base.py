"""The base of every section of params.yaml."""

from pydantic import BaseModel, ConfigDict


class Strict(BaseModel):
    """A frozen section; unknown keys are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)
