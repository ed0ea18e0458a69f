"""libcachezoo's structures and functions as ctypes sees them; they are those of runtimes/c/include/cachezoo.h."""

from __future__ import annotations

import ctypes
import os
from ctypes import POINTER, c_char, c_char_p, c_double, c_float, c_int, c_int32, c_int64, c_uint8, c_uint64, c_void_p
from pathlib import Path
from typing import Any

NAME = "libcachezoo.so.1"
VARIABLE = "CACHEZOO_LIBRARY"
MAX_FEATURES, MAX_OUTPUTS, TEXT = 64, 16, 512
UNKNOWN = -1
KINDS = {
    1: "workload", 2: "caching", 3: "admission", 5: "reuse", 6: "streams", 7: "virtual", 8: "policy",
}  # fmt: skip
COLUMNS = ("volume", "namespace", "user", "flags")
PRECISIONS = ("fp32", "bf16", "int8")
MODES = ("lru", "rejectx", "model")
WRITES = ("usual", "around", "through", "back")
MOST_RUNS = 16


class RuntimeFault(Exception):
    """A bundle, a call or a state that is refused; one line says what and where."""


class Error(ctypes.Structure):
    """cz_error."""

    _fields_ = [("code", c_int), ("text", c_char * TEXT)]


class Info(ctypes.Structure):
    """cz_info."""

    _fields_ = [
        ("protocol", c_int),
        ("kind", c_int),
        ("id", c_char_p),
        ("version", c_char_p),
        ("category", c_char_p),
        ("profile", c_char_p),
        ("digest", c_char * 65),
        ("model_digest", c_char * 65),
        ("features", c_int32),
        ("outputs", c_int32),
        ("page_bytes", c_int64),
        ("segment_bytes", c_int64),
        ("block_bytes", c_int64),
        ("threshold", c_double),
        ("prefetch", c_char_p),
    ]


class Report(ctypes.Structure):
    """cz_report."""

    _fields_ = [("rows", c_int64), ("cases", c_int64), ("output_difference", c_double), ("agreement", c_double)]


class StreamOptions(ctypes.Structure):
    """cz_stream_options."""

    _fields_ = [("max_keys", c_int64), ("max_names", c_int32), ("capacity", c_int64)]


class Request(ctypes.Structure):
    """cz_request."""

    _fields_ = [
        ("time_us", c_int64),
        ("offset", c_int64),
        ("size", c_int64),
        ("volume", c_int32),
        ("name_space", c_int32),
        ("user", c_int32),
        ("flags", c_int32),
        ("op", c_uint8),
    ]


class Ticket(ctypes.Structure):
    """cz_ticket."""

    _fields_ = [
        ("number", c_uint64),
        ("request", Request),
        ("row", c_float * MAX_FEATURES),
        ("output", c_double * MAX_OUTPUTS),
        ("category", c_int32),
    ]


class Decided(ctypes.Structure):
    """cz_decision."""

    _fields_ = [
        ("admit", c_int32),
        ("queue", c_int32),
        ("low", c_int32),
        ("high", c_int32),
        ("fetch", c_int32),
        ("category", c_int32),
        ("output", c_double * MAX_OUTPUTS),
    ]


class CacheOptions(ctypes.Structure):
    """cz_cache_options."""

    _fields_ = [
        ("mode", c_int),
        ("capacity", c_int64),
        ("unit_bytes", c_int64),
        ("block_bytes", c_int64),
        ("window", c_int64),
        ("max_misses", c_int64),
        ("max_request", c_int64),
        ("prefetch", c_char_p),
    ]


class UnitRow(ctypes.Structure):
    """cz_unit."""

    _fields_ = [
        ("number", c_int64),
        ("volume", c_int32),
        ("slot", c_int32),
        ("outcome", c_uint8),
        ("dirty", c_uint8),
        ("prefetched", c_uint8),
    ]


class AccessRow(ctypes.Structure):
    """cz_access."""

    _fields_ = [
        ("hits", c_int32),
        ("misses", c_int32),
        ("io_units", c_int32),
        ("written", c_int32),
        ("prefetched", c_int32),
        ("evicted", c_int32),
        ("units", POINTER(UnitRow)),
        ("n_units", c_int64),
        ("victims", POINTER(UnitRow)),
        ("n_victims", c_int64),
        ("decision", Decided),
        ("asked", c_int32),
    ]


class VirtualSettings(ctypes.Structure):
    """cz_virtual_settings."""

    _fields_ = [
        ("queue", c_int32),
        ("fragment", c_int32),
        ("runs", c_int32),
        ("pages", c_int64),
        ("quantum", c_int64),
        ("decay", c_double),
        ("cost", c_double),
        ("profile", POINTER(c_double)),
    ]


class PlaceRow(ctypes.Structure):
    """cz_place."""

    _fields_ = [("position", c_int32), ("hit", c_int32), ("moved", c_int32)]


class Run(ctypes.Structure):
    """cz_run."""

    _fields_ = [("low", c_int64), ("high", c_int64)]


class ShareOptions(ctypes.Structure):
    """cz_share_options."""

    _fields_ = [("pages", c_int64), ("step", c_int32), ("reach", c_int32), ("fill", c_double)]


class TenantRow(ctypes.Structure):
    """cz_tenant."""

    _fields_ = [("policy", c_char_p), ("pages", c_int64)]


class TenantsOptions(ctypes.Structure):
    """cz_tenants_options."""

    _fields_ = [
        ("how", c_int32),
        ("pages", c_int64),
        ("policy", c_char_p),
        ("each", POINTER(TenantRow)),
        ("fragment", c_int32),
        ("window", c_int64),
        ("remembered", c_int64),
    ]


class TenantPage(ctypes.Structure):
    """cz_tenant_page."""

    _fields_ = [("key", c_uint64), ("tenant", c_int32)]


class TenantAccess(ctypes.Structure):
    """cz_tenant_access."""

    _fields_ = [("outcome", c_int32), ("victims", POINTER(TenantPage)), ("n_victims", c_int64)]


class Following(ctypes.Structure):
    """cz_following."""

    _fields_ = [
        ("category", c_int32),
        ("decides", c_int32),
        ("takeovers", c_uint64),
        ("asked", c_uint64),
        ("moved", c_uint64),
    ]


COUNTERS = (
    "requests", "decisions", "units", "hits", "admitted", "prefetched", "evicted", "dirty_evicted", "bypassed",
    "forgotten", "keys", "bytes",
)  # fmt: skip


class Counters(ctypes.Structure):
    """cz_counters."""

    _fields_ = [(name, c_uint64) for name in COUNTERS]


FUNCTIONS: dict[str, tuple[Any, list[Any]]] = {
    "cz_version": (c_char_p, []),
    "cz_open": (c_int, [c_char_p, c_int, POINTER(c_void_p), POINTER(Error)]),
    "cz_open_signed": (c_int, [c_char_p, c_char_p, c_int, POINTER(c_void_p), POINTER(Error)]),
    "cz_policy": (c_int, [c_char_p, POINTER(c_void_p), POINTER(Error)]),
    "cz_bundle_release": (c_int64, [c_void_p]),
    "cz_close": (None, [c_void_p]),
    "cz_bundle_info": (None, [c_void_p, POINTER(Info)]),
    "cz_verify": (c_int, [c_void_p, POINTER(Report), POINTER(Error)]),
    "cz_calibrated": (c_int, [c_void_p]),
    "cz_placement": (c_int, [c_void_p, c_uint64]),
    "cz_place_pages": (c_int64, [c_void_p, POINTER(Request), POINTER(c_uint8), c_int64]),
    "cz_virtual_settings_of": (c_int, [c_void_p, POINTER(VirtualSettings), POINTER(Error)]),
    "cz_virtual_new": (c_int, [POINTER(VirtualSettings), c_int64, POINTER(c_void_p), POINTER(Error)]),
    "cz_virtual_free": (None, [c_void_p]),
    "cz_virtual_reference": (c_int, [c_void_p, c_uint64, POINTER(PlaceRow)]),
    "cz_virtual_runs": (c_int, [c_void_p, POINTER(Run)]),
    "cz_virtual_save": (c_int, [c_void_p, c_char_p, POINTER(Error)]),
    "cz_virtual_restore": (c_int, [c_void_p, c_char_p, POINTER(Error)]),
    "cz_share_new": (
        c_int,
        [POINTER(ShareOptions), POINTER(VirtualSettings), c_int32, POINTER(c_void_p), POINTER(Error)],
    ),
    "cz_share_free": (None, [c_void_p]),
    "cz_share_reference": (c_int, [c_void_p, c_int32, c_uint64, POINTER(PlaceRow)]),
    "cz_share_pages": (c_int64, [c_void_p, c_int32]),
    "cz_share_runs": (c_int, [c_void_p, c_int32, POINTER(Run)]),
    "cz_share_save": (c_int, [c_void_p, c_char_p, POINTER(Error)]),
    "cz_share_restore": (c_int, [c_void_p, c_char_p, POINTER(Error)]),
    "cz_tenants_new": (c_int, [POINTER(TenantsOptions), c_int32, POINTER(c_void_p), POINTER(Error)]),
    "cz_tenants_free": (None, [c_void_p]),
    "cz_tenants_reference": (c_int, [c_void_p, c_int32, c_uint64, POINTER(TenantAccess)]),
    "cz_tenants_pages": (c_int64, [c_void_p, c_int32]),
    "cz_tenants_resident": (c_int64, [c_void_p, c_int32]),
    "cz_tenants_save": (c_int, [c_void_p, c_char_p, POINTER(Error)]),
    "cz_tenants_restore": (c_int, [c_void_p, c_char_p, POINTER(Error)]),
    "cz_stream_new": (c_int, [c_void_p, POINTER(StreamOptions), POINTER(c_void_p), POINTER(Error)]),
    "cz_stream_free": (None, [c_void_p]),
    "cz_intern": (c_int32, [c_void_p, c_int, c_char_p]),
    "cz_observe": (c_int, [c_void_p, POINTER(Request), POINTER(Ticket)]),
    "cz_decide": (c_int, [c_void_p, POINTER(Ticket), POINTER(Decided)]),
    "cz_write_rate": (c_int, [c_void_p, c_double, POINTER(Error)]),
    "cz_wrote": (c_int, [c_void_p, c_int64, c_double, c_int64, c_int64]),
    "cz_cache_new": (c_int, [POINTER(CacheOptions), POINTER(c_void_p), POINTER(c_void_p), POINTER(Error)]),
    "cz_cache_new_writes": (
        c_int,
        [POINTER(CacheOptions), c_int, POINTER(c_void_p), POINTER(c_void_p), POINTER(Error)],
    ),
    "cz_cache_follow": (c_int, [c_void_p, c_void_p, POINTER(c_void_p), c_int32, POINTER(Error)]),
    "cz_cache_following": (c_int, [c_void_p, POINTER(Following)]),
    "cz_vote_every": (c_int, [c_void_p, c_int64]),
    "cz_category": (c_char_p, [c_void_p, c_int32]),
    "cz_cache_free": (None, [c_void_p]),
    "cz_cache_access": (c_int, [c_void_p, POINTER(Request), POINTER(AccessRow)]),
    "cz_stats": (None, [c_void_p, POINTER(Counters)]),
    "cz_cache_stats": (None, [c_void_p, POINTER(Counters)]),
    "cz_save": (c_int, [c_void_p, c_char_p, POINTER(Error)]),
    "cz_restore": (c_int, [c_void_p, c_char_p, POINTER(Error)]),
    "cz_swap": (c_int, [c_void_p, c_void_p, POINTER(Error)]),
}


def opened(place: str) -> Any:  # noqa: ANN401 - ctypes.CDLL with its functions typed
    """A library by its name or path.

    Raises:
        OSError, AttributeError: it is none, or of another release.
    """
    found = ctypes.CDLL(place)
    for name, (result, arguments) in FUNCTIONS.items():
        function = getattr(found, name)
        function.restype, function.argtypes = result, arguments
    return found


def library() -> Any | None:  # noqa: ANN401 - ctypes.CDLL with its functions typed
    """The library: the one that CACHEZOO_LIBRARY names, else the one next to this file, else the system's.

    Returns:
        None where there is none.

    Raises:
        RuntimeFault: CACHEZOO_LIBRARY names a file that is no such library.
    """
    named = os.environ.get(VARIABLE)
    packed = Path(__file__).with_name(NAME)
    place = named or (str(packed) if packed.exists() else NAME)
    try:
        return opened(place)
    except (OSError, AttributeError) as error:
        if named is None and not packed.exists():
            return None
        message = f"{place}: is no libcachezoo of this release ({error}); build it with make -C runtimes/c"
        raise RuntimeFault(message) from error


def checked(code: int, text: bytes = b"") -> None:
    """Raise what the library answered, if it is not CZ_OK.

    Raises:
        RuntimeFault: the text, or the code where there is none.
    """
    if code != 0:
        raise RuntimeFault(text.decode("utf-8", "replace") or f"libcachezoo answered {code}")


def call(function: Any, *given: Any) -> None:  # noqa: ANN401 - a function of ctypes and its arguments
    """Call a function that takes a cz_error after its other arguments.

    Raises:
        RuntimeFault: what the error says.
    """
    error = Error()
    checked(function(*given, ctypes.byref(error)), error.text)
