"""How virtual caches are compared over seeds: by hits on validation; the seed is that of the searches."""

from cachezoo.zoo.base import Studied
from cachezoo.zoo.studied import chosen, validated
from cachezoo.zoo.virtual.evaluate import evaluate_virtual
from cachezoo.zoo.virtual.fit import fit_virtual
from cachezoo.zoo.virtual.judge import judge_virtual

STUDIED = Studied(
    fit=fit_virtual,
    judge=judge_virtual,
    choosing=validated("choosing_hit_ratio"),
    choosing_is="page hit ratio on the choosing blocks of validation, within the limit of transfers",
    lower_is_better=False,
    judging="hit_ratio",
    judging_is="page hit ratio on the judging blocks of validation",
    tests=chosen(evaluate_virtual, "hit_ratio"),
    tests_are="page hit ratio",
)
