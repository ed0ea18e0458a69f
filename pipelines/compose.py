"""Stage compose: conf/ to params.yaml. The one stage that reads conf/ and no params.yaml."""

from pathlib import Path

from cachezoo import paths
from cachezoo.config.compose import write_params
from cachezoo.stage import guarded

if __name__ == "__main__":
    with guarded("compose"):
        write_params(Path("conf"), paths.PARAMS)
