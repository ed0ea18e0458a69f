"""libCacheSim's Python package: its readers' requests as traces, and caches of this package as its plug-ins.

Nothing of that package is imported: a reader is what can be reset, read by one request, and iterated (its
`ReaderProtocol`), and a plug-in is the functions that its `PluginCache` and `PluginAdmissioner` take.

Source: Yang et al., libCacheSim, https://github.com/1a1a11a/libCacheSim; its Python package, version 0.3.5.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import numpy as np

import cachezoo.runtime as runtime
from cachezoo.arrays import I64
from cachezoo.errors import ConfigError
from cachezoo.policies.admissions import ACCEPT_ALL
from cachezoo.policies.prefetches import NONE
from cachezoo.policies.registry import policy
from cachezoo.sizes import PAGE_BYTES
from cachezoo.traces.objects import NO_TTL

COLUMNS = "time=clock_time:s,key=obj_id,size=obj_size,op=op,ttl=ttl"
OPS = {
    **dict.fromkeys(("NOP", "GET", "GETS", "READ"), "read"),
    **dict.fromkeys(("SET", "ADD", "CAS", "REPLACE", "APPEND", "PREPEND", "INCR", "DECR", "WRITE", "UPDATE"), "write"),
    "DELETE": "delete",
}
KINDS = ("caching", "reuse", "policy")  # of bundles that decide for a cache of pages
DATA = 0  # what libCacheSim keeps for its functions' first argument, which they do not need


class Request(Protocol):
    """A request of libCacheSim's."""

    clock_time: int  # s
    obj_id: int
    obj_size: int  # bytes
    op: Any  # a member of its enumeration `ReqOp`
    ttl: int  # s


class Reader(Protocol):
    """What gives requests one by one, and then stops, or gives one that is not valid."""

    def reset(self) -> None:
        """Begin again."""

    def __iter__(self) -> Iterator[Request]: ...


def is_reader(source: object) -> bool:
    """Whether something is a reader of libCacheSim's."""
    return all(callable(getattr(source, name, None)) for name in ("reset", "read_one_req", "__iter__"))


def _requests(reader: Reader) -> Iterator[Request]:
    """A reader's requests from the first one on; it is reset after them. Its clones may give others."""
    reader.reset()
    for request in reader:
        if not getattr(request, "valid", True):
            break
        yield request
    reader.reset()


def _op_of(request: Request) -> str:
    """`read`, `write` or `delete`.

    Raises:
        ConfigError: another op.
    """
    name = str(request.op.name).removeprefix("OP_")
    if name not in OPS:
        raise ConfigError(f"the request of object {request.obj_id} has the op {name}; use {', '.join(OPS)}")
    return OPS[name]


def table_of(reader: Reader) -> dict[str, Any]:
    """A reader's requests as columns: `clock_time`, `obj_id`, `obj_size`, `op` in words, `ttl` (0 never).

    Raises:
        ConfigError: an op that is none of a cache.
    """
    numbers, ops = list[tuple[int, int, int, int]](), list[str]()
    for request in _requests(reader):
        ops.append(_op_of(request))
        numbers.append((request.clock_time, request.obj_id, request.obj_size, max(request.ttl, NO_TTL)))
    time, key, size, ttl = zip(*numbers, strict=True) if numbers else ((), (), (), ())
    return {
        "clock_time": np.array(time, np.int64), "obj_id": _ids(key), "obj_size": np.array(size, np.int64),
        "op": np.array(ops, np.str_), "ttl": np.array(ttl, np.int64),
    }  # fmt: skip


def _ids(keys: tuple[int, ...]) -> I64:
    """Ids of 64 bits; those above 2^63 by their bits, as files of libCacheSim's are read."""
    return np.array(keys, np.uint64).view(np.int64) if keys and min(keys) >= 0 else np.array(keys, np.int64)


class Plugin:
    """A cache that decides for libCacheSim's, whose objects all have one size.

    libCacheSim says whether an object is there. Where it is not, it asks its admissioner whether the object enters,
    then, as long as there is no room, which one leaves, and says at last that it missed, whether it entered or not. The
    cache here serves the request at the first of these, and answers the others by what it did.

    Attributes:
        cache: the arguments of `PluginCache`, by keyword; `admissioner` is not among them.
        admissioner: the arguments of `PluginAdmissioner`, by keyword; None where all that misses enters. `of` makes
            both: version 0.3.5 ends in a segmentation fault where nothing keeps the admissioner, or its compiled
            `process_trace` calls it.
    """

    def __init__(
        self, name: str, cache_size: int, object_bytes: int, make: Callable[[], "Server"], refuses: bool
    ) -> None:  # fmt: skip
        """See `plugin`; `make` gives an empty cache, which may refuse what misses."""
        self._object_bytes, self._make = object_bytes, make
        self._begin(None)
        self.cache: dict[str, Any] = {
            "cache_size": cache_size, "cache_init_hook": self._begin, "cache_hit_hook": self._hit,
            "cache_miss_hook": self._miss, "cache_eviction_hook": self._evict, "cache_remove_hook": self._remove,
            "cache_free_hook": self._free, "cache_name": name,
        }  # fmt: skip
        self.admissioner: dict[str, Any] | None = None
        if refuses:
            unused = dict.fromkeys(("init", "clone", "update", "free"), _nothing)
            hooks = {f"admissioner_{name}_hook": function for name, function in unused.items()}
            self.admissioner = {"admissioner_name": name, "admissioner_admit_hook": self._admit, **hooks}

    def of(self, package: Any) -> Any:  # noqa: ANN401 - the module `libcachesim`, and its cache
        """The cache of libCacheSim; with an admissioner it processes a trace request by request in Python."""
        if self.admissioner is None:
            return package.PluginCache(**self.cache)
        self._kept = package.PluginAdmissioner(**self.admissioner)

        def process_trace(reader: Reader, start_req: int = 0, max_req: int = -1) -> tuple[float, float]:
            found: tuple[float, float] = cache._process_trace_python(reader, start_req, max_req)
            return found

        cache = package.PluginCache(**self.cache, admissioner=self._kept)
        cache.process_trace = process_trace
        return cache

    def _begin(self, _: object) -> int:
        """An empty cache."""
        self._server = self._make()
        self._leaving = dict[int, None]()  # objects that the cache has evicted and libCacheSim has not, oldest first
        self._removed = set[int]()  # objects that libCacheSim has removed, of which the cache does not know
        self._served: int | None = None  # the object that missed, where the cache has served it already
        return DATA

    def _serve(self, request: Request) -> bool:
        """Serve a request; whether its object is in the cache afterwards.

        Raises:
            ConfigError: its object has another size than all others, or it is a delete.
        """
        own, op = request.obj_id, _op_of(request)
        if request.obj_size != self._object_bytes:
            message = (
                f"object {own} has {request.obj_size} bytes and not {self._object_bytes}: the cache is one of pages; "
                "read with ignore_obj_size=True and give object_bytes=1 and so many objects"
            )
            raise ConfigError(message)
        if op == "delete":
            raise ConfigError(f"object {own} is deleted by a request: a cache of pages has no deletes; leave them out")
        held, victims = self._server.serve(own, op, request.clock_time)
        self._removed.discard(own)
        self._leaving.pop(own, None)
        for victim in victims:
            if victim in self._removed:
                self._removed.discard(victim)
            else:
                self._leaving[victim] = None
        return held

    def _hit(self, _: object, request: Request) -> None:
        self._serve(request)

    def _admit(self, _: object, request: Request) -> bool:
        self._served = request.obj_id
        return self._serve(request)

    def _enter(self, request: Request) -> None:
        """Serve a request that missed, where that is not done.

        Raises:
            ConfigError: its object does not enter, and there is no admissioner to say so.
        """
        if self._served != request.obj_id:
            if not self._serve(request):
                message = (
                    f"object {request.obj_id} is not let in, which PluginCache alone cannot do: make the cache with "
                    "plugin(...).of(libcachesim)"
                )
                raise ConfigError(message)
            self._served = request.obj_id

    def _evict(self, _: object, request: Request) -> int:
        self._enter(request)
        if not self._leaving:
            message = "libCacheSim's cache is smaller than the plug-in's: make it with plugin(...).of(libcachesim)"
            raise ConfigError(message)
        own = next(iter(self._leaving))
        del self._leaving[own]
        return own

    def _miss(self, _: object, request: Request) -> None:
        self._enter(request)
        self._served = None

    def _remove(self, _: object, obj_id: int) -> None:
        if obj_id in self._leaving:
            del self._leaving[obj_id]
        else:
            self._removed.add(obj_id)

    def _free(self, _: object) -> None:
        self._server.close()


def _nothing(*_: object) -> int:
    """What an admissioner has to say of its data."""
    return DATA


class Server:
    """A cache of `cachezoo.runtime`'s with a page for each object."""

    def __init__(self, model: runtime.Model, capacity: int, addresses: bool) -> None:
        """See `plugin`."""
        self._model, self._cache = model, model.cache(capacity)
        self._addresses = addresses
        self._pages, self._objects = dict[int, int](), list[int]()
        self._time_us = 0

    def serve(self, own: int, op: str, clock_time: int) -> tuple[bool, list[int]]:
        """Whether an object is in the cache after a request of it, and which objects left.

        Args:
            own: the object.
            op: read or write.
            clock_time: s.
        """
        if self._addresses:
            page = own
        elif (found := self._pages.get(own)) is not None:
            page = found
        else:
            page = self._pages[own] = len(self._objects)
            self._objects.append(own)
        self._time_us = max(self._time_us, clock_time * 1_000_000)
        access = self._cache.access(self._time_us, op, page * PAGE_BYTES, PAGE_BYTES)
        held = any(unit.number == page and unit.outcome != "bypassed" for unit in access.units)
        left = [victim.number for victim in access.victims if not (held and victim.number == page)]
        return held, left if self._addresses else [self._objects[number] for number in left]

    def close(self) -> None:
        """Free it."""
        self._cache.close()
        self._model.close()


def plugin(
    what: str | Path, n_bytes: int, *, object_bytes: int = PAGE_BYTES, addresses: bool = False, max_keys: int = 0
) -> Plugin:
    """A bundle of the zoo, or a policy, as a plug-in of libCacheSim's Python package.

        import libcachesim as lcs

        plugin("s3fifo", 64 << 20).of(lcs).process_trace(reader)

    It runs in `cachezoo.runtime`, which needs libcachezoo (docs/deploy.md), as a cache of pages: all objects have one
    size.

    Args:
        what: a bundle's folder or .zip, of kind caching, reuse or policy; or `s3fifo`, `coinflip(p=0.5)+arc` and the
            like, without prefetch.
        n_bytes: of libCacheSim's cache.
        object_bytes: of every object; 1, and `n_bytes` a number of objects, where the reader ignores sizes.
        addresses: whether ids are numbers of pages on a disk. What a model of a bundle sees of a page is where it lies,
            so that a bundle needs them.
        max_keys: as of `cachezoo.runtime.open`.

    Raises:
        ConfigError: an unknown policy, one that reads ahead, a bundle that decides nothing here, or one of ids that are
            no addresses; there is no library.
    """
    if object_bytes < 1 or n_bytes < object_bytes:
        raise ConfigError(f"a cache of {n_bytes} bytes holds no object of {object_bytes}; give a larger one")
    capacity, path = n_bytes // object_bytes, Path(what)
    is_bundle = path.exists()
    refuses = is_bundle or _refuses(str(what))
    if is_bundle and not addresses:
        message = f"{what}: a bundle sees where a page lies; give addresses=True where ids are numbers of pages"
        raise ConfigError(message)

    def make() -> Server:
        try:
            if not is_bundle:
                return Server(runtime.policy(str(what), capacity, max_keys=max_keys), capacity, addresses)
            model = runtime.open(path, capacity, max_keys=max_keys)
            if not isinstance(model, runtime.Model) or model.info["kind"] not in KINDS:
                raise ConfigError(f"{what}: it runs no cache of pages; give a bundle of kind {', '.join(KINDS)}")
            return Server(model, capacity, addresses)
        except runtime.RuntimeFault as error:
            raise ConfigError(str(error)) from error

    return Plugin(path.name if is_bundle else str(what), n_bytes, object_bytes, make, refuses)


def _refuses(text: str) -> bool:
    """Whether a policy may refuse what misses.

    Raises:
        ConfigError: it is unknown, or reads ahead: libCacheSim's cache holds what was asked for alone.
    """
    spec = policy(text).spec
    if spec is None or spec.is_virtual:
        raise ConfigError(f"{text}: no plug-in runs it; give an eviction, with an admission or without")
    if spec.prefetch.id != NONE.id:
        raise ConfigError(f"{text}: libCacheSim's cache holds what was asked for alone; leave the prefetch out")
    return spec.admission.id != ACCEPT_ALL.id
