"""Runs Lightning as cachezoo needs it: quiet, deterministic, nothing on disk, the best epoch kept in memory.

Where the settings say so, several machines of a Dask cluster train a network. Each takes its part of every batch, and
they add up what they find, so that the network is that of one machine but for the order in which numbers are added.
"""

import logging
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any, Literal

import lightning
import numpy as np
import numpy.typing as npt
import torch
from lightning.fabric.plugins.environments.lightning import LightningEnvironment
from lightning.pytorch.strategies import DDPStrategy
from torch import Tensor
from torch.utils.data import DataLoader, IterableDataset

from cachezoo.arrays import I64
from cachezoo.console import Advance, progress
from cachezoo.errors import ConfigError
from cachezoo.jobs import together
from cachezoo.settings.lstm import Accelerator, LstmFit

Weights = dict[str, Any]
Batch = list[Tensor]
SILENT = timedelta(minutes=30)  # that machines wait for each other
DECAY, SMALLEST = 0.99, 1e-8  # of the mean square of gradients; what is added to its root


class Batches(IterableDataset[Batch]):
    """Batches of examples, in an order of each epoch's own.

    Attributes:
        place, machines: of every batch, the examples that this machine takes of those that train together.
    """

    def __init__(
        self, length: int, order: Callable[[int], Iterable[I64]],
        take: Callable[[I64], Iterable[npt.NDArray[np.generic]]],
    ) -> None:  # fmt: skip
        """Take the batches of an epoch, the examples of each by epoch, and the arrays of some examples."""
        self.length, self.order, self.take = length, order, take
        self.epoch, self.place, self.machines = 0, 0, 1

    def __len__(self) -> int:
        return self.length

    def __iter__(self) -> Iterator[Batch]:
        order = self.order(self.epoch)
        self.epoch += 1
        for index in order:
            yield [torch.from_numpy(values) for values in self.take(index[self.place :: self.machines])]

    def loader(self) -> DataLoader[Any]:
        """A loader; batches come ready-made."""
        return DataLoader(self, batch_size=None)


class RmsProp(torch.optim.Optimizer):
    """RMSProp as torch's, with numpy's square root, which is the nearest number on every CPU.

    torch takes MKL's, which starts from the CPU's own approximation (`rsqrtps`). Makers differ in it, one in five roots
    is not the nearest number, and no setting of MKL's changes that.
    """

    def __init__(self, parameters: Iterable[torch.nn.Parameter], lr: float) -> None:
        """Take the parameters and the first learning rate."""
        super().__init__(parameters, {"lr": lr})

    @torch.no_grad()
    def step(self, closure: Callable[[], float] | None = None) -> float | None:  # type: ignore[override]
        """One step; the closure, if there is one, computes the gradients and gives the loss."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            for values in group["params"]:
                if values.grad is None:
                    continue
                state = self.state[values]
                if not state:
                    state["mean_square"] = torch.zeros_like(values)
                mean = state["mean_square"].mul_(DECAY).addcmul_(values.grad, values.grad, value=1 - DECAY)
                exact = torch.sqrt(mean) if mean.is_cuda else torch.from_numpy(np.sqrt(mean.numpy()))
                root = exact.add_(SMALLEST)
                values.addcdiv_(values.grad, root, value=-group["lr"])
        return loss


class Task(lightning.LightningModule):
    """What the two LSTMs' tasks share: RMSProp, the curves, and the weights of the best epoch.

    Attributes:
        curves: per epoch, the mean training loss and the validation loss (None without validation).
        best: weights of the epoch with the lowest validation loss, as numpy arrays.
        place, machines: which machine this is of those that train together.
    """

    def __init__(self, network: torch.nn.Module, learning_rate: float, steps: int) -> None:
        """Take the network, the first learning rate and the steps of the whole training."""
        super().__init__()
        self.network = network
        self.learning_rate = learning_rate
        self.steps = steps
        self.place, self.machines = 0, 1
        self.curves: list[tuple[float, float | None]] = []
        self.best: Weights = {}
        self._best_loss = float("inf")
        self._losses: list[tuple[float, float]] = []
        self._validation: list[tuple[float, float]] = []

    def configure_optimizers(self) -> Any:  # noqa: ANN401 - Lightning's own union
        """RMSProp; the rate falls linearly to a tenth."""
        optimizer = RmsProp(self.network.parameters(), self.learning_rate)
        decay = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1 - 0.9 * min(1.0, step / self.steps))
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": decay, "interval": "step"}}

    def note(self, loss: torch.Tensor, weight: float, training: bool) -> None:
        """Remember a batch's mean loss, or this machine's part of it, and the weight of the whole batch."""
        (self._losses if training else self._validation).append((float(loss.detach()), weight))

    def whole(self, own: Tensor) -> Tensor:
        """The sum over all machines that train together."""
        if self.machines == 1:
            return own
        found: Tensor = self.trainer.strategy.reduce(own.detach().clone().to(self.device), reduce_op="sum")
        return found

    def _mean(self, losses: list[tuple[float, float]]) -> float | None:
        mean = _mean(losses)
        return None if mean is None else float(self.whole(torch.tensor(mean, dtype=torch.float64)))

    def on_train_epoch_end(self) -> None:
        """Close the epoch: curves, and the weights if they are the best so far."""
        train, validation = self._mean(self._losses), self._mean(self._validation)
        judged = train if validation is None else validation
        self.curves.append((0.0 if train is None else train, validation))
        self._losses, self._validation = [], []
        if judged is not None and judged < self._best_loss:
            self._best_loss = judged
            self.best = {k: v.detach().cpu().numpy().copy() for k, v in self.network.state_dict().items()}


def _mean(losses: list[tuple[float, float]]) -> float | None:
    total = sum(weight for _, weight in losses)
    return sum(loss * weight for loss, weight in losses) / total if total > 0 else None


class _Progress(lightning.Callback):
    def __init__(self, advance: Advance) -> None:
        self.advance = advance

    def on_train_batch_end(self, trainer: Any, *_: Any) -> None:  # noqa: ANN401 - Lightning's signature
        loss = trainer.lightning_module.curves[-1] if trainer.lightning_module.curves else None
        note = "" if loss is None or loss[1] is None else f"validation loss {loss[1]:.4f}"
        self.advance(trainer.global_step, note)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without Lightning's advice about workers, devices and loggers."""
    names = ("lightning.pytorch", "lightning.fabric", "lightning.pytorch.utilities.rank_zero")
    levels = {name: logging.getLogger(name).level for name in names}
    for name in names:
        logging.getLogger(name).setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for name, level in levels.items():
            logging.getLogger(name).setLevel(level)


def device_of(accelerator: Accelerator) -> Literal["cpu", "cuda"]:
    """The device to train on: `auto` takes CUDA where there is a device.

    Raises:
        ConfigError: CUDA is asked for, and there is none.
    """
    there = torch.cuda.is_available()
    if accelerator == "cuda" and not there:
        message = "torch finds no CUDA device here; set it to cpu or auto in conf/fit/caching.yaml"
        raise ConfigError(f"fit.caching.accelerator is cuda: {message}")
    return "cuda" if there and accelerator != "cpu" else "cpu"


def fit(
    task: Task, train: DataLoader[Any], validation: DataLoader[Any] | None, options: LstmFit, title: str,
    accelerator: Accelerator = "cpu",
) -> None:  # fmt: skip
    """Train; afterwards `task.best` holds the best epoch's weights.

    On the CPU results depend on the options' precision and threads alone where `cachezoo.pinned` holds, as in every
    stage; else on the CPU's type too. On CUDA they differ in their last digits, from device to device as well.

    Raises:
        ConfigError: see `device_of`; of several machines also `cachezoo.jobs.together`.
        ClusterError: see `cachezoo.jobs.together`.
    """
    job = (task, train, validation, options, title, accelerator)
    if options.machines == 1:
        _train(*job)
    else:
        task.best, task.curves = together(title, _train_part, [job] * options.machines)[0]


def _train_part(
    addresses: list[str], place: int, task: Task, train: DataLoader[Any], validation: DataLoader[Any] | None,
    options: LstmFit, title: str, accelerator: Accelerator,
) -> tuple[Weights, list[tuple[float, float | None]]]:  # fmt: skip
    """One machine's part of a training; returns the best epoch's weights and the curves, the same on each."""
    host, _, port = addresses[0].rpartition(":")
    os.environ.update({"MASTER_ADDR": host, "MASTER_PORT": port, "NODE_RANK": str(place), "LOCAL_RANK": "0"})
    task.place, task.machines = place, len(addresses)
    for one in (train, validation):
        if one is not None and isinstance(one.dataset, Batches):
            one.dataset.place, one.dataset.machines = task.place, task.machines
    _train(task, train, validation, options, title, accelerator)
    return task.best, task.curves


def _train(
    task: Task, train: DataLoader[Any], validation: DataLoader[Any] | None, options: LstmFit, title: str,
    accelerator: Accelerator,
) -> None:  # fmt: skip
    """Train on this machine, alone or with those that `_train_part` has named."""
    device = device_of(accelerator)
    # Where no example of a batch has a known duration, the network's part for it has no gradient.
    strategy = DDPStrategy(find_unused_parameters=True, timeout=SILENT) if task.machines > 1 else "auto"
    torch.set_num_threads(options.threads)
    with _quiet(), progress(title, options.max_epochs * len(train)) as advance:
        trainer = lightning.Trainer(
            max_epochs=options.max_epochs,
            accelerator=device,
            devices=1,
            num_nodes=task.machines,
            strategy=strategy,
            plugins=LightningEnvironment() if task.machines > 1 else None,
            use_distributed_sampler=False,
            precision=options.precision,
            gradient_clip_val=options.clip_norm,
            deterministic=True,
            logger=False,
            enable_checkpointing=False,
            enable_progress_bar=False,
            enable_model_summary=False,
            num_sanity_val_steps=0,
            reload_dataloaders_every_n_epochs=0,
            callbacks=[_Progress(advance)],
        )
        trainer.fit(task, train, validation)


def seeded(seed: int) -> np.random.Generator:
    """Seed torch, and return a generator for everything else."""
    torch.manual_seed(seed)
    return np.random.default_rng(seed)
