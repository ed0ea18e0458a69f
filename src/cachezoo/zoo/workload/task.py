"""Lightning task and data of the workload classifier."""

from typing import Any

import numpy as np
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader

from cachezoo.arrays import I64
from cachezoo.models.lstm import WorkloadLstm
from cachezoo.seeds import derive_seed
from cachezoo.training.lightning_fit import Batch, Batches, Task
from cachezoo.zoo.workload.windows import Inputs


def loader(windows: Inputs, batch: int, shuffle_seed: int | None) -> DataLoader[Any]:
    """Windows in order where the seed is None; else in a new shuffle each epoch."""

    def order(epoch: int) -> list[I64]:
        rows = np.arange(len(windows))
        if shuffle_seed is not None:
            rows = np.random.default_rng(derive_seed(shuffle_seed, "shuffle", epoch)).permutation(rows)
        return [rows[low : low + batch] for low in range(0, len(rows), batch)]

    count = -(-len(windows) // batch)
    return Batches(count, order, lambda index: (windows.rows[index], windows.labels[index])).loader()


class WorkloadTask(Task):
    """Cross-entropy of the category at a window's end, categories weighted to equal parts."""

    def __init__(self, network: WorkloadLstm, learning_rate: float, steps: int, weights: Tensor) -> None:
        """Take the network, its parameters and the weight float32[K] of each category."""
        super().__init__(network, learning_rate, steps)
        self.weights = weights

    def _loss(self, batch: Batch) -> tuple[Tensor, float]:
        rows, labels = batch
        own, found = self.weights[labels].sum(), self.network(rows)
        # Of no windows there is no mean; what their network gives has the sum 0.
        loss = functional.cross_entropy(found, labels, self.weights) if len(rows) else found.sum()
        whole = self.whole(own)
        return loss * (own / whole), float(whole)

    def training_step(self, batch: Batch) -> Tensor:
        """One step."""
        loss, weight = self._loss(batch)
        self.note(loss, weight, training=True)
        return self.machines * loss

    def validation_step(self, batch: Batch) -> None:
        """The same loss on validation windows."""
        self.note(*self._loss(batch), training=False)
