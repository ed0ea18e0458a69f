"""An SSD, a label or a disk that fails for a while, at every call: no block is stale after the restart, none is lost.

The numbers in brackets are those of the crash model in docs/mounted.md.
"""

import random
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from cachezoo.errors import DeviceError
from cachezoo.seeds import derive_seed
from tests.e2e.test_nbd_filter import UNIT, back, labelled, read_all, tier, wait_for_text
from tests.nbd_filter import build_preload, serve

UNITS = 24
FOR_GOOD = 1 << 30


def write_back(folder, size):
    """Its cleaner does not wait."""
    return back(folder, size, "cz-delay=1", "cz-dirty=30")


SIDES = [
    pytest.param(tier, ["ssd"], id="ssd"),
    pytest.param(labelled, ["ssd"], id="ssd of a label"),
    pytest.param(labelled, ["label"], id="label"),
    pytest.param(labelled, ["ssd", "label"], id="both"),
    pytest.param(labelled, ["disk"], id="disk"),
    pytest.param(write_back, ["ssd"], id="ssd of write-back"),
    pytest.param(write_back, ["label"], id="label of write-back"),
    pytest.param(write_back, ["ssd", "label"], id="both of write-back"),
    pytest.param(write_back, ["disk"], id="disk of write-back"),
]  # fmt: skip

pytestmark = pytest.mark.needs("nbdkit", "gcc")


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    return build_preload("failing", tmp_path_factory.mktemp("preload") / "failing.so")


@dataclass
class Case:
    """A cache, what of it fails, and the preloaded library that lets it.

    Attributes:
        counts: requests that were sent.
        known: what each unit holds that was last written without an error.
    """

    built: Path
    failing: Path
    folder: Path
    options: list[str]
    files: list[str]
    counts: int = 0
    known: dict[int, bytes] = field(default_factory=dict)

    @property
    def said(self):
        return self.folder / "failed"

    def begin(self, rng):
        """A disk, and a tier that holds all of it."""
        for name in ("ssd", "label", "failed"):
            (self.folder / name).unlink(missing_ok=True)
        data = rng.randbytes(UNITS * UNIT)
        (self.folder / "disk").write_bytes(data)
        self.known = {unit: data[unit * UNIT : (unit + 1) * UNIT] for unit in range(UNITS)}
        self.check("kill" if rng.random() < 0.5 else "stop")

    def check(self, end="stop"):
        """A start without failures reads what was written, twice; after a clean end the disk holds it."""
        with serve(self.built, self.folder, self.options) as server:
            with server.disk() as disk:
                read, again = ([disk.read(unit * UNIT, UNIT)[0] for unit in range(UNITS)] for _ in range(2))
            assert read == again
            for unit, data in self.known.items():
                assert read[unit] == data, f"unit {unit} is lost or stale"
            self.counts += 2 * UNITS
            getattr(server, end)()
        if end == "stop" or "cz-writes=back" not in self.options:
            assert (self.folder / "disk").read_bytes() == b"".join(read)

    def run(self, rng, first, count, end):
        """Write, read and flush while calls fail; whether one did."""
        names = ":".join(str(self.folder / name) for name in self.files)
        variables = {"LD_PRELOAD": str(self.failing), "FAIL_FILES": names, "FAIL_SAID": str(self.said)}
        variables |= {"FAIL_FROM": str(first), "FAIL_COUNT": str(count)}
        with serve(self.built, self.folder, self.options, None, variables) as server:
            for _ in range(3):
                with suppress(OSError, DeviceError), server.disk() as disk:
                    for _ in range(8):
                        self.step(disk, rng)
            server.kill() if end == "kill" else server.stop()
        if "cz-writes=back" not in self.options:
            held = (self.folder / "disk").read_bytes()
            for unit, data in self.known.items():
                assert held[unit * UNIT : (unit + 1) * UNIT] == data, f"unit {unit} was acknowledged and is lost"
        return self.said.exists()

    def step(self, disk, rng):
        """A request; what a failed write leaves is not known."""
        unit, draw = rng.randrange(UNITS), rng.random()
        self.counts += 1
        if draw < 0.4:
            data = disk.read(unit * UNIT, UNIT)[0]
            if data != self.known.get(unit, data):
                message = f"unit {unit} is stale"
                raise LookupError(message)
        elif draw < 0.85:
            data = rng.randbytes(UNIT)
            self.known.pop(unit, None)
            disk.write(unit * UNIT, data)
            self.known[unit] = data
        else:
            disk.flush()


@pytest.mark.parametrize(("options", "files"), SIDES)
def test_what_fails_for_a_while_makes_no_stale_byte(built, failing, tmp_path, options, files):
    """[5] From every call on, for one call, a few, or until the end; with write-back, from every fourth."""
    rng = random.Random(derive_seed(0, "failing", *files))
    case = Case(built, failing, tmp_path, options(tmp_path, f"{UNITS * UNIT}"), files)
    step = 4 if options is write_back else 1
    first, failed = rng.randrange(step), True
    while failed:
        case.begin(rng)
        count = rng.choice((1, 3, FOR_GOOD)) if first % 2 else FOR_GOOD
        failed = case.run(rng, first, count, rng.choice(("kill", "stop")))
        case.check()
        case.check()
        first += step
    assert first > step


def test_a_change_after_the_disk_failed_as_the_last_client_left_is_seen(built, failing, tmp_path):
    """[2] The disk's account could not be taken, so nothing shows that it is the same as the next client comes."""
    rng = random.Random(derive_seed(0, "unknown account"))
    (tmp_path / "disk").write_bytes(rng.randbytes(UNITS * UNIT))
    variables = {
        "LD_PRELOAD": str(failing),
        "FAIL_FILES": str(tmp_path / "disk"),
        "FAIL_SAID": str(tmp_path / "failed"),
    }
    variables |= {"FAIL_FROM": "3", "FAIL_COUNT": str(FOR_GOOD)}  # from the flush of the client that leaves on
    with serve(built, tmp_path, tier(tmp_path, f"{UNITS * UNIT}"), None, variables) as server:
        read_all(server, tmp_path, UNIT)
        server.wait_until_alone()
        (tmp_path / "disk").write_bytes(rng.randbytes(UNITS * UNIT))
        read_all(server, tmp_path, UNIT)
        server.stop()
    assert (tmp_path / "failed").exists()


def test_writes_are_refused_where_neither_side_can_be_voided(built, failing, tmp_path):
    """[5] The tier holds every block, and nothing could ever show that it is old."""
    rng = random.Random(derive_seed(0, "refused"))
    case = Case(built, failing, tmp_path, labelled(tmp_path, f"{UNITS * UNIT}"), ["ssd", "label"])
    case.begin(rng)
    names = ":".join(str(tmp_path / name) for name in case.files)
    variables = {"LD_PRELOAD": str(failing), "FAIL_FILES": names, "FAIL_SAID": str(case.said)}
    variables |= {"FAIL_FROM": "3", "FAIL_COUNT": str(FOR_GOOD)}
    before = (tmp_path / "disk").read_bytes()
    with serve(built, tmp_path, case.options, None, variables) as server:
        for _ in range(3):
            with pytest.raises(DeviceError), server.disk() as disk:
                disk.write(0, b"x" * UNIT)
        read_all(server, tmp_path, UNIT)
        wait_for_text(server.said, "writes are refused")
        server.kill()
    assert (tmp_path / "disk").read_bytes() == before
    case.check()
