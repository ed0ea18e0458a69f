"""What fitting any LSTM takes."""

from typing import Literal

from pydantic import Field

from cachezoo.settings.base import Strict


class LstmFit(Strict):
    """What every LSTM's fit takes. Precision, threads and batch are explicit because results depend on them.

    Attributes:
        max_epochs: passes over the train traces; the best by validation is kept.
        batch: sequences (windows) in a step.
        learning_rate: RMSProp's.
        clip_norm: gradients are scaled down to this norm.
        precision: `32-true` or `bf16-mixed`.
        threads: torch's threads.
    """

    max_epochs: int = Field(ge=1)
    batch: int = Field(ge=1)
    learning_rate: float = Field(gt=0)
    clip_norm: float = Field(gt=0)
    precision: Literal["32-true", "bf16-mixed"]
    threads: int = Field(ge=1)
