"""Stage fit_virtual@category: profiles of the category's replacement queues."""

from cachezoo.stage import stage
from cachezoo.systems.virtual.fit import fit_virtual

if __name__ == "__main__":
    stage(fit_virtual)()
