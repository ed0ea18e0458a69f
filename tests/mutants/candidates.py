"""Candidates for golden sets, of which the search takes few: by rules where other draws alone are not enough."""

from collections.abc import Callable, Iterator, Mapping
from itertools import product

from cachezoo.serving.synthetic import SyntheticSet
from cachezoo.zoo.virtual import bundle as virtual


def _virtual() -> Iterator[SyntheticSet]:
    many, few = virtual.MANY, virtual.FEW
    for draw, (accesses, span, new, pages) in product(
        ("many_lfu", "many_lfu_1"), ((2500, 700, 1000, 1024), (2500, 900, 1000, 1024), (4350, 600, 2800, 1860))
    ):
        batch = virtual._many(draw, accesses, span, many, twice=0, new=new, often=6)
        values = {"queue": "lfu", "pages": pages, "fragment": 2, "runs": 3, "decay": 1, "quantum": 290}
        yield virtual._of(f"{draw}_{span}", batch, 900, **values, cost=0.02)
    for k, pages, runs in product(range(3), (256, 320), (4, 16)):
        batch = virtual._many(f"many_arc_{k}", 1250, pages // 2, many, twice=0.4, new=pages + 4, often=0)
        values = {"queue": "arc", "pages": pages, "fragment": 2, "runs": runs, "decay": 0.75, "quantum": 50}
        yield virtual._of(f"many_arc_{k}_{pages}_{runs}", batch, pages // 4 + 3, **values, cost=0.1)
    for k, accesses, cost in product(range(3), (700, 1300), (0.02, 0.1)):
        batch = virtual._many(f"many_lru_{k}", accesses, 250, many, twice=0.3, new=0, often=0)
        values = {"pages": 320, "fragment": 2, "runs": 3, "decay": 1, "quantum": 300, "cost": cost}
        yield virtual._of(f"many_lru_{k}_{accesses}_{int(100 * cost)}", batch, 100, **values)
    for k, (queue, accesses, span, new, pages), decay in product(
        range(8), (("lfu", 330, 60, 66, 64), ("arc", 250, 30, 0, 40)), (0, 0.5)
    ):
        batch = virtual._many(f"few_{queue}_{k}", accesses, span, few, twice=0.5, new=new, often=0)
        values = {"queue": queue, "pages": pages, "decay": decay, "quantum": 11, "cost": 0.25}
        yield virtual._of(f"few_{queue}_{k}_{int(100 * decay)}", batch, {40: 16, 64: 20}[pages], **values)
    batch = virtual._many("few_lru_0", 150, 30, few, twice=0.5, new=0, often=0)
    yield virtual._of("few_lru_0", batch, 40, pages=8192, fragment=16, quantum=11, cost=0.25)


CANDIDATES: Mapping[str, Callable[[], Iterator[SyntheticSet]]] = {"virtual": _virtual}
