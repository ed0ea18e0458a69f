"""Stage compose: conf/ to params.yaml. The one stage that reads conf/ and no params.yaml."""

import sys
from pathlib import Path

from cachezoo import paths
from cachezoo.config.compose import write_params
from cachezoo.errors import ConfigError
from cachezoo.stage import guarded
from cachezoo.zoo import registry

# Which systems declare sections: the import puts the registry on the stage's list of sources.
PARTS = (registry,)


def main(words: list[str]) -> None:
    """Write params.yaml and data/traces.json.

    Raises:
        ConfigError: conf/ cannot be composed, or there are arguments: what a run is of is said in conf/ alone.
    """
    if words:
        message = (
            f"takes no arguments, got {' '.join(words)}; write overrides into conf/overrides.yaml, and compare several "
            "values by `cachezoo study` or `dvc exp run`"
        )
        raise ConfigError(message)
    write_params(Path("conf"), paths.PARAMS, paths.TRACES)


if __name__ == "__main__":
    with guarded("compose"):
        main(sys.argv[1:])
