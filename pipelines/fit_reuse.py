"""Stage fit_reuse: the next-use forests of all page categories and the corpus."""

from cachezoo.stage import stage
from cachezoo.systems.reuse.fit import fit_reuse

if __name__ == "__main__":
    stage(fit_reuse)()
