"""What the paper on the virtual I/O cache says of its applications, its workloads and its results.

Frasca, Prabhakar, Raghavan, Kandemir: Virtual I/O Caching: Dynamic Storage Cache Management for Concurrent Workloads
(SC 2011). Ratios are shares here, percents there; a MB of a cache is 256 pages of 4 KiB.
"""

from typing import NamedTuple

MB_PAGES = 256
QUEUE_MB = 1024
"""Of the virtual queue, N, in all its experiments (Section 5.1)."""
RUNS, DECAY, QUANTUM = 2, 0.95, 2000
"""f, alpha and q of its standard set-up (Section 4.2)."""
SIZES_MB = (2, 4, 8, 16, 32, 64, 128, 256, 512, 768, 1024)
"""Cache sizes: powers of two from its least to its most, and the 768 MB that it names."""
AVERAGED_MB = (32, 64, 128, 256)
"""Over which of them gains are averaged: 'from 32 MB to 256 MB' (Section 5.1)."""
COMPARED_MB = (16, 32, 64)  # of Fig. 4


class Application(NamedTuple):
    """A row of Table 2: working set in MB, length in page references; a million where the table has 1,000,000+."""

    megabytes: int
    references: int

    @property
    def pages(self) -> int:
        """Of the working set."""
        return self.megabytes * MB_PAGES


MILLION = 1_000_000  # all that it keeps of a longer trace
APPLICATIONS = {
    "bsse": Application(12, 69_149),
    "cass": Application(23, 198_223),
    "cpf1": Application(13, 345_747),
    "cpf2": Application(20, 359_643),
    "dft1": Application(25, 43_352),
    "dft2": Application(71, 204_517),
    "uks": Application(21, 79_648),
    "cth": Application(253, MILLION),
    "fortIO": Application(713, MILLION),
    "mpiIO": Application(356, MILLION),
    "pnetcdf": Application(356, MILLION),
    "btA": Application(400, 307_409),
    "btB": Application(2048, 786_464),
    "btC": Application(1619, MILLION),
    "hpio": Application(1537, 789_708),
    "iozone": Application(288, MILLION),
    "lu": Application(526, MILLION),
    "mpitile": Application(255, MILLION),
    "tpcc": Application(276, 938_043),
    "tpcr": Application(620, MILLION),
}
"""Table 2."""
SHOWN = ("mpitile", "pnetcdf", "lu", "tpcc")  # of Fig. 5
LOOPING = ("mpitile", "lu")  # of Fig. 9

_W4 = ("cass", "dft1", "dft2", "uks")
_W8 = (*_W4, "cth", "fortIO", "mpiIO", "pnetcdf")
WORKLOADS = {
    "W4": _W4,
    "W8": _W8,
    "W16": (*_W8, "bsse", "cpf1", "cpf2", "btA", "lu", "hpio", "iozone", "mpitile"),
    "W20": tuple(APPLICATIONS),
}
"""Table 3. Its W16 has a seventeenth name, mr2, which no other table has; without it they are sixteen."""
