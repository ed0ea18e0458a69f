"""Bundles inside a cache, through libcachezoo: Python 3.9 or later and nothing else.

    import cachezoo.runtime

    with cachezoo.runtime.open("admission.database.lgbm") as model:
        decision = model.observe(time_us=0, op="read", offset=0, size=4096, volume="sda")
        if missed and decision.admit:
            ...

Every request is observed, in order; a decision is computed when one of its values is asked for, so hits cost no
decision. Where the library cannot be found, models of kinds admission, prefetch and streams are computed by numpy, if
the whole package is installed. Virtual I/O caches (`Virtual`, `Share`) need the library.
"""

from cachezoo.runtime.abi import RuntimeFault
from cachezoo.runtime.model import Access, Cache, Decision, Model, Unit, open
from cachezoo.runtime.virtual import Place, Settings, Share, Virtual

__all__ = [
    "Access", "Cache", "Decision", "Model", "Place", "RuntimeFault", "Settings", "Share", "Unit", "Virtual", "open",
]  # fmt: skip
