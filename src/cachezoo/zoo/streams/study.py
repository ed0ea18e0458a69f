"""How dictionaries are compared over seeds: by write amplification on validation, K-means begun from other centres.

What chooses is of the dictionary that FIOS's own rule chooses, which looks at no validation trace.
"""

from cachezoo.zoo.base import Studied
from cachezoo.zoo.streams.evaluate import evaluate_streams
from cachezoo.zoo.streams.fit import fit_streams
from cachezoo.zoo.streams.judge import judge_streams
from cachezoo.zoo.studied import chosen, validated

STUDIED = Studied(
    fit=fit_streams,
    judge=judge_streams,
    choosing=validated("automatic_waf"),
    choosing_is="write amplification on validation with the features that FIOS's own rule chooses",
    lower_is_better=True,
    judging="waf",
    judging_is="write amplification on validation with the dictionary chosen there",
    tests=chosen(evaluate_streams, "waf"),
    tests_are="write amplification on the test cycle",
)
