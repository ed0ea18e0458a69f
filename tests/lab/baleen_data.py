"""Cases of Baleen's sweep, made up."""

from lab.baleen import document as baleen
from lab.baleen.document import BALEEN, COIN_FLIP, OPT, REJECTX, REJECTX_ALONE

LOADS = {REJECTX_ALONE: 2.0, REJECTX: 1.8, COIN_FLIP: 1.9, BALEEN: 1.5, OPT: 1.2}


def run(policy, loads, writes=0.25):
    return baleen.PolicyRun(
        policy=policy, prefetch=["none"] * len(loads), mean_dt=loads, peak_dt=[2 * load for load in loads],
        writes=[writes] * len(loads), io_hit_ratio=[0.2] * len(loads), byte_hit_ratio=[0.1] * len(loads),
    )  # fmt: skip


def case(trace="web_test", size=0.1, budget=0.25, taught="disk time", scale=1.0, writes=None, **loads):
    """Two trainings, 1 % apart for the model; all loads `scale` times those of `LOADS` where not given."""
    own = {name: scale * loads.get(name, load) for name, load in LOADS.items()}
    runs = [run(name, [load, 1.01 * load if name == BALEEN else load], writes or budget) for name, load in own.items()]
    return baleen.SweepCase(
        trace=trace, category=trace.partition("_")[0], capacity_fraction=size, write_budget=budget, taught=taught,
        best_policy=REJECTX, saved=1 - own[BALEEN] / own[REJECTX], saved_interval=(0.1, 0.2), runs=runs,
    )  # fmt: skip


def mode(name, peak, policy=BALEEN, trace="web_test"):
    return baleen.ModeRun(trace=trace, policy=policy, mode=name, mean_dt=peak / 2, peak_dt=peak, writes=0.25)


def figure(*cases, modes=None):
    every = [mode("none", 3.0), mode("all_on_miss", 2.5), mode("none", 3.5, COIN_FLIP)]
    every.append(mode("all_on_miss", 4.2, COIN_FLIP))
    return baleen.figure_of(cases or [case()], every if modes is None else modes, 2)
