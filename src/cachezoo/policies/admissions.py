"""The admissions that a composition can take."""

from cachezoo.kernels.admit import always
from cachezoo.policies.parts import Admission

ACCEPT_ALL = Admission("acceptall", "every miss enters", lambda *_: always.State(0), always.admit, always.saw)
ADMISSIONS = (ACCEPT_ALL,)
