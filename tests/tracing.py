"""How far a recording of another process is, as the kernel tells it; and a clock that nobody waits for."""

import subprocess
from contextlib import contextmanager

from cachezoo.capture.live import Clock
from cachezoo.capture.tracefs import MOUNT_POINT, PREFIX
from tests.replay_data import settle


@contextmanager
def running(command, **options):
    """A process that records; whatever the test does, it is told to end, undoes what it did, and is gone."""
    with subprocess.Popen(command, **options) as process:
        try:
            yield process
        finally:
            if process.poll() is None:
                process.terminate()
                settle(lambda: process.poll() is not None)
            process.kill()


def instance_of(process):
    """The folder of a process's recording."""
    return MOUNT_POINT / "instances" / f"{PREFIX}{process.pid}"


def events(process):
    """How many events it has been given and has taken; -1 where it does not record."""
    folder = instance_of(process)
    try:
        if (folder / "tracing_on").read_text().strip() != "1":
            return -1
        said = [line.partition(":") for file in folder.glob("per_cpu/cpu*/stats") for line in file.open()]
    except OSError:
        return -1
    return sum(int(value) for name, _, value in said if name in ("entries", "read events"))


def wait_for_requests(process, least=50):
    """Until it has recorded some events; the process has to live meanwhile."""
    assert settle(lambda: process.poll() is not None or events(process) >= least, 120), "nothing was recorded"
    assert process.poll() is None, process.communicate()


def unwaited():
    """A clock that sleeping moves on, at once."""
    moment = [0.0]

    def sleep(seconds):
        moment[0] += seconds

    return Clock(lambda: moment[0], sleep)
