"""How long one epoch and one decision of the paper's caching network take on this machine.

    paper_epoch.py [CATEGORY …] [--batches 20] [--accelerator cpu]      needs the train traces as files, no stage

Batches of the preset's size are timed, of drawn inputs and tags: time depends on neither. What begins a training does
not count. An epoch has a sequence for each hundred requests of each train trace at each labelled capacity. A decision
is a step of the network on one request, in time of its thread.
"""

import argparse
import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from cachezoo.config.compose import compose
from cachezoo.config.load import validate_params
from cachezoo.features.sequence import FEEDBACK_WIDTH
from cachezoo.settings.params import Params
from cachezoo.traces.read import read_any
from cachezoo.training.fitted import network_weights
from cachezoo.yaml_file import parsed
from cachezoo.zoo.caching.fit import Settings, fit_network, new_network
from cachezoo.zoo.caching.infer import torch_infer
from cachezoo.zoo.caching.sequences import Sequences

RUNS, STEPS = 10, 100


def width_of(settings: Settings) -> int:
    """Of the network's inputs."""
    return len(settings.model.inputs) + (FEEDBACK_WIDTH if settings.model.feedback else 0)


def drawn(count: int, settings: Settings, seed: int) -> Sequences:
    """As many sequences of the model's inputs and of one teacher's tags."""
    rng, length, width = np.random.default_rng(seed), settings.model.sequence, width_of(settings)
    return Sequences(
        inputs=rng.normal(size=(count, length, width)).astype(np.float32),
        cached=rng.integers(0, 2, (count, length, 1)).astype(np.float32),
        weight=np.ones((count, length, 1), np.float32),
        duration=rng.integers(-1, 3, (count, length, 1)),
        begins=np.arange(count) == 0,
    )


def seconds_a_batch(settings: Settings, batches: int) -> float:
    """Wall time of a training step: of more batches less one batch, after a training that loads what is loaded once.

    Args:
        settings: of the network and its training; one epoch is run.
        batches: that are timed, 1 or more.
    """
    once = replace(settings, fit=settings.fit.model_copy(update={"max_epochs": 1}))
    taken = []
    for count in (1, 1, batches + 1):
        sequences = drawn(count * once.fit.batch, once, once.seed)
        begun = time.perf_counter()
        fit_network(f"{count} batches", sequences, None, once, once.seed)
        taken.append(time.perf_counter() - begun)
    return (taken[2] - taken[1]) / batches


def microseconds_a_decision(settings: Settings, steps: int) -> float:
    """Time of the processor for a step on one request: the median of ten runs of so many steps."""
    weights = network_weights(new_network(width_of(settings), 1, settings, settings.seed))
    infer, row = torch_infer(weights, settings.fit.threads), np.zeros((1, width_of(settings)), np.float32)
    taken: list[float] = []
    for _ in range(1 + RUNS):
        state: Any = None
        begun = time.thread_time()
        for _ in range(steps):
            _, state = infer(row, state)
        taken.append((time.thread_time() - begun) / steps)
    return 1e6 * median(taken[1:])


def batches_an_epoch(requests: Sequence[int], settings: Settings) -> int:
    """Of train traces of so many requests at every labelled capacity."""
    sequences = sum(math.ceil(n / settings.model.sequence) for n in requests) * len(settings.label.capacities)
    return math.ceil(sequences / settings.fit.batch)


def _requests(params: Params, category: str) -> list[int]:
    traces = [params.data.traces[key] for key in params.data.roles[category].get("train", [])]
    return [len(read_any(Path(entry.path))) for entry in traces]


def main(arguments: Sequence[str] | None = None) -> None:
    """Print a line for each category."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("categories", nargs="*", default=["web"])
    parser.add_argument("--batches", type=int, default=20)
    parser.add_argument("--accelerator", default="cpu", choices=("auto", "cpu", "cuda"))
    chosen = parser.parse_args(arguments)
    text = compose(Path("conf"), {"caching": "paper"}, [f"fit.caching.accelerator={chosen.accelerator}"])
    params = validate_params(parsed(text, "conf"), "conf")
    decision = microseconds_a_decision(Settings.of(params, chosen.categories[0]), STEPS)
    print(f"{decision:.0f} µs a decision")
    for category in chosen.categories:
        settings, requests = Settings.of(params, category), _requests(params, category)
        each, batches = seconds_a_batch(settings, max(1, chosen.batches)), batches_an_epoch(requests, settings)
        took = f"{each:.2f} s a batch, {batches} batches an epoch: {each * batches / 60:.1f} minutes"
        print(f"{category}: {sum(requests)} train requests, {took}")


if __name__ == "__main__":
    main()
