"""Starts a stage in an environment in which its bytes depend on no type of CPU: `pinned.py SCRIPT [ARGUMENT…]`.

numpy, OpenBLAS, torch, oneDNN and MKL look at the CPU and choose other code on another one, with other last digits;
where a network learns, those grow. They read these variables once, as they are loaded, so the variables are there
before the interpreter starts. The choices are what every CPU with AVX2 and FMA has. Run as a file this imports nothing
of the project; `scripts/python` does that. `benchmarks/cpu_types.py` compares types of CPU.
"""

import os
import sys

PINNED = {
    "PYTHONHASHSEED": "0",
    # torch's own kernels.
    "ATEN_CPU_CAPABILITY": "avx2",
    # oneDNN, which compiles LSTMs: the same instructions on all CPUs, none of them with a result that is its maker's.
    "ONEDNN_MAX_CPU_ISA": "AVX2",
    # MKL, which multiplies matrices and takes exponentials: its AVX2 branch is taken on Intel's CPUs alone.
    "MKL_CBWR": "COMPATIBLE",
    # numpy's logarithms, and the matrix products of numpy and scipy.
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
    "OPENBLAS_CORETYPE": "Haswell",
    # Sums over several threads depend on how many there are; a library takes the number that it is given.
    "OMP_NUM_THREADS": "1",
    "MKL_NUM_THREADS": "1",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_DYNAMIC": "FALSE",
    "MKL_DYNAMIC": "FALSE",
    # Threads that wait sleep: where another process wants the cores too, spinning makes training several times slower.
    "OMP_WAIT_POLICY": "passive",
}
"""Environment variables of every process that makes what the pipeline keeps."""

# Python 3.11 does not notice that a module's compiled form fits only in part, and no later run can read it.
ROOM_FOR_BYTECODE = 64 << 20
NO_BYTECODE = {"PYTHONDONTWRITEBYTECODE": "1"}


def environment() -> dict[str, str]:
    """This process's environment, pinned; on a disk that is nearly full, one in which Python writes no bytecode."""
    disk = os.statvfs(os.path.dirname(__file__))
    full = disk.f_bavail * disk.f_frsize < ROOM_FOR_BYTECODE
    return {**os.environ, **PINNED, **(NO_BYTECODE if full else {})}


if __name__ == "__main__":
    os.execve(sys.executable, [sys.executable, *sys.argv[1:]], environment())
