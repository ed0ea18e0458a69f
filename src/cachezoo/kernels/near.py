"""What a step will read is brought near: into the processor's caches, some accesses before its turn.

A cache of 10**8 pages has its lists in arrays of a gigabyte. Each step then waits for memory several times; as the page
ids of a stream are known beforehand, the waiting can begin earlier. Nothing but time depends on it.
"""

from typing import Any

from cachezoo.kernels.jit import HAVE_NUMBA, njit

AHEAD = 16
"""Accesses by which it is brought near beforehand."""


def _nothing(array: Any, index: int) -> None:  # noqa: ANN401 - any array
    """Without a compiler there is nothing to bring near."""


def _compiled() -> Any:  # noqa: ANN401 - an intrinsic
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def fetch(typing_context: Any, array: Any, index: Any) -> Any:  # noqa: ANN401 - numba's types
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401 - LLVM's values
            made = context.make_array(signature.args[0])(context, builder, values[0])
            place = builder.bitcast(builder.gep(made.data, [values[1]]), ir.IntType(8).as_pointer())
            number = ir.IntType(32)
            kind = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
            functions: Any = cgutils
            prefetch = functions.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
            builder.call(prefetch, [place, number(0), number(3), number(1)])  # to read, soon, data
            return context.get_dummy_value()

        return types.void(array, index), generate

    return fetch


fetch = _compiled() if HAVE_NUMBA else _nothing
"""Begin to read `array[index]`, of one dimension and in one piece; the index is not checked, and may be any."""


@njit
def is_far() -> bool:
    """The step `far` of a loop over a long stream."""
    return True


@njit
def is_at_hand() -> bool:
    """The same of any other loop, from which what is far is then left out as it is compiled."""
    return False
