"""Headers of safetensors files that no tensor file has."""

import json
import struct
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from cachezoo.bundles.weights import check_finite
from cachezoo.errors import BundleError
from cachezoo.serving.safetensors import read_safetensors

GOOD = {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}
BODY = np.arange(2, dtype="<f4").tobytes()


def made(header: Any, body: bytes = BODY) -> bytes:
    raw = header if isinstance(header, bytes) else json.dumps(header).encode()
    return struct.pack("<Q", len(raw)) + raw + body


@pytest.mark.parametrize(
    "header",
    [
        [], 5, "x", None, True, [["a", GOOD]], {"a": [GOOD]}, {"a": 5}, {"a": {"b": GOOD}}, {"a": {}},
        {"a": {**GOOD, "extra": 1}}, {"a": {key: GOOD[key] for key in ("dtype", "shape")}},
        {"a": {**GOOD, "dtype": "F31"}}, {"a": {**GOOD, "dtype": 1}}, {"a": {**GOOD, "dtype": ["F32"]}},
        {"a": {**GOOD, "dtype": None}}, {"a": {**GOOD, "shape": 2}}, {"a": {**GOOD, "shape": [True, 2]}},
        {"a": {**GOOD, "shape": [2.0]}}, {"a": {**GOOD, "shape": [-2]}}, {"a": {**GOOD, "shape": ["2"]}},
        {"a": {**GOOD, "shape": [3]}}, {"a": {**GOOD, "shape": {"0": 2}}}, {"a": {**GOOD, "shape": [2**40] * 9}},
        {"a": {**GOOD, "data_offsets": [False, 8]}}, {"a": {**GOOD, "data_offsets": [0, 8.0]}},
        {"a": {**GOOD, "data_offsets": [0, 8, 8]}}, {"a": {**GOOD, "data_offsets": [8, 0]}},
        {"a": {**GOOD, "data_offsets": [0, 80], "shape": [20]}}, {"a": {**GOOD, "data_offsets": [-8, 0]}},
        {"a": {**GOOD, "data_offsets": [float("inf"), 8]}}, {"a": {**GOOD, "data_offsets": "08"}},
        {"a": GOOD, "b": GOOD}, {"a": GOOD, "__metadata__": 5}, {"a": GOOD, "__metadata__": {"format": 5}},
        {"a": {"dtype": "F32", "shape": [1], "data_offsets": [4, 8]}}, {},
        b'{"a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "a": {}}', b"", b"\xff", b"[" * 100_000,
        json.dumps({"a": GOOD}).encode("utf-16"),
    ],
)  # fmt: skip
def test_a_bad_header_is_one_line(header: Any) -> None:
    with pytest.raises(BundleError, match=r"^b: weights.safetensors is not readable \(.+\); export it|export the") as e:
        check_finite("weights.safetensors", made(header), "b")
    assert "\n" not in str(e.value) and len(str(e.value)) < 300


@pytest.mark.parametrize("data", [b"", b"\x08", struct.pack("<Q", 2**63) + b"{}", made({"a": GOOD}) + b"x"])
def test_a_bad_length_is_one_line(data: bytes) -> None:
    with pytest.raises(BundleError, match="is not readable"):
        check_finite("weights.safetensors", data, "b")


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8).filter(lambda name: name != "__metadata__"),
        st.tuples(
            st.sampled_from(["<f4", "<f8", "<i8", "<i4", "|u1", "|b1", "<f2"]), st.lists(st.integers(0, 3), max_size=3)
        ),
        max_size=4,
    )
)
def test_what_the_library_writes_is_read(shapes: dict[str, tuple[str, list[int]]]) -> None:
    tensors = {name: np.ones(shape, dtype) for name, (dtype, shape) in shapes.items()}
    found = read_safetensors(save(tensors, {"format": "np"}))
    assert set(found) == set(tensors)
    for name, tensor in tensors.items():
        assert found[name].dtype == tensor.dtype and np.array_equal(found[name], tensor)
