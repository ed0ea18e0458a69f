"""What fitting any LSTM takes."""

from typing import Annotated, Literal

from pydantic import Field

from cachezoo.settings.base import Machines, Part, Rounds, Strict, Threads

# Of any LSTM's network.
Layers = Annotated[int, Field(ge=1, le=64)]
Units = Annotated[int, Field(ge=1, le=16_384)]

Accelerator = Literal["auto", "cpu", "cuda"]


class LstmFit(Strict):
    """What every LSTM's fit takes. Precision, threads and batch are explicit because results depend on them."""

    max_epochs: Rounds  # passes over the train traces; the best by validation is kept
    batch: Rounds  # sequences (windows) in a step
    learning_rate: Part  # RMSProp's
    clip_norm: float = Field(gt=0, le=1e9)  # gradients are scaled down to this norm
    precision: Literal["32-true", "bf16-mixed"]  # `32-true` or `bf16-mixed`
    threads: Threads  # torch's threads
    # Of a Dask cluster that train one network, each on its part of a batch; last digits depend on their number.
    machines: Machines
