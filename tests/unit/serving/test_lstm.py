"""Files of tensors as their library writes them; those that are refused are in tests/refused.py."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from safetensors.numpy import save

from cachezoo.serving.lstm import read_safetensors


@given(
    st.dictionaries(
        st.text(min_size=1, max_size=8).filter(lambda name: name != "__metadata__" and "\0" not in name),
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
