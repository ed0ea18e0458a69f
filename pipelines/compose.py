"""Stage compose: conf/ to params.yaml. The one stage that reads conf/ and no params.yaml."""

import sys
from pathlib import Path

from cachezoo import paths
from cachezoo.config.compose import write_params
from cachezoo.errors import CachezooError
from cachezoo.stage import die_with_parent, settle_environment

if __name__ == "__main__":
    die_with_parent()
    settle_environment(Path.cwd())
    try:
        write_params(Path("conf"), paths.PARAMS)
    except CachezooError as error:
        sys.stderr.write(f"compose: {error}\n")
        raise SystemExit(1) from error
