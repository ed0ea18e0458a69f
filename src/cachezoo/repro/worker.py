"""One stage in a process of its own; its output is passed on in whole lines, each under the stage's name."""

import contextlib
import multiprocessing
import os
import shutil
import signal
import sys
import time
from collections.abc import Iterator
from multiprocessing.connection import Connection
from typing import IO, Any

from dvc.exceptions import DvcException
from dvc.repo import lock_repo
from dvc.stage import Stage
from dvc.stage.serialize import to_lockfile

from cachezoo.repro.lockfile import entry_text
from cachezoo.stage import STARTED_BY, die_with_parent

BEGUN = b"Running stage '"
COMMAND = b"> "
SKIPPED = (b"' didn't change, skipping", b"' is cached - skipping run, checking out outputs")
FAILED = 255
INTERRUPTED = 128 + signal.SIGINT


def _causes(error: BaseException | None) -> Iterator[str]:
    while error is not None:
        yield str(error)
        error = error.__cause__


def _run(stage: Stage, force: bool, parent: int, out: int, err: int, result: Connection) -> None:
    """Bring a stage up to date; runs in the new process, which Ctrl-C leaves alone so that DVC's files stay whole."""
    interrupts: list[int] = []
    signal.signal(signal.SIGINT, lambda number, _: interrupts.append(number))
    os.environ[STARTED_BY] = str(os.getpid())
    die_with_parent()
    if os.getppid() != parent:
        os._exit(FAILED)
    # DVC runs a command by the user's shell. Bash puts the command in its own place; dash waits for it, and would keep
    # a stage alive whose DVC was killed, because a stage watches its parent.
    os.environ["SHELL"] = shutil.which("bash") or os.environ.get("SHELL", "/bin/sh")
    os.dup2(out, sys.stdout.fileno())
    os.dup2(err, sys.stderr.fileno())
    try:
        with lock_repo(stage.repo):
            # What DVC's own loop does with a stage, but that the text goes to the one process that writes dvc.lock.
            done = stage.reproduce(force=force)
            result.send(entry_text(to_lockfile(done)) if done else None)
    except DvcException as error:
        if interrupts:  # its end is no failure
            raise SystemExit(INTERRUPTED) from error
        sys.stderr.write(f"ERROR: failed to reproduce '{stage.name}': {': '.join(_causes(error))}\n")
        raise SystemExit(FAILED) from error


class _Stream:
    """One end of a pipe, read without waiting and passed on line by line.

    Args:
        prefix: what stands before each line.
        to: where lines go.
        whole: pass on what DVC says of a stage too: that it begins and with which command, or is skipped.
    """

    def __init__(self, prefix: bytes, to: IO[bytes], whole: bool) -> None:
        self.end, self.write_end = os.pipe()
        os.set_blocking(self.end, False)
        self.begun = False
        self.hushed = False
        self._command = False
        self._prefix, self._to, self._whole, self._rest = prefix, to, whole, b""

    def pass_on(self) -> bool:
        """Pass on what is there; False at the end of the stream."""
        with contextlib.suppress(BlockingIOError):
            while piece := os.read(self.end, 1 << 16):
                *lines, self._rest = (self._rest + piece).split(b"\n")
                self._print(lines)
            return False
        return True

    def _print(self, lines: list[bytes]) -> None:
        if self.hushed:
            return
        own = [line for line in lines if line.strip() and not self._of_dvc(line)]
        shown = own if not self._whole else [line for line in lines if line.strip()]
        self._to.write(b"".join(self._prefix + line + b"\n" for line in shown))
        self._to.flush()

    def _of_dvc(self, line: bytes) -> bool:
        """Whether DVC says this of the stage, not the stage itself."""
        if not self.begun:
            self.begun = self._command = line.startswith(BEGUN)
            return self.begun or line.endswith(SKIPPED)
        self._command = self._command and line.startswith(COMMAND)
        return self._command

    def close(self) -> None:
        """Pass on the rest, an unfinished line included."""
        self.pass_on()
        self._print([self._rest])
        os.close(self.end)


class Worker:
    """A stage that is being brought up to date.

    Attributes:
        name: the stage.
        start: when it was begun, in seconds since 1970.
        entry: its lines of dvc.lock once it has ended; None if nothing was to be done, or it failed.
    """

    def __init__(self, stage: Stage, force: bool, out: IO[bytes], err: IO[bytes], whole: bool = True) -> None:
        """Start it.

        Args:
            stage: as DVC has loaded it.
            force: run it even if nothing has changed.
            out: where lines of its standard output go, the stage's name before each.
            err: the same for standard error.
            whole: pass on what DVC says of the stage too.
        """
        self.name: str = stage.name
        self.start = time.time()
        self.entry: str | None = None
        self._streams = [_Stream(f"{self.name} | ".encode(), to, whole) for to in (out, err)]
        self._open = {stream.end: stream for stream in self._streams}
        # Forked: DVC and the project are loaded once. No thread has been started, DVC's files and locks are closed.
        context = multiprocessing.get_context("fork")
        self._result, write_end = context.Pipe(duplex=False)
        ends = [stream.write_end for stream in self._streams]
        self._process = context.Process(target=_run, args=(stage, force, os.getpid(), *ends, write_end))
        self._process.start()
        write_end.close()
        for end in ends:
            os.close(end)

    @property
    def sources(self) -> list[Any]:
        """What to wait for with `multiprocessing.connection.wait`: its output and its end."""
        return [*self._open, *([] if self._result.closed else [self._result]), self._process.sentinel]

    def look(self) -> int | None:
        """Pass on what it has printed; its exit status once it has ended, as a shell gives it."""
        for end, stream in list(self._open.items()):
            if not stream.pass_on():
                del self._open[end]
        if not self._result.closed and self._result.poll():
            with contextlib.suppress(EOFError):
                self.entry = self._result.recv()
            self._result.close()
        status = self._process.exitcode
        if status is None:
            return None
        for stream in self._streams:
            stream.close()
        return 128 - status if status < 0 else status

    @property
    def ran(self) -> bool:
        """Whether the stage's command was started; a stage may be up to date or restored from DVC's cache."""
        return self._streams[0].begun

    def hush(self) -> None:
        """Pass on no more of its standard error, where an interrupted program says from where it was called."""
        self._streams[1].hushed = True

    def kill(self) -> None:
        """End it at once; the stage's own process ends with it."""
        self._process.kill()
