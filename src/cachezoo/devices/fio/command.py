"""Command lines of fio for each kind of replay."""

from dataclasses import dataclass
from typing import Literal

from cachezoo.devices.fio.contract import ReplayTarget
from cachezoo.devices.fio.program import Program
from cachezoo.errors import DeviceError

Mode = Literal["service", "closed", "response"]
# Before, completions wait for the next request's time: 65 ms where the device took 0.03 ms.
TIMED = (3, 36)
IOLOG = "requests.iolog"
LOG = "times"
LATENCY_LOG = f"{LOG}_lat.log"
SUBMISSION_LOG = f"{LOG}_slat.log"


@dataclass(frozen=True)
class Way:
    """How requests are issued."""

    # `service`: each when the one before is done; `closed`: `depth` at a time, as fast as they complete; `response`: at
    # the trace's own times, at most `depth` at a time
    mode: Mode = "service"
    depth: int = 1  # queue depth, 1 for `service`
    chunked: bool = False  # fio reads the iolog bit by bit instead of at once

    @property
    def joined(self) -> bool:
        """Whether the latency log is in the order of completion."""
        return self.depth > 1


def check_way(way: Way, program: Program, target: ReplayTarget) -> None:
    """Refuse what this fio, engine or mode cannot do.

    Raises:
        DeviceError: the combination does not work.
    """
    if way.mode == "service" and way.depth != 1:
        message = f"{target.label}: service times are measured at queue depth 1, not {way.depth}; use mode closed"
        raise DeviceError(message)
    if way.mode == "response":
        program.needs(TIMED, "a replay at the trace's own times")
    if way.depth > 1 and target.engine == "psync":
        message = f"{target.label}: engine psync has queue depth 1, not {way.depth}; set device.engine to libaio"
        raise DeviceError(message)
    # While it waits for the next request's time, fio looks for completions of libaio, not of nbd (3.39).
    if way.mode == "response" and target.engine != "libaio":
        message = f"{target.label}: a replay at the trace's own times needs device.engine libaio, not {target.engine}"
        raise DeviceError(message)


def replay_command(program: Program, target: ReplayTarget, way: Way, largest: int, writes: bool) -> list[str]:
    """The command that replays the iolog in the working folder and logs each request's latency there.

    None of the latency measurements is switched off: without one of them fio 3.33 logs nonsense (10**15 µs) for
    another.

    Args:
        program: which fio.
        target: what to replay on.
        way: how.
        largest: bytes of the largest request; a chunked replay makes its buffers before it has seen them all.
        writes: whether there are writes; fio is told to refuse them where not.

    Raises:
        DeviceError: as `check_way`.
    """
    check_way(way, program, target)
    command = [
        program.path,
        "--name=replay",
        "--thread",
        f"--ioengine={target.engine}",
        f"--iodepth={way.depth}",
        *target.fio_options(),
        f"--read_iolog={IOLOG}",
        f"--bs={largest}",
        f"--write_lat_log={LOG}",
        "--per_job_logs=0",
        "--log_offset=1",
        "--disable_bw_measurement=1",
        "--eta=never",
        "--output-format=json",
    ]
    if way.chunked:
        command.append("--read_iolog_chunked=1")
    if not writes:
        command.append("--readonly")
    return command
