import numpy as np

from cachezoo.kernels import ghosts, step

COUNTED = "call void @NRT_incref"


def code(compiled):
    """What is compiled of `ghosts.take`, without the wrapper by which Python calls it."""
    compiled(*ghosts.make(4, 2), 1)
    return next(iter(compiled.inspect_llvm().values())).partition("@_ZN7cpython")[0]


def test_a_step_counts_no_references(monkeypatch):
    import numba

    monkeypatch.setattr(step, "njit", numba.njit)
    body = ghosts.take.py_func
    assert COUNTED not in code(step.step(body))
    assert COUNTED in code(numba.njit(body))


def test_without_numba_it_is_the_function(monkeypatch):
    monkeypatch.setattr(step, "njit", lambda function: function)
    assert step.step(np.sum) is np.sum
