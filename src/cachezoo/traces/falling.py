"""Why a curve may fall with more cache."""

from collections.abc import Sequence


def unlike(warmups: Sequence[int], capacities: Sequence[int]) -> str:
    """Why a larger cache may show a lower ratio, where sizes count after warm-ups of their own; else empty.

    Args:
        warmups: page accesses before counting, of each figure.
        capacities: of each figure.
    """
    pairs = {*zip(capacities, warmups, strict=True)}
    if len({*warmups}) == 1 or len(pairs) > len({*capacities}):  # of several traces there is no one --count
        return ""
    return (
        "each size is counted after its own warm-up, so a larger cache may show a lower ratio; "
        "--count half counts all alike"
    )
