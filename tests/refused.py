"""Damage that every reader of bundles refuses: one table, for Python's reader, for libcachezoo, and for the fuzzers.

    python -m tests.refused FOLDER BUNDLE...    # as inputs of runtimes/c/fuzz/fuzz_sealed.c

A case changes one file of a stored bundle; then every checksum is made true again. It needs the standard library alone.
"""

import json
import re
import struct
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cache, partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from cachezoo.bundles.protocol import ACTING, ACTS, MANIFEST, PROTOCOL
from tests.sealed import files_of, sealed, with_seal

GOLDEN = Path(__file__).parent / "golden"
FOREST, TENSORS, REQUESTS, NUMBERS = (
    "model.lgb.txt", "weights.safetensors", "golden/requests.csv", "golden/outputs.npy",
)  # fmt: skip
Change = Callable[[bytes], bytes]


@dataclass(frozen=True)
class Case:
    """A bundle that is refused.

    Attributes:
        stored: folder of the bundle that is changed.
        file: the file of it that is changed.
        change: the file's new content, of the old one.
        says: a pattern that the one line of each reader holds.
        name: what is changed.
        resealed: whether the manifest's list is made true again; else its own seal alone.
    """

    stored: Path
    file: str
    change: Change
    says: str
    name: str
    resealed: bool = True

    def content(self) -> bytes:
        """The changed file."""
        return self.change(_files(self.stored)[self.file])

    def files(self) -> dict[str, bytes]:
        """The whole bundle."""
        changed = {**_files(self.stored), self.file: self.content()}
        return sealed(changed) if self.resealed else with_seal(changed)


@cache
def _files(folder: Path) -> dict[str, bytes]:
    return files_of(folder)


@cache
def stored(kind: str) -> Path:
    """The stored bundle of a kind."""
    return min((GOLDEN / f"protocol{PROTOCOL}").glob(f"{kind}.*"))  # of kind streams the dictionary


def setting(place: str, value: object) -> Callable[[dict[str, Any]], None]:
    """Puts a value at a place of a document; `-1` means the last entry of a list."""

    def change(whole: dict[str, Any]) -> None:
        *way, last = place.split(".")
        inner: Any = whole
        for key in way:
            inner = inner[int(key)] if isinstance(inner, list) else inner[key]
        inner[int(last) if isinstance(inner, list) else last] = value

    return change


def _value(place: str, value: object) -> Change:
    def change(data: bytes) -> bytes:
        document = json.loads(data)
        setting(place, value)(document)
        return json.dumps(document, indent=2, sort_keys=True).encode()

    return change


def _without(key: str) -> Change:
    def change(data: bytes) -> bytes:
        document = json.loads(data)
        del document[key]
        return json.dumps(document, indent=2, sort_keys=True).encode()

    return change


def _swap(old: bytes, new: bytes, data: bytes) -> bytes:
    assert old in data, old
    return data.replace(old, new, 1)


def _whole(new: bytes, _: bytes) -> bytes:
    return new


def _forest(old: str, new: str, data: bytes) -> bytes:
    """A forest with another text in it, whose tree_sizes are true unless they are what is changed."""
    text = _swap(old.encode("latin-1"), new.encode("latin-1"), data)
    if b"tree_sizes" in old.encode():
        return text
    end = text.find(b"\nend of trees") + 1
    places = [match.start() for match in re.finditer(rb"^Tree=", text[:end], re.MULTILINE)]
    sizes = " ".join(str(high - low) for low, high in pairwise([*places, end]))
    return re.sub(rb"(?m)^tree_sizes=.*$", f"tree_sizes={sizes}".encode(), text)


def _entry(key: str, value: str, at: int = 0) -> Change:
    """A forest with another value in the first line of a key."""

    def change(data: bytes) -> bytes:
        line = next(line for line in data.decode().split("\n") if line.startswith(f"{key}="))
        values = line.partition("=")[2].split(" ")
        values[at] = value
        return _forest(f"\n{line}\n", f"\n{key}={' '.join(values)}\n", data)

    return change


def _huge_leaves(data: bytes) -> bytes:
    for line in [line for line in data.decode().split("\n") if line.startswith("leaf_value=")]:
        data = _forest(f"\n{line}\n", f"\nleaf_value={' '.join(['1e308'] * len(line.split()))}\n", data)
    return data


def _header(change: Callable[[dict[str, Any]], object]) -> Change:
    """Tensors with a header that was changed, or with what the change gives."""

    def changed(data: bytes) -> bytes:
        (length,) = struct.unpack("<Q", data[:8])
        header: Any = json.loads(data[8 : 8 + length])
        header.pop("__metadata__", None)
        found = change(header)
        raw = found if isinstance(found, bytes) else json.dumps(header if found is None else found).encode()
        return struct.pack("<Q", len(raw)) + raw + data[8 + length :]

    return changed


def _first(key: str, value: object) -> Change:
    """Tensors, the first of which has another value in the header."""
    return _header(lambda header: next(iter(header.values())).update({key: value}))


def _late(data: bytes) -> bytes:
    """Golden requests of which the first comes after all others."""
    return re.sub(rb"\n[0-9]+,", b"\n4000000000000000000,", data, count=1)


def _put(content: bytes, key: str, data: bytes) -> bytes:
    """A document with raw text as the value of a new key."""
    return data.rstrip()[:-1].rstrip() + b', "' + key.encode() + b'": ' + content + b"}"


SIZE = {"ratio_log2": -2.0, "threshold": 0.5, "queues": "three"}
# ---- values: kind, place, value, what is said
VALUES: list[tuple[str, str, object, str]] = [
    *(("admission", "PROTOCOL", value, r"PROTOCOL.*; this release reads 2") for value in (0, 1, 3, True, "1", None)),
    ("admission", "PROTOCOL", 2.0, "PROTOCOL"),
    ("admission", "features", "none", r"\$.features is not of type array"),
    ("admission", "run_id", "x", "run_id is unknown"),
    ("admission", "features.0.formula", "of.another.release", r"\$.features\[0\].formula breaks"),
    ("admission", "id", "tables.database.lgbm", "is not of kind"),
    ("admission", "provenance.libraries.numpy", "1\u00a02", "breaks pattern"),
    ("admission", "category", "web\n", "breaks pattern"),
    ("admission", "files.0.size", True, "is not of type integer"),
    ("admission", "cost.macs", 1.0, "is not of type integer"),
    *(
        ("admission", "files.0.path", name, "leaves the bundle or is not portable")
        for name in ("../sid.bin", "/etc/passwd", "golden/../../x", "a//b", "a\\b", ".hidden", "./a", "")
    ),
    ("admission", "files.0.path", "a" * 201, "breaks maxLength"),
    ("admission", "files.0.path", MANIFEST, "lists itself"),
    ("admission", "files.0.path", REQUESTS, "twice"),
    ("admission", "files.0.path", "nowhere.txt", "lists no card.md"),
    ("admission", "policy.type", "foo", "breaks const"),
    ("admission", "policy.eviction", "fifo", "breaks const"),
    ("admission", "policy.touch", "page", "breaks enum"),
    ("admission", "policy.prefetches", "yes", "policy.prefetches is unknown"),
    ("admission", "policy.history.windows", [2, 1], "do not rise"),
    ("admission", "policy.history.windows", [], "breaks minItems"),
    ("admission", "policy.cache_fraction", 1.5, "breaks maximum"),
    ("admission", "calibration.with_prefetch.mode", "next(0)", "breaks pattern"),
    ("admission", "calibration.with_prefetch.mode", "ml_range", "breaks pattern"),
    ("admission", "calibration.threshold", "0.5", "is not of type number"),
    ("admission", "calibration.threshold", True, "is not of type number"),
    ("admission", "calibration.more", 1, "calibration.more is unknown"),
    ("admission", "arch.layers", 1, "arch.layers is unknown"),
    ("admission", "features.0.encoding", "categorical", "breaks enum"),
    ("admission", "features.0.encoding", "ordinal", "encoding"),
    ("admission", "features.0.mean", 1, "breaks const"),
    ("admission", "features.0.formula", "history.block.read.0", "breaks pattern"),
    ("admission", "encodings", {"user": {"a": 1, "b": 1}}, "two names"),
    ("admission", "encodings", {"flags": {}}, "encodings.flags is unknown"),
    ("admission", "profile", "block", "profile is"),
    ("admission", "profile", "some", "breaks enum"),
    ("admission", "conformance", {"fp32": "exact"}, "conformance.fp64 is missing"),
    ("admission", "conformance", {"fp64": 0.9}, "breaks const"),
    ("admission", "golden.outputs", ["points"], "golden.outputs"),
    ("streams.spool", "policy.type", "stream_placement", "conformance.integer is missing"),
    ("streams.spool", "policy.type", "by_wish", "breaks enum"),
    ("streams.spool", "policy.memory.pages", 100, "no power of two"),
    ("streams.spool", "policy.memory.pages", 32, "breaks minimum"),
    ("streams.spool", "policy.memory.half_life", 8193, "breaks maximum"),
    ("streams.spool", "policy.life_cuts", [3.0, 3.0], "life_cuts.* do not rise"),
    ("streams.spool", "policy.life_cuts", [], "breaks minItems"),
    ("streams.spool", "policy.part_starts", [8192, 0], "part_starts.* do not rise"),
    ("streams.spool", "policy.part_starts", [1, 2, 3, 4, 5, 6, 7, 8], "arch.streams"),
    ("streams.spool", "geometry.page_bytes", 4096, "breaks const"),
    ("streams.spool", "conformance", {"integer": "exact"}, "conformance.fp64 is missing"),
    ("streams.spool", "golden.outputs", ["stream"], "golden.outputs"),
    ("admission", "golden.decisions", ["points"], "golden.decisions"),
    ("admission", "golden.context", {"capacity_pages": 5}, "context.capacity_pages is unknown"),
    ("admission", "inputs", [], "inputs is unknown"),
    ("admission", "kind", "prefetch", "models of kind prefetch are no longer run"),
    ("caching", "policy.protected_percent", 500, "breaks maximum"),
    ("caching", "policy.capacity_ratio_log2", [9, -9], "ends in the wrong order|ends are in the wrong order"),
    ("caching", "policy.capacity_ratio_log2", [9], "breaks minItems"),
    ("caching", "policy.ranges", {"gap": [2, 1]}, "in the wrong order"),
    ("caching", "policy.ranges", {"nothing": [1, 2]}, "nothing"),
    ("caching", "policy.on_hit", "leave", "breaks enum"),
    ("caching", "policy.queues", "two", "breaks enum"),
    ("caching", "policy.state", "reset10", "breaks enum"),
    ("caching", "policy.fill_free", 1, "is not of type boolean"),
    ("caching", "policy.memory.clip", 0, "breaks exclusiveMinimum"),
    ("caching", "policy.memory.window_accesses", 5001, "are more than memory_accesses"),
    ("caching", "calibration.threshold", 3, "breaks maximum"),
    ("caching", "calibration.by_capacity", [SIZE], "has one entry alone|give two entries"),
    ("caching", "calibration.by_capacity", [SIZE, SIZE], "does not rise by ratio_log2|by rising ratio_log2"),
    ("caching", "calibration.by_capacity", [SIZE, {**SIZE, "queues": "two"}], "breaks enum"),
    ("caching", "calibration.by_capacity", [SIZE, {"ratio_log2": 1.0, "queues": "three"}], "threshold is missing"),
    ("caching", "arch.layers", 65, "breaks maximum"),
    ("caching", "conformance.int8", 0, "breaks exclusiveMinimum"),
    ("caching", "geometry.page_bytes", 8192, "breaks const"),
    ("caching", "encodings", {"user": {}}, "encodings.user is unknown"),
    ("workload", "policy.unknown_above", {"window": -1}, "breaks minimum"),
    ("workload", "calibration.known", [], "has limits where calibration.known knows no trace"),
    ("workload", "policy.vote_windows", 0, "breaks minimum"),
    ("workload", "policy.vote_every_s", -1, "breaks minimum"),
    ("workload", "policy.vote_every_s", (1 << 20) + 1, "breaks maximum"),
    ("workload", "policy.vote_every_s", 0.5, "vote_every_s"),
    ("workload", "policy.classes", ["a", "a"], "."),
    ("reuse", "policy.candidates", 5000, "breaks maximum"),
    ("reuse", "policy.shadows", ["lru"] * 4, "breaks maxItems"),
    ("reuse", "policy.type", "lead", "breaks const"),
    ("reuse", "calibration.events", [[-1.0]] * 2, "breaks minimum"),
    ("reuse", "calibration.events.0.0", True, "is not of type number"),
    *((kind, "golden.context.capacity_pages", (1 << 22) + 1, "breaks maximum") for kind in ("caching", "virtual")),
    ("admission", "golden.synthetic.0.context.capacity_segments", (1 << 22) + 1, "breaks maximum"),
    ("caching", "arch.units", 4097, "breaks maximum"),
    ("workload", "policy.window", 4097, "breaks maximum"),
    ("reuse", "policy.own_rows", 1_000_001, "breaks maximum"),
    ("reuse", "policy.own_pace", -1, "breaks minimum"),
    ("reuse", "golden.context.capacity_pages", (1 << 19) + 1, "breaks maximum"),
    ("admission", "golden.synthetic.0.changes", {"policy.nothing": 1}, "policy.nothing"),
    ("admission", "golden.synthetic.0.changes", {"measured.reason": "x"}, "measured.reason"),
    ("admission", "golden.synthetic.0.changes", {"policy.eviction": "fifo"}, "policy.eviction breaks const"),
    ("admission", "golden.synthetic.0.changes", {"policy.history.windows": [3, 2]}, "do not rise"),
    ("admission", "golden.synthetic.0.changes", {"policy.history": 1}, "is not of type object"),
    ("admission", "golden.synthetic.0.name", "nowhere", "golden/synthetic/nowhere/requests.csv"),
    ("admission", "golden.synthetic.0.name", "../x", "breaks pattern"),
    ("admission", "golden.synthetic.1.name", "history", "two synthetic golden sets have"),
    ("admission", "golden.synthetic.0.rows", 7, r"has \d+ rows, the manifest says 7"),
    ("admission", "golden.rows", 7, r"has \d+ rows, the manifest says 7"),
    ("admission", "golden.synthetic.0.context.capacity_pages", 7, "capacity_pages is unknown"),
    ("admission", "golden.synthetic.0.context.capacity_segments", 0, "breaks minimum"),
    ("reuse", "calibration.events.0.0", True, "calibration.events"),
    ("reuse", "calibration.risks.0.0", "1", "calibration.risks"),
    ("reuse", "policy.price", "0.2", "price"),
    ("reuse", "policy.lead", 2e6, "lead"),
    ("reuse", "policy.experts", [], "policy.experts"),
    ("reuse", "policy.experts", ["lru"] * 8, "policy.experts"),
    ("reuse", "policy.shadows", ["lru"] * 4, "policy.shadows"),
    ("reuse", "geometry.page_bytes", 8192, "page_bytes"),
    ("reuse", "golden.context.capacity_pages", (1 << 19) + 1, "capacity_pages"),
    ("workload", "policy.vote_windows", (1 << 20) + 1, "vote_windows"),
    *(("workload", "policy.classes.0", value, "policy.classes") for value in (None, True, 1, [], {})),
    *(("caching", "policy.state", value, "policy.state") for value in (None, True, 1, "reset10", [])),
    *(("caching", "policy.fill_free", value, "policy.fill_free") for value in (None, 1, "1", 1e308)),
    *(("policy", "policy.text", text, text) for text in ("belady", "follow", "vrm", "bloom", "nothing")),
    ("policy", "policy.text", "lirs", r"policy\.admission is not that of policy\.text"),
    ("policy", "policy.text", "rejectx+s3fifo+next(n=4)", r"policy\.eviction is not that of policy\.text"),
    *(
        ("policy", "policy.text", f"rejectx{blank}+lirs+next({value})", "is how policy.text is written")
        for blank, value in (
            (" ", "n=4"),
            ("", "n=4.0"),
            ("", " n = 4"),
            ("()", "n=4"),
            ("(x=1)", "n=4"),
            ("", "n=4e0"),
        )
    ),
    *(
        ("policy", "policy.text", text, "does not describe a policy model")
        for text in (
            "lirs+rejectx",
            "rejectx+lirs+next(n=4",
            "rejectx+lirs+next(n=4))",
            "rejectx+lirs+next(n=4)+",
            "+",
            "rejectx+lirs+next(n=1e400)",
            "rejectx+lirs+next(n=nan)",
            "rejectx+lirs+next(n=4, n=4)",
            "lirs(hir=2)",
            "rejectx+lirs+next(n=4.5)",
            "rejectx+lirs+next(n=-1)",
            "rejectx+lirs+next(m=4)",
            "rejectx+lirs+next(4)",
            "lirs+lirs",
            "rejectx+lirs+next(n=0x4)",
            "rejectx+lirs+next(n=1_0)",
            "lirs(stack=inf)",
        )
    ),
    ("policy", "policy.text", "LIRS", "breaks pattern"),
    ("policy", "policy.text", "wtinylfu(libcachesim=1)", "simulator alone"),
    ("policy", "policy.text", "l" * 401, "breaks maxLength"),
    ("policy", "policy.type", "rule", "breaks const"),
    ("policy", "policy.more", 1, "policy.more is unknown"),
    ("policy", "policy.eviction", {"name": "lru"}, r"policy\.eviction is not that of policy\.text"),
    ("policy", "policy.eviction", {"name": "lru", "hir": 0.05}, "policy.eviction.hir is unknown"),
    ("policy", "policy.eviction", {"name": "belady"}, "breaks enum"),
    ("policy", "policy.eviction", {}, "name is missing"),
    ("policy", "policy.eviction.hir", 0.02, r"policy\.eviction is not that of policy\.text"),
    ("policy", "policy.eviction.hir", 1.5, "breaks maximum"),
    ("policy", "policy.eviction.stack", "2", "is not of type number"),
    ("policy", "policy.admission.x", 0, "breaks minimum"),
    ("policy", "policy.admission.x", 2, r"policy\.admission is not that of policy\.text"),
    ("policy", "policy.prefetch.n", 4.0, "is not of type integer"),
    ("policy", "policy.prefetch.n", 5, r"policy\.prefetch is not that of policy\.text"),
    ("policy", "category", "web", "category is not of type null"),
    ("policy", "calibration", {"threshold": 1}, "calibration.threshold is unknown"),
    ("policy", "conformance", {"fp64": "exact"}, "conformance.integer is missing"),
    ("policy", "golden.context.capacity_pages", (1 << 22) + 1, "breaks maximum"),
    ("policy", "golden.outputs", ["score"], "golden.outputs"),
    ("policy", "golden.synthetic.0.changes", {"policy.text": "lru"}, r"is not that of policy\.text"),
]

# ---- JSON: texts of a whole document
TEXTS: list[bytes] = [
    b"", b"{", b"[1", b"[1,]", b'{"a":1,}', b'{"a" 1}', b"\xff\xfe", b"NaN", b"-Infinity", b'{"PROTOCOL": NaN}',
    b"1e999", b"9" * 400, b"01", b"1.", b".5", b"+1", b"1e", b"1 2", b"nul", b'{"PROTOCOL": 0x2}', b"\xef\xbb\xbf{}",
    b'{"a": 1, "a": 2}', b'{"a":1,"\\u0061":3}', b"[" * 100_000, b"[" * 257 + b"]" * 257,
    b'"\\u0000"', b'{"\\u0000": 1}',
    b'"\\ud800"', b'"\\ud800\\u0041"', b'"\\udc00"', b'"\\x"', b'"\\u12g4"', b'"a', b'"a\\', b'"a\nb"', b'"a\0b"',
    b'"\xff"', b'"\xed\xa0\x80"', b'"\xc0\xaf"', b"[" + b"1," * (1 << 21) + b"1]",
]  # fmt: skip

# ---- golden requests
HEAD = b"time_us,op,offset,size,volume"
ROWS: list[tuple[bytes, str]] = [
    (b"", "not golden requests"),
    (b"time_us\n1\n", "header"),
    (b"op,time_us,offset,size,volume\n", "header"),
    (b"time_us,op,offset,size\n0,read,0,1\n", "header"),
    (HEAD + b",volume\n0,read,0,1,v,v\n", "header"),
    (HEAD + b",user,user\n0,read,0,1,v,v,v\n", "header"),
    (HEAD + b",colour\n0,read,0,1,v,v\n", "header"),
    (HEAD + b"\n", "no request"),
    (HEAD + b"\n1,erase,0,1,v\n", "not golden requests"),
    (b"\xff", "not golden requests"),
    (HEAD + b"\n0,read,0,1,a\0b\n", "not golden requests"),
    (HEAD + b"\n0,read,0,0,v\n", "a size is 0"),
    *(
        (HEAD + b"\n" + number.encode() + b",read,0,1,v\n", "not golden requests")
        for number in ("-1", "+1", " 1", "1 ", "1_0", "1.0", "", "٣", "9" * 20, "0" * 20)
    ),
    (HEAD + b"\n0,read,0,1\n", "not golden requests"),
    (HEAD + b"\n0,read,0,1,v,w\n", "not golden requests"),
    (HEAD + b"\n0,read,0,1,v\n\n", "not golden requests"),
    (HEAD + b'\n0,read,0,1,"v\n', "not golden requests"),
    (HEAD + b'\n0,read,0,1,"v"w\n', "not golden requests"),
    (HEAD + b"\n0,read,0,1," + "é".encode() * 70_000 + b"\n", "not golden requests"),
    (HEAD + b"\n0,read,0,1073741825,v\n", REQUESTS),
    (HEAD + b"\n0,read,4611686018427387904,1,v\n", REQUESTS),
]

# ---- arrays: the header of golden/outputs.npy, of one column of float32
ARRAYS: list[tuple[bytes, bytes]] = [
    (b"\x93NUMPY\x01", b"\x93NUMPY\x02"),
    (b"'<f4'", b"'<f8'"),
    (b"'<f4'", b"'>f4'"),
    (b"'<f4'", b"'=f4'"),
    (b"False", b"True "),
    (b", 1), }", b", 2), }"),
    (b", 1), }", b",),   }"),
    (b", 1), }", b", 1) , }"),
    (b"{'descr'", b"{ 'descr'"),
    (b"(250", b"(9223372036854775808"),
    (b"\n", b"\t"),
]

# ---- tensors: the header of weights.safetensors
HEADERS: list[tuple[str, Change]] = [
    *(
        (f"header {raw[:20]!r}", _header(lambda _, raw=raw: raw))  # type: ignore[misc]
        for raw in (
            b"", b"\xff", b"[]", b"5", b'"x"', b"null", b"[" * 100_000, b"{}", b'{"a": {}, "a": {}}', b'{"a": 1e999}',
            b'{"a": "\\u0000"}', b'{"a": NaN}',
        )
    ),
    *(
        (f"{key} {value!s:.24}", _first(key, value))
        for key, values in {
            "dtype": ("F31", 1, ["F32"], None, "F64"),
            "shape": (2, [True, 2], [2.0], [-2], ["2"], [3], {"0": 2}, [2**40] * 9, [10**30]),
            "data_offsets": ([False, 8], [0, 8.0], [0, 8, 8], [8, 0], [0, 8_000_000], [-8, 0], [4, 8], "08"),
            "extra": (1,),
        }.items()
        for value in values
    ),
    *(
        (f"{key} missing", _header(lambda header, key=key: next(iter(header.values())).pop(key) and None))  # type: ignore[misc]
        for key in ("dtype", "shape", "data_offsets")
    ),
    ("metadata 5", _header(lambda header: header.update(__metadata__=5))),
    ("metadata of numbers", _header(lambda header: header.update(__metadata__={"a": 5}))),
    ("one tensor more", _header(lambda header: header.update(more=next(iter(header.values()))))),
    ("one tensor less", _header(lambda header: header.pop(next(iter(header))) and None)),
    ("a length that is none", lambda data: b"\xff" * 8 + data[8:]),
    ("nothing but a length", lambda data: data[:3]),
    ("bytes behind it", lambda data: data + b"1234"),
]  # fmt: skip

# ---- forests: a text and another, and what is said
LINES: list[tuple[str, str, str]] = [
    ("tree\nversion", "three\nversion", "begin"),
    ("version=v4", "version=v3", "version"),
    ("version=v4\n", "", "version"),
    ("version=v4\n", "version=v4\nversion=v4\n", "twice"),
    ("num_class=1", "num_class=2", "num_class"),
    ("num_class=1", "num_class=1.0", "num_class"),
    ("num_class=1", "num_class=+1", "num_class"),
    ("num_class=1\n", "", "num_class"),
    ("num_tree_per_iteration=1", "num_tree_per_iteration=3", "num_tree_per_iteration"),
    ("num_tree_per_iteration=1\n", "", "num_tree_per_iteration"),
    ("label_index=0\n", "label_index=0\nlabel_index=0\n", "twice"),
    ("label_index=0", "average_output=1", "average_output"),
    ("label_index=0", "average_output", "average_output|key=value"),
    ("max_feature_idx=29", "max_feature_idx=30", "max_feature_idx"),
    ("max_feature_idx=29", "max_feature_idx=029", "max_feature_idx"),
    ("max_feature_idx=29\n", "", "max_feature_idx"),
    ("tree_sizes=", "tree_sizes=9", "tree_sizes"),
    ("tree_sizes=", "tree_size=", "tree_size"),
    ("tree_sizes=", "tree_sizes= ", "tree_sizes"),
    ("tree_sizes=1664 1696 1696 1681\n", "", "tree_sizes"),
    ("tree_sizes=1664 1696 1696 1681\n", "tree_sizes=1664 1696 1696 1681 \n", "tree_sizes"),
    ("tree_sizes=1664 1696 1696 1681\n", "tree_sizes=1664 1696 1696 1.681e3\n", "tree_sizes"),
    ("\nend of trees\n", "\n", "."),
    ("\nend of parameters\n", "\n", "cut short"),
    ("\n\nTree=0\n", "\nTree=0\n", "."),
    ("\n\nTree=0\n", "\n\n\nTree=0\n", "."),
    ("\n\n\nTree=1\n", "\nTree=1\n", "."),
    ("\n\n\nTree=1\n", "\n\n\nTree=7\n", "Tree"),
    ("\n\n\nTree=1\n", "\n\n\nTree=01\n", "Tree"),
    ("num_cat=0", "num_cat=1", "num_cat"),
    ("num_cat=0", "num_cat=-0", "num_cat"),
    ("num_cat=0\n", "num_cat=0\n\n", "."),
    ("is_linear=0", "is_linear=1", "is_linear"),
    ("num_leaves=15", "num_leaves=14", "."),
    ("num_leaves=15", "num_leaves=0", "num_leaves"),
    ("num_leaves=15", "num_leaves=many", "num_leaves"),
    ("num_leaves=15", "num_leaves=15.0", "num_leaves"),
    ("num_leaves=15", "num_leaves=1000000000", "num_leaves"),
    ("shrinkage=1", "cat_threshold=1", "cat_threshold"),
    ("shrinkage=1\n", "shrinkage=1\nshrinkage=1\n", "twice"),
    ("internal_count=", "internal_weight=", "twice"),
    *(
        (f"\n{key}=", f"\nshrinkage{at}=", "shrinkage")
        for at, key in enumerate(("leaf_value", "threshold", "decision_type", "left_child", "split_feature", "num_cat"))
    ),
    ("objective=binary", "objective=bin\xe4r", "ASCII"),
    ("objective=binary", "objective=bin\0ry", "ASCII"),
    ("objective=binary", "objective=bin\try", "ASCII"),
    ("[boosting: gbdt]", "[boosting: \xff]", "ASCII"),
    ("num_class=1\n", "num_class=1\r\n", "ASCII"),
]
ENTRIES: list[tuple[str, str, str]] = [
    ("decision_type", "1", "decision_type"),
    ("decision_type", "4", "decision_type"),
    ("decision_type", "8", "decision_type"),
    ("split_feature", "30", "split_feature"),
    ("split_feature", "-1", "split_feature"),
    ("split_feature", "1.5", "split_feature"),
    ("left_child", "0", "."),
    ("left_child", "99", "left_child"),
    ("right_child", "-99", "right_child"),
    ("right_child", "-1", "."),
    *(("threshold", text, "threshold") for text in ("1e999", "nan", "1_0", "1E0", "0" * 64, "", "1e", ".")),
    *(("leaf_value", text, "leaf_value") for text in ("nan", "inf", "-inf", "0x1", "0 0", " 0")),
]


def _cases() -> Iterator[Case]:
    for kind, place, value, says in VALUES:
        acts = place.split(".")[0] in (*ACTING, "inputs")
        name = f"{kind}-{place}-{value!r:.24}"
        resealed = place != "files.0.size"
        yield Case(stored(kind), ACTS if acts else MANIFEST, _value(place, value), says, name, resealed)
    document = r"not readable as JSON|\$ is not of type object|PROTOCOL|more than any"
    for text in TEXTS:
        name = f"{text[:20]!r}-{len(text)}"
        yield Case(stored("caching"), ACTS, partial(_whole, text), document, f"{ACTS}-{name}")
        yield Case(stored("caching"), MANIFEST, partial(_whole, text), document, f"{MANIFEST}-{name}", resealed=False)
    yield Case(stored("admission"), ACTS, _without("features"), r"features is missing", f"{ACTS}-features")
    yield Case(stored("admission"), ACTS, partial(_put, b'"9.9.9"', "version"), "version", "key-in-both")
    for at, (text, says) in enumerate(ROWS):
        yield Case(stored("admission"), REQUESTS, partial(_whole, text), says, f"{REQUESTS}-{at}-{text[-20:]!r}")
    for kind in ("admission", "caching", "reuse", "streams", "streams.spool", "virtual", "workload"):
        yield Case(stored(kind), REQUESTS, _late, "a request is earlier than the one before", f"{REQUESTS}-{kind}-late")
    for old, new in ARRAYS:
        yield Case(stored("admission"), NUMBERS, partial(_swap, old, new), NUMBERS, f"{NUMBERS}-{new!r}")
    infinite = struct.pack("<f", float("inf"))
    yield Case(stored("admission"), NUMBERS, lambda data: data[:-4] + infinite, NUMBERS, f"{NUMBERS}-inf")
    yield Case(stored("admission"), NUMBERS, lambda data: data + b"1", NUMBERS, f"{NUMBERS}-longer")
    for name, change in HEADERS:
        yield Case(stored("caching"), TENSORS, change, TENSORS, f"{TENSORS}-{name}")
    for at, value in enumerate((b"\0\0\xc0\x7f", b"\0\0\x80\x7f", b"\0\0\x80\xff")):
        change = partial(lambda last, data: data[:-4] + last, value)
        yield Case(stored("workload"), TENSORS, change, "holds weights that are not finite", f"{TENSORS}-odd-{at}")
    for old, new, says in LINES:
        name = f"{FOREST}-{old[-30:]!r}-{new[-30:]!r}"
        yield Case(stored("admission"), FOREST, partial(_forest, old, new), says, name)
    for key, value, says in ENTRIES:
        yield Case(stored("admission"), FOREST, _entry(key, value), says, f"{FOREST}-{key}-{value[:20]}")
    yield Case(stored("admission"), FOREST, _huge_leaves, "sum up to what is not finite", f"{FOREST}-sum")
    for data in (b"", b"\xff\xfe", b"tree"):
        yield Case(stored("admission"), FOREST, partial(_whole, data), FOREST, f"{FOREST}-{data!r}")


CASES = list(_cases())


def main(out: Path, bundles: Iterable[Path]) -> None:
    """Write the cases as inputs of fuzz_sealed.c: numbers of the bundle and of the file, fp32, content."""
    numbers = {folder.resolve(): number for number, folder in enumerate(bundles)}
    for at, case in enumerate(CASES):
        file = sorted(_files(case.stored)).index(case.file)
        (out / f"refused-{at}").write_bytes(bytes([numbers[case.stored], file, 0]) + case.content())


if __name__ == "__main__":
    main(Path(sys.argv[1]), map(Path, sys.argv[2:]))
