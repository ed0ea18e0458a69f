"""A hint to the processor: what will soon be read or written."""

import contextlib
from importlib import import_module
from typing import Any

import numpy.typing as npt

FAR = 12
"""Requests that the loop looks ahead: by then what it asked for has come from memory."""


def fetch(array: npt.NDArray[Any], k: int) -> None:
    """Have element k of an array, which it has, brought near; changes nothing."""


with contextlib.suppress(ModuleNotFoundError):  # without numba there is nothing to hint to
    numba: Any = import_module("numba")
    ir: Any = import_module("llvmlite.ir")
    cgutils: Any = import_module("numba.core.cgutils")
    extending: Any = import_module("numba.extending")

    def _fetch(typing_context: Any, array: Any, k: Any) -> Any:  # noqa: ANN401 - numba's
        def generate(context: Any, builder: Any, signature: Any, given: Any) -> Any:  # noqa: ANN401 - numba's
            kind = signature.args[0]
            held = context.make_array(kind)(context, builder, given[0])
            index = context.cast(builder, given[1], signature.args[1], numba.types.intp)
            place = cgutils.get_item_pointer(context, builder, kind, held, [index], wraparound=False)
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            prefetch = cgutils.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0i8")
            how = [ir.Constant(number, value) for value in (1, 3, 1)]  # to write, into the nearest cache, data
            builder.call(prefetch, [builder.bitcast(place, byte), *how])
            return context.get_dummy_value()

        return numba.types.void(array, k), generate

    if not numba.config.DISABLE_JIT:
        fetch = extending.intrinsic(_fetch)
