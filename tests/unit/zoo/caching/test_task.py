"""Parts of a batch on several machines, which threads are here: together they say what one says of all of it."""

from threading import Barrier, Thread

import numpy as np
import pytest
import torch

from cachezoo.features.sequence import FEEDBACK_WIDTH
from cachezoo.models.lstm import CachingLstm
from cachezoo.zoo.caching.sequences import Sequences
from cachezoo.zoo.caching.task import CachingTask, loader
from tests.rcrnn_data import FIT

COUNT, LENGTH, INPUTS, TEACHERS = 11, 6, 3 + FEEDBACK_WIDTH, 2
WAIT_S = 60


def drawn(seed: int) -> Sequences:
    """Sequences, of some of which nothing is learned, or no duration is known."""
    rng = np.random.default_rng(seed)
    shape = (COUNT, LENGTH, TEACHERS)
    weight = rng.random(shape).astype(np.float32) * (rng.random((COUNT, 1, 1)) < 0.7)
    return Sequences(
        inputs=rng.normal(size=(COUNT, LENGTH, INPUTS)).astype(np.float32),
        cached=rng.integers(0, 2, shape).astype(np.float32),
        weight=weight.astype(np.float32),
        duration=np.where(rng.random((COUNT, 1, 1)) < 0.3, rng.integers(0, 3, shape), -1),
        begins=rng.random(COUNT) < 0.3,
    )


class Part(CachingTask):
    """The task on one of several machines, whose sums go over `said`."""

    said: list[torch.Tensor]
    barrier: Barrier

    def whole(self, own: torch.Tensor) -> torch.Tensor:
        self.said[self.place] = own.detach().clone()
        self.barrier.wait(WAIT_S)
        found = torch.stack(self.said).sum(0)
        self.barrier.wait(WAIT_S)
        return found


def gradients(task: CachingTask, sequences: Sequences, batch: int, seed: int | None) -> list[list[torch.Tensor]]:
    """Those of all parameters at each batch; nothing is learned in between."""
    batches, found = loader(sequences, batch, seed), []
    batches.dataset.place, batches.dataset.machines = task.place, task.machines
    for one in batches:
        task.zero_grad()
        task.training_step(one).backward()
        found.append([torch.zeros_like(own) if own.grad is None else own.grad.clone() for own in task.parameters()])
    return found


@pytest.mark.parametrize("machines", [2, 3, 5])  # of a batch of four, five machines leave one without a sequence
@pytest.mark.parametrize("state", ["carried", "reset100"])
def test_gradients_and_losses_of_parts_add_up_to_those_of_the_batch(machines: int, state: str) -> None:
    torch.manual_seed(1)
    network, seed = CachingLstm(INPUTS, 1, 5, TEACHERS), None if state == "carried" else 7
    model = FIT.model.model_copy(update={"feedback": True, "state": state})
    sequences = drawn(machines)
    one = CachingTask(network, model, FIT.fit, 10, 3)
    wanted = gradients(one, sequences, 4, seed)
    said, barrier, tasks, found = [torch.zeros(())] * machines, Barrier(machines), [], [[]] * machines
    for place in range(machines):
        own = CachingLstm(INPUTS, 1, 5, TEACHERS)
        own.load_state_dict(network.state_dict())
        task = Part(own, model, FIT.fit, 10, 3)
        task.place, task.machines, task.said, task.barrier = place, machines, said, barrier
        tasks.append(task)

    def run(place: int) -> None:
        try:
            found[place] = gradients(tasks[place], sequences, 4, seed)
        except BaseException:
            barrier.abort()
            raise

    threads = [Thread(target=run, args=(place,)) for place in range(machines)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for step, parts in enumerate(zip(*found, strict=True)):
        for values, *own in zip(wanted[step], *parts, strict=True):
            torch.testing.assert_close(torch.stack(own).mean(0), values, rtol=1e-4, atol=1e-6)
    assert len(found[0]) == len(wanted) > 1
    for place, (loss, weight) in enumerate(one._losses):
        notes = [task._losses[place] for task in tasks]
        assert sum(part for part, _ in notes) == pytest.approx(loss, rel=1e-5)
        assert [own for _, own in notes] == pytest.approx([weight] * machines)
