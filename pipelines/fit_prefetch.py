"""Stage fit_prefetch@category: Baleen's prefetch forests of one category, on its admission model's inputs."""

from cachezoo.stage import stage
from cachezoo.systems.prefetch.fit import fit_prefetch

if __name__ == "__main__":
    stage(fit_prefetch)()
