from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.errors import ConfigError
from cachezoo.kernels.ftl import FlashDrive, run_ftl
from cachezoo.kernels.placing.dac import Dac
from cachezoo.kernels.placing.foresight import Foresight
from cachezoo.kernels.placing.future import Future
from cachezoo.kernels.placing.mida import Mida
from cachezoo.kernels.placing.multilog import MultiLog
from cachezoo.kernels.placing.sfs import Sfs
from cachezoo.kernels.placing.state import CLASSES, NEVER
from cachezoo.kernels.placing.warcip import Warcip
from tests.oracles import placing as oracle

FIELDS = ("host", "copied", "erased", "host_by_stream", "copied_by_stream", "erases", "valid", "block")
# Each scheme with its naive one; knobs that make it do all it can on few writes.
PAIRS = [
    (Future(3), partial(oracle.Future, span=3)),
    (Dac(), oracle.Dac),
    (Dac(0.7), partial(oracle.Dac, young=0.7)),
    (Sfs(), oracle.Sfs),
    (MultiLog(), oracle.MultiLog),
    (Mida(), oracle.Mida),
    (Warcip(5), partial(oracle.Warcip, window=5)),
    (Foresight(), oracle.Foresight),
]


@st.composite
def cases(draw):
    per_block = draw(st.sampled_from([1, 2, 3, 4, 7]))
    data = draw(st.integers(1, 9))
    logical = draw(st.integers(max(1, (data - 1) * per_block), data * per_block))
    drive = FlashDrive(data + 7 + CLASSES, per_block, logical, 7, streams=CLASSES)
    rng = np.random.default_rng(draw(st.integers(0, 1 << 32)))
    n = draw(st.integers(0, 400))
    pages = np.minimum((rng.random(n) ** draw(st.sampled_from([1, 4])) * logical), logical - 1).astype(np.int32)
    trim = rng.random(n) < draw(st.sampled_from([0.0, 0.2]))
    bounds = np.sort(rng.integers(0, n + 1, draw(st.integers(2, 5))))
    return pages, drive, bounds, trim, draw(st.booleans())


@pytest.mark.parametrize(("rule", "naive"), PAIRS, ids=lambda one: repr(one) if hasattr(one, "scheme") else "")
@given(case=cases())
def test_the_kernel_is_the_scheme_that_is_described(rule, naive, case):
    pages, drive, bounds, trim, prefill = case
    found = run_ftl(pages, None, drive, bounds=bounds, trim=trim, prefill=prefill, rule=rule)
    wanted = oracle.run(pages, np.zeros(len(pages), np.uint8), drive, bounds, trim, prefill, naive)
    for name in FIELDS:
        np.testing.assert_array_equal(getattr(found, name), getattr(wanted, name), err_msg=name)
