"""The one list of fuzz targets."""

from tests.fuzz.bundle_targets import bundle_targets
from tests.fuzz.target import Target
from tests.fuzz.trace_targets import trace_targets

TARGETS: dict[str, Target] = {target.id: target for target in (*trace_targets(), *bundle_targets())}
