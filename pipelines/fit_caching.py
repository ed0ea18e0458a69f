"""Stage fit_caching@category: RC-RNN's caching LSTM of one category."""

from cachezoo.stage import stage
from cachezoo.systems.caching.fit import fit_caching

if __name__ == "__main__":
    stage(fit_caching)()
