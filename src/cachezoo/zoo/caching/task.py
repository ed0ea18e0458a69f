"""Lightning task and data of the caching LSTM: truncated back-propagation through time (RC-RNN, Sec. 5.2.2)."""

from typing import Any

import torch
from torch import Tensor
from torch.nn import functional
from torch.utils.data import DataLoader

from cachezoo.arrays import I64
from cachezoo.features.sequence import FEEDBACK_WIDTH
from cachezoo.models.lstm import CachingLstm
from cachezoo.seeds import derive_seed
from cachezoo.training.lightning_fit import Batch, Batches, Task
from cachezoo.zoo.caching.sequences import Sequences, shuffled_order, stream_order, take
from cachezoo.zoo.caching.settings import Fit, Model

State = tuple[Tensor, Tensor]


def loader(sequences: Sequences, batch: int, shuffle_seed: int | None) -> DataLoader[Any]:
    """Parallel streams where the seed is None, for a state that is carried; else a new shuffle each epoch."""
    count = len(sequences)

    def order(epoch: int) -> I64:
        if shuffle_seed is None:
            return stream_order(count, batch)
        return shuffled_order(count, batch, derive_seed(shuffle_seed, "shuffle", epoch))

    return Batches(-(-count // batch), order, lambda index: take(sequences, index)).loader()


class CachingTask(Task):
    """Binary cross-entropy of `cached` on weighted rows, plus cross-entropy of the duration where it is known.

    All teachers count alike. Epochs are compared by the first of the two alone, which is what admits.
    """

    def __init__(self, network: CachingLstm, model: Model, train: Fit, steps: int, seed: int) -> None:
        """Take the network and its parameters."""
        super().__init__(network, train.learning_rate, steps)
        self.carried = model.state == "carried"
        self.tag_dropout = train.tag_dropout if model.feedback else None
        self.generator = torch.Generator().manual_seed(seed)
        self._state: State | None = None

    def _start(self, begins: Tensor) -> State | None:
        """The state each stream goes on from; zero where a new lane begins."""
        if not self.carried or self._state is None:
            return None
        keep = (~begins).to(torch.float32)[None, :, None]
        return self._state[0] * keep, self._state[1] * keep

    def _losses_of(self, batch: Batch) -> tuple[Tensor, Tensor, float]:
        """This machine's part of the mean loss of `cached` and of the duration, and the rows of the first."""
        inputs, cached, weight, duration, begins = batch
        logit, durations, state = self.network(inputs, self._start(begins))
        self._state = (state[0].detach(), state[1].detach())
        rows = self.whole(weight.sum())
        each = functional.binary_cross_entropy_with_logits(logit, cached, weight, reduction="sum")
        known = duration >= 0
        spread = functional.cross_entropy(durations[known], duration[known]) if known.any() else torch.zeros(())
        share = known.sum() / self.whole(known.sum()).clamp(min=1)
        return each / rows.clamp(min=1.0), spread * share, float(rows)

    def on_train_epoch_start(self) -> None:
        """Streams begin again."""
        self._state = None

    def on_validation_epoch_start(self) -> None:
        """Streams begin again."""
        self._state = None

    def training_step(self, batch: Batch) -> Tensor:
        """One step; with feedback some sequences do not see the oracle's previous tags."""
        if self.tag_dropout is not None:
            inputs = batch[0]
            drawn = torch.rand(int(self.whole(torch.tensor(len(inputs)))), generator=self.generator)
            shown = drawn[self.place :: self.machines] >= self.tag_dropout
            inputs[:, :, -FEEDBACK_WIDTH:] *= shown.to(inputs)[:, None, None]
        loss, spread, rows = self._losses_of(batch)
        self.note(loss, rows, training=True)
        return self.machines * (loss + spread)

    def validation_step(self, batch: Batch) -> None:
        """The same on validation rows."""
        loss, _, rows = self._losses_of(batch)
        self.note(loss, rows, training=False)
