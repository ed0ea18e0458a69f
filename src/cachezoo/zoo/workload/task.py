"""Lightning task and data of the workload classifier."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader, IterableDataset

from cachezoo.models.lstm import WorkloadLstm
from cachezoo.seeds import derive_seed
from cachezoo.training.lightning_fit import Task
from cachezoo.zoo.workload.windows import Inputs

Batch = list[Tensor]


class Batches(IterableDataset[Batch]):
    """Batches of windows: a new seeded shuffle each epoch, or in order."""

    def __init__(self, windows: Inputs, batch: int, shuffle_seed: int | None) -> None:
        """Take the windows; `shuffle_seed` None leaves them in order."""
        self.windows, self.batch, self.seed = windows, batch, shuffle_seed
        self.epoch = 0

    def __len__(self) -> int:
        return -(-len(self.windows) // self.batch)

    def __iter__(self) -> Iterator[Batch]:
        order = np.arange(len(self.windows))
        if self.seed is not None:
            order = np.random.default_rng(derive_seed(self.seed, "shuffle", self.epoch)).permutation(order)
        self.epoch += 1
        for low in range(0, len(order), self.batch):
            index = order[low : low + self.batch]
            yield [torch.from_numpy(self.windows.rows[index]), torch.from_numpy(self.windows.labels[index])]


def loader(windows: Inputs, batch: int, shuffle_seed: int | None) -> DataLoader[Any]:
    """A loader over `Batches`; batches come ready-made."""
    return DataLoader(Batches(windows, batch, shuffle_seed), batch_size=None)


class WorkloadTask(Task):
    """Cross-entropy of the category at a window's end, categories weighted to equal parts."""

    def __init__(self, network: WorkloadLstm, learning_rate: float, steps: int, weights: Tensor) -> None:
        """Take the network, its parameters and the weight float32[K] of each category."""
        super().__init__(network, learning_rate, steps)
        self.weights = weights

    def _loss(self, batch: Batch) -> tuple[Tensor, float]:
        rows, labels = batch
        loss = functional.cross_entropy(self.network(rows), labels, self.weights)
        return loss, float(self.weights[labels].sum())

    def training_step(self, batch: Batch) -> Tensor:
        """One step."""
        loss, weight = self._loss(batch)
        self.note(loss, weight, training=True)
        return loss

    def validation_step(self, batch: Batch) -> None:
        """The same loss on validation windows."""
        self.note(*self._loss(batch), training=False)
