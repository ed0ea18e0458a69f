"""Bundles inside a cache, through libcachezoo: Python 3.9 or later and nothing else.

    import cachezoo.runtime

    with cachezoo.runtime.open("admission.database.lgbm") as model:
        decision = model.observe(time_us=0, op="read", offset=0, size=4096, volume="sda")
        if missed and decision.admit:
            ...

Every request is observed, in order; a decision is computed when one of its values is asked for, so hits cost no
decision. Where the library cannot be found, models of kinds admission and prefetch are computed by numpy, if the whole
package is installed.
"""

from cachezoo.runtime.errors import RuntimeFault
from cachezoo.runtime.model import Access, Cache, Decision, Model, Unit, open

__all__ = ["Access", "Cache", "Decision", "Model", "RuntimeFault", "Unit", "open"]
