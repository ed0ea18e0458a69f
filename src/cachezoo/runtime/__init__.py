"""Bundles inside a cache, through libcachezoo: Python 3.9 or later and nothing else.

    import cachezoo.runtime

    with cachezoo.runtime.open("admission.database.lgbm") as model:
        decision = model.observe(time_us=0, op="read", offset=0, size=4096, volume="sda")
        if missed and decision.admit:
            ...

Every request is observed, in order; a decision is computed when one of its values is read, so hits cost no
decision. Where the library cannot be found, models of kinds admission and streams are computed by numpy, if
the whole package is installed. Virtual I/O caches (`Virtual`, `Share`) and caches of several tenants (`Tenants`) need
the library.
"""

from __future__ import annotations

from typing import Any

from cachezoo.runtime import abi
from cachezoo.runtime.abi import RuntimeFault
from cachezoo.runtime.model import Access, Cache, Decision, Following, Model, Path, Unit, bundle_of, policy_of
from cachezoo.runtime.tenants import Page, Reference, Tenants
from cachezoo.runtime.virtual import Place, Settings, Share, Virtual

__all__ = [
    "Access", "Cache", "Decision", "Following", "Model", "Page", "Place", "Reference", "RuntimeFault", "Settings",
    "Share", "Tenants", "Unit", "Virtual", "open", "policy",
]  # fmt: skip


def open(
    path: Path, capacity: int | None = None, *, precision: str = "fp32", max_keys: int = 0, key: Path | None = None
) -> Any:  # noqa: ANN401 - Model, or the numpy model of the whole package
    """Check and open a bundle.

    Args:
        path: its folder, or its .zip.
        capacity: pages of the cache that a model of kind caching, reuse, virtual or policy decides for.
        precision: of an LSTM: fp32, bf16 or int8.
        max_keys: pages, segments or blocks remembered, each; 0 takes the library's 2**20.
        key: public key (PEM) of the signed release that must have the bundle; None: CACHEZOO_KEY's, else
            /etc/cachezoo/key.pub where there is one.

    Raises:
        RuntimeFault: the bundle is damaged, unknown or not in a release of the key, or the model needs the library and
            there is none.
    """
    if precision not in abi.PRECISIONS:
        raise RuntimeFault(f"precision {precision!r}: there are {', '.join(abi.PRECISIONS)}")
    _check_capacity(capacity)
    found = abi.library()
    if found is not None:
        return Model(bundle_of(found, path, precision, key), capacity, max_keys)
    from cachezoo.runtime.fallback import NumpyModel

    return NumpyModel(path, key)


def policy(text: str, capacity: int | None = None, *, max_keys: int = 0) -> Model:
    """A classic without a bundle: a composition of the simulator's grammar, such as `rejectx+lirs+next(n=4)`.

    Args:
        text: of the composition.
        capacity: pages of its cache.
        max_keys: as `open`'s.

    Raises:
        RuntimeFault: the library does not run it, or there is no library.
    """
    _check_capacity(capacity)
    found = abi.library()
    if found is None:
        raise RuntimeFault(f"{abi.NAME} was not found; a cache runs in it alone: set {abi.VARIABLE}")
    return Model(policy_of(found, text), capacity, max_keys)


def _check_capacity(capacity: int | None) -> None:
    if capacity is not None and capacity < 1:
        raise RuntimeFault(f"capacity {capacity}: a cache has at least one page")
