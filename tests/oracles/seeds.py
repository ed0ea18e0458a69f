"""The verdict over seeds, by loops: networks and blocks drawn one by one, hits counted access by access."""

import numpy as np

from cachezoo.seeds import derive_seed


def leads(networks: list[list[int]], classic: list[int], blocks: int, samples: int, seed: int) -> list[float]:
    """The mean lead of each resample."""
    edges = [int(edge) for edge in np.linspace(0, len(classic), blocks + 1)]
    drawn = np.random.default_rng(seed).integers(0, blocks, (samples, blocks))
    chosen = np.random.default_rng(derive_seed(seed, "seeds")).integers(0, len(networks), (len(networks), samples))

    def ratio(hits: list[int], sample: int) -> float:
        counted = [hit for block in drawn[sample] for hit in hits[edges[block] : edges[block + 1]]]
        return sum(counted) / len(counted)

    found = []
    for sample in range(samples):
        ours = [ratio(networks[place], sample) for place in chosen[:, sample]]
        found.append(sum(ours) / len(ours) - ratio(classic, sample))
    return found
