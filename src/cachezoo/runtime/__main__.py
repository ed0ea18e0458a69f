"""`python -m cachezoo.runtime` is `cachezoo-bundle`."""

import sys

from cachezoo.runtime.bundle_cli import main

sys.exit(main())
