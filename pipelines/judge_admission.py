"""Stage judge_admission@category: their thresholds at the write budget, and their verdicts, on validation."""

from cachezoo.stage import stage
from cachezoo.systems.admission.judge import judge_admission

if __name__ == "__main__":
    stage(judge_admission)()
