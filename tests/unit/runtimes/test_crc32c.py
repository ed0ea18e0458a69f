"""The CRC-32C of the mounted cache: every path of this CPU equals the definition, whatever the length and alignment."""

import subprocess

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cachezoo.seeds import derive_seed
from tests.c_library import build

pytestmark = pytest.mark.needs("gcc")


def naive(data: bytes) -> int:
    """Bit by bit, the polynomial 0x1EDC6F41 reversed (RFC 3720, section 12.1)."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


@pytest.fixture(scope="module")
def paths(tmp_path_factory):
    """The CRC of some data by each path; each has been compared with the others."""
    program = build(tmp_path_factory.mktemp("crc") / "run", ["tests/crc32c_run.c", "nbdkit/crc32c.c"])

    def run(data: bytes) -> list[int]:
        done = subprocess.run([program], input=data, capture_output=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return [int(line.split()[1], 16) for line in done.stdout.decode().splitlines()]

    return run


@pytest.mark.parametrize(
    ("data", "crc"),
    [(bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43), (bytes(range(32)), 0x46DD794E), (b"123456789", 0xE3069283)],
)
def test_published_values(paths, data, crc):
    """RFC 3720, appendix B.4."""
    assert naive(data) == crc
    assert set(paths(data)) == {crc}


@given(data=st.binary(max_size=700))
def test_every_path_is_the_definition(paths, data):
    assert set(paths(data)) == {naive(data)}


@pytest.mark.parametrize("size", [4096, 4097, 131072 + 5])
def test_whole_units(paths, size):
    data = np.random.default_rng(derive_seed(0, "crc32c", size)).bytes(size)
    assert set(paths(data)) == {naive(data)}
