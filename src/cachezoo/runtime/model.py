"""A model at work: requests in, decisions out; and the cache that it decides for."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Optional, Union

from cachezoo.runtime import abi
from cachezoo.runtime.abi import RuntimeFault, call, checked

OPS = {"read": 0, "write": 1}
OUTCOMES = ("bypassed", "admitted", "hit")
MOST_VOTE_EVERY_S = 1 << 20
Path = Union[str, "os.PathLike[str]"]
Text = Optional[str]


class Values(NamedTuple):
    """What a model decides; see `Decision`."""

    admit: bool
    queue: int
    category: int
    outputs: tuple[float, ...]


class Decision:
    """What a model decides for one request. Values are computed when one of them is first read, and kept.

    Attributes:
        admit: whether what a read missed is worth admitting.
        queue: caching: 0 bypass, 1 soon, 2 mean, 3 late.
        category: workload: the category in force, by place in the bundle's classes; -1 none yet, -2 unknown.
        outputs: of the model; streams: the one stream, as `Model.placement` gives it.
    """

    def __init__(self, decide: Callable[[], Values]) -> None:
        """Take what computes the values."""
        self._decide: Callable[[], Values] | None = decide
        self._values: Values | None = None

    @property
    def values(self) -> Values:
        """All of them."""
        if self._values is None:
            assert self._decide is not None
            self._values, self._decide = self._decide(), None
        return self._values

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401 - the value's own type
        if name in Values._fields:
            return getattr(self.values, name)
        raise AttributeError(f"a decision has no {name}")

    def __repr__(self) -> str:
        return f"Decision({', '.join(f'{name}={value}' for name, value in self.values._asdict().items())})"


class Unit(NamedTuple):
    """A page or segment that was used, entered or left; `number` is its byte offset over the unit's bytes."""

    volume: int
    number: int
    slot: int
    outcome: str
    dirty: bool
    prefetched: bool


class Access(NamedTuple):
    """What became of one request."""

    hits: int
    misses: int
    units: tuple[Unit, ...]
    victims: tuple[Unit, ...]


class Following(NamedTuple):
    """Which model decides, of those that take turns (`Cache.follow`).

    Attributes:
        category: in force for the last request; None before the first vote, and where it is unknown.
        decides: category whose model decides; None: the cache's own model, as it began.
        takeovers: models that took over.
        asked: last requests of resident pages that they were asked about then.
        moved: pages that changed their queue then.
    """

    category: str | None
    decides: str | None
    takeovers: int
    asked: int
    moved: int


def _units(rows: Any, count: int) -> tuple[Unit, ...]:  # noqa: ANN401 - a pointer of ctypes
    return tuple(
        Unit(row.volume, row.number, row.slot, OUTCOMES[row.outcome], bool(row.dirty), bool(row.prefetched))
        for row in (rows[k] for k in range(count))
    )


NEEDS_THE_PAST = "this model places a write by what was written before; pass every write to place_pages"


def check_offset(offset: int) -> None:
    """Refuse what no write begins at.

    Raises:
        RuntimeFault: it is negative, or has more than 63 bits.
    """
    if not 0 <= offset < 1 << 63:
        raise RuntimeFault(f"offset {offset}: a write begins at byte 0 to 2**63 - 1 of its volume")


FLASH_PAGE = 8192  # bytes of a page of flash, which streams are chosen for


def pages_of(offset: int, size: int) -> int:
    """How many flash pages a write touches.

    Raises:
        RuntimeFault: no write is there.
    """
    check_offset(offset)
    if size < 1:
        raise RuntimeFault(f"a write of {size} bytes: it has at least 1")
    return (offset + size - 1) // FLASH_PAGE - offset // FLASH_PAGE + 1


def places_nothing(kind: str) -> RuntimeFault:
    """What a model of another kind answers to `placement`."""
    return RuntimeFault(f"a model of kind {kind} places no writes; open a bundle of kind streams")


class Owner:
    """Something of the library's that must be freed once."""

    def __init__(self, library: Any, free: str, handle: ctypes.c_void_p) -> None:  # noqa: ANN401 - ctypes.CDLL
        self.library, self._free, self._handle = library, free, handle

    @property
    def handle(self) -> ctypes.c_void_p:
        """For the library.

        Raises:
            RuntimeFault: it was closed.
        """
        if not self._handle:
            raise RuntimeFault("it is closed; make or open it again")
        return self._handle

    def close(self) -> None:
        """Free it; a second call does nothing."""
        if self._handle:
            getattr(self.library, self._free)(self._handle)
            self._handle = ctypes.c_void_p()

    def __del__(self) -> None:
        self.close()


def bundle_of(library: Any, path: Path, precision: str, key: Path | None) -> Owner:  # noqa: ANN401 - ctypes.CDLL
    """A bundle that is read and checked; see `open`."""
    bundle, names = ctypes.c_void_p(), (os.fsencode(path), None if key is None else os.fsencode(key))
    call(library.cz_open_signed, *names, abi.PRECISIONS.index(precision), ctypes.byref(bundle))
    return Owner(library, "cz_close", bundle)


def policy_of(library: Any, text: str) -> Owner:  # noqa: ANN401 - ctypes.CDLL
    """A bundle of a classic, without files; see `policy`."""
    bundle = ctypes.c_void_p()
    call(library.cz_policy, text.encode("utf-8"), ctypes.byref(bundle))
    return Owner(library, "cz_close", bundle)


class Model:
    """A bundle and what it has seen so far. One thread at a time may use it."""

    def __init__(self, bundle: Owner, capacity: int | None, max_keys: int) -> None:
        """Take a bundle of `bundle_of` or `policy_of`; see `open`."""
        self._library, self._bundle = bundle.library, bundle
        self._options = abi.StreamOptions(max_keys, 0, capacity or 0)
        self._retired: list[Owner] = []
        self._stream = self._new_stream()
        self._codes: dict[tuple[int, str], int] = {}

    def _new_stream(self) -> Owner:
        stream = ctypes.c_void_p()
        call(self._library.cz_stream_new, self._bundle.handle, ctypes.byref(self._options), ctypes.byref(stream))
        return Owner(self._library, "cz_stream_free", stream)

    @property
    def info(self) -> dict[str, Any]:
        """What the bundle says of itself: id, version, kind, category, profile, digests, geometry, threshold.

        `release` is the number of the signed release that has it; 0 where no key is set.
        """
        found = abi.Info()
        self._library.cz_bundle_info(self._bundle.handle, ctypes.byref(found))
        texts = ("id", "version", "category", "profile", "digest", "model_digest", "prefetch")
        values: dict[str, Any] = {name: (getattr(found, name) or b"").decode("utf-8") for name in texts}
        numbers = ("protocol", "features", "outputs", "page_bytes", "segment_bytes", "block_bytes", "threshold")
        values.update({name: getattr(found, name) for name in numbers})
        release = int(self._library.cz_bundle_release(self._bundle.handle))
        return {**values, "kind": abi.KINDS[found.kind], "release": release}

    @property
    def calibrated(self) -> bool:
        """False where the thresholds were chosen for caches that are smaller, or larger, against what is used of late.

        Of kind caching, and of the last request; while a cache fills for the first time it seems large.
        """
        return bool(self._library.cz_calibrated(self._stream.handle))

    def _code(self, column: int, text: str | None) -> int:
        if text is None:
            return abi.UNKNOWN
        code = self._codes.get((column, text))
        if code is None:
            code = int(self._library.cz_intern(self._stream.handle, column, text.encode("utf-8")))
            self._codes[column, text] = code
        return code

    def request(
        self, time_us: int, op: str, offset: int, size: int, volume: str = "", namespace: Text = None,
        user: Text = None, flags: Text = None,
    ) -> abi.Request:  # fmt: skip
        """A request as the library takes it; the arguments are those of `observe`."""
        if op not in OPS:
            raise RuntimeFault(f"op {op!r}: a request is a read or a write")
        codes = (self._code(place, text) for place, text in enumerate((volume, namespace, user, flags)))
        return abi.Request(time_us, offset, size, *codes, OPS[op])

    def observe(
        self, time_us: int, op: str, offset: int, size: int, volume: str = "", namespace: Text = None,
        user: Text = None, flags: Text = None,
    ) -> Decision:  # fmt: skip
        """Pass the next request; every one of them, writes too.

        Args:
            time_us: µs, never falling.
            op: read or write.
            offset: bytes from the volume's start.
            size: bytes, at least 1.
            volume: name of the device.
            namespace: name, as the model's training traces had it; None where unknown, then the volume is used.
            user: process name, or None.
            flags: as block traces write them, or None.

        Returns:
            What the model says of it: its state is of this moment, also if later requests follow first.

        Raises:
            RuntimeFault: no request of a trace has such values.
        """
        ticket = abi.Ticket()
        request = self.request(time_us, op, offset, size, volume, namespace, user, flags)
        code = self._library.cz_observe(self._stream.handle, ctypes.byref(request), ctypes.byref(ticket))
        if code != 0:
            message = f"request at {offset} of {size} bytes, time {time_us}: a cache serves no such request"
            raise RuntimeFault(message)
        return Decision(lambda: self._decide(ticket))

    def _decide(self, ticket: abi.Ticket) -> Values:
        found = abi.Decided()
        code = self._library.cz_decide(self._stream.handle, ctypes.byref(ticket), ctypes.byref(found))
        checked(code)
        outputs = tuple(found.output[: self.info["outputs"]])
        return Values(
            bool(found.admit), found.queue, found.category, outputs
        )  # fmt: skip

    def keep_write_rate(self, bytes_s: float) -> None:
        """Let an admission model's threshold keep a write rate from the next request on; see `cz_write_rate`.

        Args:
            bytes_s: bytes of segments a second, of the requests' times; 0: decide by the bundle's threshold again.

        Raises:
            RuntimeFault: no such rate, a model of another kind, or a bundle of an earlier release.
        """
        call(self._library.cz_write_rate, self._stream.handle, bytes_s)

    def wrote(self, time_us: int, score: float, missing: int, written: int) -> None:
        """Say what became of a read that missed, for `keep_write_rate`; a `cache` of this model does so itself.

        Args:
            time_us: of the read.
            score: its decision's first output.
            missing: segments that it missed.
            written: segments that were written for it, prefetched ones included; 0 where it was not admitted.

        Raises:
            RuntimeFault: a negative number of segments.
        """
        if self._library.cz_wrote(self._stream.handle, time_us, score, missing, written) != 0:
            raise RuntimeFault(f"wrote {written} of {missing} segments: there are none below 0")

    def placement(self, offset: int) -> int:
        """The stream of a multi-stream SSD for a write that begins at a byte offset of the volume; kind streams alone.

        A write that spans several chunks goes to the stream of its first byte's; 0 where that chunk was not learned.

        Raises:
            RuntimeFault: no such offset, or a model of another kind.
        """
        check_offset(offset)
        found = int(self._library.cz_placement(self._bundle.handle, offset))
        if found < 0:
            kind = self.info["kind"]
            raise RuntimeFault(NEEDS_THE_PAST) if kind == "streams" else places_nothing(kind)
        return found

    def place_pages(self, time_us: int, offset: int, size: int) -> tuple[int, ...]:
        """The stream of each flash page of 8 KiB that the next write touches; kind streams alone.

        Pass every write, in order; afterwards it is part of the past. It takes the place of `observe`.

        Raises:
            RuntimeFault: no such write, or a model of another kind.
        """
        pages = pages_of(offset, size)
        if self.info["kind"] != "streams":
            raise places_nothing(self.info["kind"])
        found = (ctypes.c_uint8 * pages)()
        request = self.request(time_us, "write", offset, size)
        if self._library.cz_place_pages(self._stream.handle, ctypes.byref(request), found, pages) != pages:
            raise RuntimeFault(f"write at {offset} of {size} bytes, time {time_us}: no trace has such a write")
        return tuple(found)

    def decision_seconds(self, requests: list[abi.Request]) -> list[float]:
        """Observe requests, decide on each, and time both together; ctypes' own time, about 1 us, is in it."""
        ticket, found, taken = abi.Ticket(), abi.Decided(), []
        observe, decide, stream = self._library.cz_observe, self._library.cz_decide, self._stream.handle
        to_ticket, to_found = ctypes.byref(ticket), ctypes.byref(found)
        for request in requests:
            given = ctypes.byref(request)
            start = time.perf_counter()
            code = observe(stream, given, to_ticket) or decide(stream, to_ticket, to_found)
            taken.append(time.perf_counter() - start)
            checked(code)
        return taken

    def cache(self, capacity: int, writes: str | None = None) -> Cache:
        """A cache of so many units that this model decides for, with its own fresh history.

        Args:
            capacity: pages, or segments in a flash cache.
            writes: `around`, `through` or `back`; None is around of a flash cache, back of a page cache.

        Raises:
            RuntimeFault: the model decides nothing about such a cache.
        """
        how = abi.WRITES[0] if writes is None else writes
        if how not in abi.WRITES:
            raise RuntimeFault(f"writes {how!r}: there are {', '.join(abi.WRITES[1:])}")
        return Cache(self, capacity, abi.WRITES.index(how))

    def verify(self) -> dict[str, float]:
        """Recompute the bundle's golden rows.

        Returns:
            `rows`, `cases`, `output_difference`, `agreement`.

        Raises:
            RuntimeFault: the first row that is not reproduced.
        """
        report = abi.Report()
        call(self._library.cz_verify, self._bundle.handle, ctypes.byref(report))
        return {name: getattr(report, name) for name in ("rows", "cases", "output_difference", "agreement")}

    def save(self, path: Path) -> None:
        """Write what was seen to a file, whole or not at all."""
        call(self._library.cz_save, self._stream.handle, os.fsencode(path))

    def restore(self, path: Path) -> None:
        """Go on from a file that `save` wrote; on failure nothing changes."""
        call(self._library.cz_restore, self._stream.handle, os.fsencode(path))
        self._codes.clear()

    def swap(self, other: Model) -> None:
        """Go on with another model of the same kind and inputs, without losing what was seen."""
        call(self._library.cz_swap, self._stream.handle, other._bundle.handle)
        self._retired.append(self._bundle)
        self._bundle = other._bundle

    def vote_every(self, seconds: int | None) -> None:
        """Begin a vote at most once in so many seconds of the requests' times; kind workload alone.

        Args:
            seconds: 0 to 2**20; 0: votes follow on one another, None: as the bundle says. A vote that has begun goes
                on.

        Raises:
            RuntimeFault: another number, or a model of another kind.
        """
        given = -1 if seconds is None else seconds if 0 <= seconds <= MOST_VOTE_EVERY_S else -2
        if self._library.cz_vote_every(self._stream.handle, given) != 0:
            takes = f"a model of kind workload takes 0 to {MOST_VOTE_EVERY_S} s"
            kind = self.info["kind"]
            raise RuntimeFault(f"vote_every {seconds} s: {takes}{'' if kind == 'workload' else f'; it is {kind}'}")

    def virtual_settings(self) -> abi.VirtualSettings:
        """The library's settings of a virtual cache, with the profile, for `cachezoo.runtime.virtual`.

        Raises:
            RuntimeFault: the model is of another kind.
        """
        found = abi.VirtualSettings()
        call(self._library.cz_virtual_settings_of, self._bundle.handle, ctypes.byref(found))
        return found

    def stats(self) -> dict[str, int]:
        """Counters of the library's `cz_stats`."""
        found = abi.Counters()
        self._library.cz_stats(self._stream.handle, ctypes.byref(found))
        return {name: int(getattr(found, name)) for name in abi.COUNTERS}

    def close(self) -> None:
        """Free the stream; the bundle goes with its last user."""
        self._stream.close()

    def __enter__(self) -> Model:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Cache:
    """What is resident, as the model decides."""

    def __init__(self, model: Model, capacity: int, writes: int) -> None:
        """See `Model.cache`."""
        self._model, library = model, model._library
        options = abi.CacheOptions(mode=abi.MODES.index("model"), capacity=capacity)
        streams = (ctypes.c_void_p * 2)(model._stream.handle, None)
        cache, given = ctypes.c_void_p(), ctypes.cast(streams, ctypes.POINTER(ctypes.c_void_p))
        call(library.cz_cache_new_writes, ctypes.byref(options), writes, given, ctypes.byref(cache))
        self._cache = Owner(library, "cz_cache_free", cache)
        self._monitor: Model | None = None
        self._turns: tuple[Owner, ...] = ()

    def follow(self, monitor: Model, models: Sequence[Model]) -> None:
        """Let models of kind caching take turns: a workload model says whose category it is.

        Pages stay where another takes over; it decides on the last request of each, and the queues are filled anew.

        Args:
            monitor: of kind workload; its stream is the cache's from here on.
            models: each of another category of the monitor's; their bundles alone are used.

        Raises:
            RuntimeFault: the cache has served a request, or a model does not fit; nothing has changed.
        """
        bundles = (ctypes.c_void_p * len(models))(*(model._bundle.handle for model in models))
        given = ctypes.cast(bundles, ctypes.POINTER(ctypes.c_void_p))
        library, handle = self._model._library, monitor._stream.handle
        call(library.cz_cache_follow, self._cache.handle, handle, given, len(models))
        self._monitor, self._turns = monitor, tuple(model._bundle for model in models)

    def following(self) -> Following:
        """Which model decides.

        Raises:
            RuntimeFault: none take turns.
        """
        found, library = abi.Following(), self._model._library
        if self._monitor is None or library.cz_cache_following(self._cache.handle, ctypes.byref(found)) != 0:
            raise RuntimeFault("no models take turns in this cache; call follow")
        named = (library.cz_category(self._monitor._bundle.handle, place) for place in (found.category, found.decides))
        category, decides = (None if name is None else name.decode("utf-8") for name in named)
        return Following(category, decides, found.takeovers, found.asked, found.moved)

    def access(
        self, time_us: int, op: str, offset: int, size: int, volume: str = "", namespace: Text = None,
        user: Text = None, flags: Text = None,
    ) -> Access:  # fmt: skip
        """Serve a request; `Model.observe` has the arguments, and must not be called as well."""
        row, request = abi.AccessRow(), self._model.request(time_us, op, offset, size, volume, namespace, user, flags)
        library = self._model._library
        if self._monitor is not None:
            self._monitor._code(0, volume)  # it numbers volumes by their first appearance, as the model does
        code = library.cz_cache_access(self._cache.handle, ctypes.byref(request), ctypes.byref(row))
        if code != 0:
            message = f"request at {offset} of {size} bytes, time {time_us}: a cache serves no such request"
            raise RuntimeFault(message)
        return Access(row.hits, row.misses, _units(row.units, row.n_units), _units(row.victims, row.n_victims))

    def stats(self) -> dict[str, int]:
        """Counters of the library's `cz_cache_stats`."""
        found = abi.Counters()
        self._model._library.cz_cache_stats(self._cache.handle, ctypes.byref(found))
        return {name: int(getattr(found, name)) for name in abi.COUNTERS}

    def close(self) -> None:
        """Free the cache."""
        self._cache.close()
