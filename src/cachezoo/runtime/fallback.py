"""The same calls without the library, on numpy: kinds admission and streams, one at a time, slowly."""

from __future__ import annotations

import pathlib
from math import nan
from typing import TYPE_CHECKING, Any

from cachezoo.runtime import abi
from cachezoo.runtime.abi import RuntimeFault
from cachezoo.runtime.model import (
    NEEDS_THE_PAST,
    OPS,
    Decision,
    Path,
    Text,
    Values,
    check_offset,
    pages_of,
    places_nothing,
)

if TYPE_CHECKING:
    from cachezoo.serving.requests import RequestBatch

SERVED = ("admission", "streams")


def by_numpy(call: str, path: Path, key: Path | None) -> Any:  # noqa: ANN401 - what the call returns
    """What `load` or `verify` of cachezoo.bundles returns.

    Raises:
        RuntimeFault: the bundle is refused, or numpy's reader is not installed.
    """
    try:
        from cachezoo import bundles
        from cachezoo.errors import CachezooError

        run = getattr(bundles, call)
    except ImportError as error:
        message = f"{abi.NAME} was not found and neither was the package cachezoo ({error}); set {abi.VARIABLE}"
        raise RuntimeFault(message) from error
    try:
        return run(path, None if key is None else pathlib.Path(key))
    except CachezooError as error:
        raise RuntimeFault(str(error)) from error


class NumpyModel:
    """A bundle of kind admission or streams, and what it has seen so far."""

    def __init__(self, path: Path, key: Path | None = None) -> None:
        """Open a bundle; see `cachezoo.runtime.open`.

        Raises:
            RuntimeFault: it is damaged, of another kind, or numpy's reader is not installed.
        """
        self._bundle = by_numpy("load", path, key)
        if self._bundle.kind not in SERVED:
            message = f"{path}: a model of kind {self._bundle.kind} needs {abi.NAME}; set {abi.VARIABLE} to where it is"
            raise RuntimeFault(message)
        self._serving = self._bundle.serving()

    @property
    def info(self) -> dict[str, Any]:
        """What the bundle says of itself, as far as its manifest has it."""
        manifest = self._bundle.manifest
        return {"id": self._bundle.id, "version": self._bundle.version, "kind": self._bundle.kind,
                "category": manifest["category"] or "", "digest": self._bundle.digest,
                "features": len(manifest["features"]),
                "threshold": getattr(self._serving, "threshold", nan)}  # fmt: skip

    def observe(
        self, time_us: int, op: str, offset: int, size: int, volume: str = "", namespace: Text = None,
        user: Text = None, flags: Text = None,
    ) -> Decision:  # fmt: skip
        """As `cachezoo.runtime.model.Model.observe`."""
        if op not in OPS or size < 1 or offset < 0:
            raise RuntimeFault(f"request at {offset} of {size} bytes, op {op!r}: a cache serves no such request")
        batch = self._batch(time_us, op, offset, size, volume, namespace, user, flags)
        if self._by_lifetime:
            stream = float(self._serving.place(batch)[0]) if op == "write" else -1.0
            return Decision(lambda: Values(False, 0, -1, (stream,)))
        row = self._serving.features(batch)
        return Decision(lambda: self._decide(batch, row))

    def _batch(
        self, time_us: int, op: str, offset: int, size: int, volume: str = "", namespace: Text = None,
        user: Text = None, flags: Text = None,
    ) -> RequestBatch:  # fmt: skip
        import numpy as np

        from cachezoo.coded import Coded
        from cachezoo.serving.requests import RequestBatch

        names = {"namespace": namespace, "user": user, "flags": flags}
        texts = {name: Coded.of([text]) for name, text in names.items() if text is not None}
        number = (np.array([value], np.int64) for value in (time_us, offset, size))
        at, start, length = number
        return RequestBatch(at, np.array([OPS[op]], np.uint8), start, length, Coded.of([volume]), **texts)

    @property
    def _by_lifetime(self) -> bool:
        return bool(self._bundle.manifest["policy"].get("type") == "lifetime_placement")

    def keep_write_rate(self, bytes_s: float) -> None:
        """As `cachezoo.runtime.model.Model.keep_write_rate`."""
        from cachezoo.errors import CachezooError

        if self._bundle.kind != "admission":
            raise RuntimeFault(f"streams of kind {self._bundle.kind} keep no write rate")
        try:
            self._serving.keep_write_rate(bytes_s)
        except CachezooError as error:
            raise RuntimeFault(str(error)) from error

    def wrote(self, time_us: int, score: float, missing: int, written: int) -> None:
        """As `cachezoo.runtime.model.Model.wrote`."""
        if missing < 0 or written < 0:
            raise RuntimeFault(f"wrote {written} of {missing} segments: there are none below 0")
        self._serving.wrote(time_us, score, missing, written)

    def placement(self, offset: int) -> int:
        """As `cachezoo.runtime.model.Model.placement`."""
        check_offset(offset)
        if self._bundle.kind != "streams":
            raise places_nothing(self._bundle.kind)
        if self._by_lifetime:
            raise RuntimeFault(NEEDS_THE_PAST)
        return int(self._serving.placement(offset))

    def place_pages(self, time_us: int, offset: int, size: int) -> tuple[int, ...]:
        """As `cachezoo.runtime.model.Model.place_pages`."""
        pages = pages_of(offset, size)
        if self._bundle.kind != "streams":
            raise places_nothing(self._bundle.kind)
        if not self._by_lifetime:
            return (self.placement(offset),) * pages
        return tuple(self._serving.place(self._batch(time_us, "write", offset, size)).tolist())

    def _decide(self, batch: RequestBatch, row: Any) -> Values:  # noqa: ANN401 - float32[1, F]
        if self._bundle.kind == "streams":
            return Values(False, 0, -1, (float(self._serving.placement(int(batch.offset[0]))),))
        score = float(self._serving.scores(row)[0])
        return Values(bool(batch.op[0] == 0 and score >= self._serving.threshold), 0, -1, (score,))

    def close(self) -> None:
        """Nothing is held that must be freed."""

    def __enter__(self) -> NumpyModel:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
