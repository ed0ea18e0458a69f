"""Stage fit_admission@category: Baleen's admission forests of one category."""

from cachezoo.stage import stage
from cachezoo.systems.admission.fit import fit_admission

if __name__ == "__main__":
    stage(fit_admission)()
