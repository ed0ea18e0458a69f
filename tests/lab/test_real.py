"""Traces on devices: what is said of times and rankings, and the targets that are made."""

import itertools
from dataclasses import replace

import numpy as np
import pytest
from PIL import Image
from scipy.stats import kendalltau

from cachezoo.contest.counting import first_access
from cachezoo.devices.analytic import t_hdd_us, t_ssd_us
from cachezoo.devices.microbench import design
from cachezoo.devices.service import ServiceTimes
from cachezoo.errors import CachezooError
from cachezoo.policies.registry import OPTIMUM, classics
from cachezoo.policies.simulate import simulate
from cachezoo.settings.device import RealDevice
from cachezoo.traces.pages import capacity_pages, expand_pages
from cachezoo.traces.table import Trace
from lab.notes.real_devices import main
from lab.real import plot
from lab.real import run as module
from lab.real.document import read_real
from lab.real.run import Category, Rounds, ranked, run
from tests.rcrnn_data import make_trace
from tests.unit.devices.test_calibrating import BLOCK, CAPACITY, MODELS, REAL

FRACTION, SLOW = 0.1, 1.5
WRITES = REAL.model_copy(update={"writes": "replay"})


def designed(key: str, seed: int) -> Trace:
    asked, like = design("hdd", CAPACITY // 2, 1000, writes=True, seed=seed), make_trace(10, 1, key)
    count = len(asked)
    size, op = asked.size // BLOCK * BLOCK + BLOCK, asked.write
    volume = like.volume.take(np.zeros(count, np.int64))
    return Trace(np.arange(count), op, asked.offset // BLOCK * BLOCK, size, volume, like.meta)


@pytest.fixture(scope="module")
def device():
    """Devices that take what the models say, every second round half as long again."""
    slower = itertools.cycle([1.0, SLOW, 1.0])

    def respond(trace: Trace, device: RealDevice):
        assert device.repetitions == 1 and device.writes == "replay"
        changed = {"requests": len(trace), "zero_length": 0, "rounded": 0, "folded": 0, "writes_as_reads": 0}
        said = {"target.disk": "sdz", "target.data_bytes": str(CAPACITY), "fio": "fio-3.99"}
        own = {"rows_changed": changed, "spread": 0.0, "data_bytes": CAPACITY, "measured": said}
        factor = next(slower)
        return factor * t_hdd_us(trace, MODELS.hdd), factor * t_ssd_us(trace, MODELS.ssd), {"hdd": own, "ssd": own}

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module, "respond", respond)
        yield


@pytest.fixture(scope="module")
def found(device):
    tests = {"one": designed("one", 2)}
    return run([Category("made", designed("train", 1), tests)], WRITES, ("models", MODELS), FRACTION, 2), tests


def test_a_model_of_the_device_has_no_demerit_and_the_second_round_a_third_of_the_mean(found):
    own, _ = found
    for replay in own.replays:
        # The train trace took a factor of 1, the test trace 1.5 and 1: their median is 1.25 times the models' times.
        measured, profile, fitted = replay.quantiles
        assert measured.demerit is None and profile.mean_us == pytest.approx(measured.mean_us / 1.25)
        ratio = np.sqrt(1 + (replay_sd(found[1]["one"], replay.device) ** 2))
        assert profile.demerit == pytest.approx(0.2 * ratio, rel=0.02)
        assert replay.round_demerit == pytest.approx(ratio / 3, rel=0.02)
        assert fitted.mean_us == pytest.approx(profile.mean_us, rel=0.1)
    assert [fit.why for fit in own.fits] == ["", ""] and all(fit.demerit < 0.1 for fit in own.fits)


def replay_sd(trace: Trace, kind: str) -> float:
    """Standard deviation of the models' times over their mean."""
    times = t_hdd_us(trace, MODELS.hdd) if kind == "hdd" else t_ssd_us(trace, MODELS.ssd)
    return float(times.std() / times.mean())


def test_caches_are_ranked_by_their_simulations():
    trace = make_trace(3000, 4, "one")
    first, second = (t_hdd_us(trace, MODELS.hdd), t_ssd_us(trace, MODELS.ssd)), (
        np.full(len(trace), 900.0), np.full(len(trace), 90.0)
    )  # fmt: skip
    rows, agreement = ranked("one", trace, FRACTION, Rounds([first, first], {}), {"profile": second})
    pages = expand_pages(trace)
    capacity, warmup = capacity_pages(FRACTION, pages.n_pages), first_access(pages)
    assert [row.policy for row in rows] == [*classics(), OPTIMUM]
    for row in rows[::7]:
        ran = simulate(trace, pages, row.policy, capacity, warmup)
        assert row.hit_ratio == ran.hit_ratio
        assert row.measured_us == pytest.approx(ran.mean_response_us(ServiceTimes.of(trace, *first)))
        assert row.profile_us == pytest.approx(ran.mean_response_us(ServiceTimes.of(trace, *second)))
        assert row.fitted_us is None
    by_model, again = agreement
    assert (again.times, again.tau, again.loss) == ("round", pytest.approx(1.0), 0.0)
    tau = kendalltau([row.measured_us for row in rows], [row.profile_us for row in rows]).statistic
    assert by_model.tau == pytest.approx(tau)
    best = min(rows[:-1], key=lambda row: row.measured_us)
    chosen = min(rows[:-1], key=lambda row: row.profile_us)
    assert (by_model.best_measured, by_model.best) == (best.policy, chosen.policy)
    assert by_model.loss == pytest.approx(chosen.measured_us / best.measured_us - 1)


def test_what_was_found_is_drawn_and_printed(found, tmp_path):
    own, _ = found
    plot.draw(own, tmp_path / "real.png")
    assert Image.open(tmp_path / "real.png").size[0] > 500
    assert [table.row_count for table in plot.tables(own)] == [6, 2, 3]


def test_what_cannot_be_fitted_says_why(device):
    train = designed("train", 1)
    same = replace(train, size=np.full(len(train), BLOCK))
    own = run([Category("made", same, {"one": designed("one", 2)})], WRITES, ("models", MODELS), FRACTION, 1)
    assert all("requests are of 4096 bytes" in fit.why and fit.demerit is None for fit in own.fits)
    assert all(row.fitted_us is None for row in own.caches)
    assert [one.times for one in own.agreement] == ["profile"]
    assert all(row.round_demerit is None and len(row.quantiles) == 2 for row in own.replays)


def test_arguments_that_do_not_go_together_are_refused(capsys):
    with pytest.raises(SystemExit):
        main(["--disk", "/dev/sdz"])
    assert "give both --disk and --ssd or neither" in capsys.readouterr().err


def test_a_document_that_is_missing_names_what_makes_it(tmp_path):
    with pytest.raises(CachezooError, match=r"is missing; run `python -m lab\.notes\.real_devices`"):
        read_real(tmp_path / "real.json")
