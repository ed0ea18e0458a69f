"""Stage compose: conf/ to params.yaml. The one stage that reads conf/ and no params.yaml."""

from pathlib import Path

from cachezoo import paths
from cachezoo.config.compose import write_params
from cachezoo.stage import guarded
from cachezoo.systems import registry

# Which systems declare sections: the import puts the registry on the stage's list of sources.
PARTS = (registry,)

if __name__ == "__main__":
    with guarded("compose"):
        write_params(Path("conf"), paths.PARAMS)
