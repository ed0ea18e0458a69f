"""What a step will read is brought near: into the processor's caches, some accesses before its turn.

A cache of 10**8 pages has its lists in arrays of a gigabyte. Each step then waits for memory several times; as the page
ids of a stream are known beforehand, the waiting can begin earlier. Nothing but time depends on it.
"""

from typing import Any

from cachezoo.kernels.jit import HAVE_NUMBA, njit

AHEAD = 16
"""Accesses by which it is brought near beforehand."""
SOON = AHEAD // 2
"""Those by which what it points to is: till then it has itself come from memory."""


def _nothing(array: Any, index: int) -> None:  # noqa: ANN401 - any array
    """Without a compiler there is nothing to bring near."""


def _compiled() -> Any:  # noqa: ANN401 - an intrinsic
    from llvmlite import ir  # type: ignore[import-untyped]
    from numba import config as given
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    config: Any = given

    @intrinsic
    def fetch(typing_context: Any, array: Any, index: Any) -> Any:  # noqa: ANN401 - numba's types
        def generate(context: Any, builder: Any, signature: Any, values: Any) -> Any:  # noqa: ANN401 - LLVM's values
            functions: Any = cgutils
            kind, number = signature.args[0], ir.IntType(32)
            made = context.make_array(kind)(context, builder, values[0])
            index = context.cast(builder, values[1], signature.args[1], types.intp)
            item = functions.get_item_pointer(context, builder, kind, made, [index], wraparound=False)
            place = builder.bitcast(item, ir.IntType(8).as_pointer())
            shape = ir.FunctionType(ir.VoidType(), [place.type, number, number, number])
            prefetch = functions.get_or_insert_function(builder.module, shape, "llvm.prefetch.p0")
            builder.call(prefetch, [place, number(1), number(3), number(1)])  # to write, soon, data
            return context.get_dummy_value()

        return types.void(array, index), generate

    return _nothing if config.DISABLE_JIT else fetch


fetch = _compiled() if HAVE_NUMBA else _nothing
"""Begin to bring `array[index]` near, to be written, of one dimension; the index is not checked, and may be any."""


@njit
def is_far() -> bool:
    """The step `far` of a loop over a long stream."""
    return True


@njit
def is_at_hand() -> bool:
    """The same of any other loop, from which what is far is then left out as it is compiled."""
    return False
