"""The process that serves a disk: it starts nbdkit, watches it, shows what it does, and stops it."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import threading
import time
from collections import deque
from pathlib import Path
from typing import Any

from cachezoo.serve import attach, control, found, metrics, options, words
from cachezoo.serve.exposition import Family
from cachezoo.serve.options import Settings
from cachezoo.serve.state import State
from cachezoo.serve.watch import Watch
from cachezoo.serve.words import ServeError

EVERY_S = 1.0  # between looks at the counters
LOOK_S, START_S = 30.0, 120.0  # how long the filter may take to answer, and to serve
TOLD_S = 5.0  # after so long people are told what the end waits for
KEPT = 50  # lines of nbdkit that are kept until it serves


class Served:
    """One served disk.

    Attributes:
        wanted: what was asked for; its policy changes with a reload.
        state: its folder.
    """

    def __init__(self, wanted: Settings, state: State) -> None:
        self.wanted, self.state = wanted, state
        self._started = self._since = 0.0
        self._child: subprocess.Popen[bytes] | None = None
        self._attached: attach.Attached | str = "it was not tried"
        self._server: metrics.Server | None = None
        self._watch, self._counters, self._guard = Watch(), dict[str, Any](), threading.Lock()
        self._said: deque[str] = deque(maxlen=KEPT)
        self._ready = False
        self._stop, self._stops, self._wake = False, 0, threading.Event()

    def start(self) -> dict[str, Any]:
        """Serve.

        Returns:
            The note: what is served, and where.

        Raises:
            ServeError: it cannot be, in one line; nothing is left behind then.
        """
        found.check(self.wanted)
        self.state.make()
        own = found.label(self.wanted)
        if own is not None:
            Path(own).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = self.state.take()
        try:
            if self.wanted.metrics is not None:
                self._server = metrics.Server(self.wanted.metrics, self.families)
            self._run(lock)
            attach.detach_stale(self.state.before.get("device"), self.state.before.get("device_holder"))
            self._attached = attach.attach(str(self.state.socket), self.state.uri, self.wanted.attach)
            self._look()
        except BaseException:
            self.end()
            raise
        finally:
            os.close(lock)
        return self.note()

    def _run(self, lock: int) -> None:
        """Start nbdkit, and wait until clients can connect."""
        line = found.command(self.wanted, *map(str, (self.state.socket, self.state.control, self.state.ready)))
        self._lock = os.dup(lock)
        # The main thread starts it: --exit-with-parent is of the thread that did.
        self._child = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, pass_fds=(lock,), umask=0o077)  # fmt: skip
        self._started, self._since = time.time(), time.monotonic()
        listener = threading.Thread(target=self._listen, args=(self._child,), daemon=True)
        listener.start()
        end = time.monotonic() + START_S
        while not (self.state.ready.exists() and self.state.ready.read_text()):
            if self._child.poll() is not None:
                listener.join(LOOK_S)
                raise ServeError(self._why())
            if self._stop:
                raise ServeError(f"{self.wanted.name}: stopped before it served")
            if time.monotonic() > end:
                raise ServeError(f"{self.wanted.name}: nbdkit did not serve within {START_S:.0f} s")
            time.sleep(0.01)
        self._ready = True
        for text in list(self._said):
            words.say(f"{self.wanted.name}: {words.here(text)}")

    def _listen(self, child: subprocess.Popen[bytes]) -> None:
        """Pass on nbdkit's lines: once it serves at once, before that with what it ends with."""
        assert child.stderr is not None
        for line in child.stderr:
            text = line.decode(errors="replace").strip()
            if self._ready:
                words.say(f"{self.wanted.name}: {words.here(text)}")
            else:
                self._said.append(text)

    def _why(self) -> str:
        """Why nbdkit did not start: its first error, in the words of the options here."""
        errors = [line.split("error: ", 1)[1] for line in self._said if "error: " in line]
        text = (errors or list(self._said) or [f"nbdkit ended with status {self._child and self._child.returncode}"])[0]
        return words.here(text)

    def _look(self) -> None:
        """Take the counters, and write what is shown of them."""
        try:
            counters = control.ask(self.state.control, "status", patience_s=LOOK_S)
        except ServeError:
            counters = {}
        now = time.monotonic()
        with self._guard:
            self._counters = counters
            if counters:
                self._watch.note(now, *metrics.accesses(counters))
        self.state.write(self.note())
        if self.wanted.metrics_file is not None:
            try:
                metrics.write(Path(self.wanted.metrics_file), self.families())
            except OSError as error:
                words.say(f"{self.wanted.name}: {self.wanted.metrics_file}: {error.strerror}")

    def note(self) -> dict[str, Any]:
        """What is served, and how well, as `serve status` shows it."""
        with self._guard:
            measured = self._watch.measured(time.monotonic())
            counters = self._counters
        wanted, attached = self.wanted, self._attached
        note = {
            "name": wanted.name, "pid": os.getpid(), "nbdkit_pid": self._child and self._child.pid,
            "disk": wanted.disk, "ssd": wanted.ssd, "size": wanted.size, "mode": wanted.mode, "policy": wanted.policy,
            "write_rate": wanted.write_rate, "uri": self.state.uri, "socket": str(self.state.socket),
            "device": attached.device if isinstance(attached, attach.Attached) else None,
            "device_holder": attached.holder if isinstance(attached, attach.Attached) else None,
            "no_device": attached if isinstance(attached, str) else None, "config": wanted.config,
            "metrics": self._server and self._server.url, "started": self._started,
            "seconds": time.monotonic() - self._since, "promised": wanted.promise, "measured": measured.hits,
            "measured_accesses": measured.accesses, "measured_seconds": measured.seconds,
            "promise_missed": measured.missed(wanted.promise),
        }  # fmt: skip
        return with_counters(note, counters)

    def families(self) -> list[Family]:
        """What is counted, as metrics; of the moment where the filter answers."""
        with contextlib.suppress(ServeError):
            counters = control.ask(self.state.control, "status", patience_s=LOOK_S)
            with self._guard:
                self._counters = counters
                self._watch.note(time.monotonic(), *metrics.accesses(counters))
        return metrics.families(self.note())

    def stop(self, *_: object) -> None:
        """Ask `wait` to end, as a signal does."""
        self._stop = True
        self._stops += 1
        self._wake.set()

    def wait(self) -> int:
        """Serve until it is stopped, or nbdkit ends; the exit status."""
        assert self._child is not None
        while not self._stop and self._child.poll() is None:
            self._wake.wait(EVERY_S)
            if not self._stop:
                self._look()
        if self._stop:
            return 0
        words.say(f"{self.wanted.name}: nbdkit ended with status {self._child.returncode}; start it again to go on")
        return 1

    def reload(self, *_: object) -> None:
        """Take the policy that the file of options names now."""
        try:
            if self.wanted.config is None:
                raise ServeError("there is no file of options; name a policy by serve reload NAME --policy")
            texts = options.read_file(self.wanted.config)
            change(self.state, texts.get("policy", "lru"))
        except ServeError as error:
            words.say(f"{self.wanted.name}: not reloaded: {error}")

    def end(self) -> None:
        """Detach, stop nbdkit, and leave nothing behind."""
        if self._server is not None:
            self._server.close()
        if isinstance(self._attached, attach.Attached):
            self._attached.detach()
        if self._child is not None and self._child.poll() is None:
            self._child.terminate()
            self._last()
        self.state.remove()

    def _last(self) -> None:
        """Wait until nbdkit has ended: in mode back it writes what only the SSD holds, which may take long.

        A second signal kills it, which loses nothing, as a crash does not.
        """
        assert self._child is not None
        self._stops, begin, told = 0, time.monotonic(), False
        while self._child.poll() is None:
            if time.monotonic() - begin > TOLD_S and not told:
                words.say(f"{self.wanted.name}: nbdkit is still writing to the disk; once more Ctrl-C kills it")
                told = True
            if self._stops:
                self._child.kill()
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._child.wait(0.2)


def with_counters(note: dict[str, Any], counters: dict[str, Any]) -> dict[str, Any]:
    """A note with the counters of the filter, and what they say of a policy and SSD that came later."""
    later = {"policy": counters.get("policy"), "ssd": counters.get("ssd"), "size": counters.get("cache_bytes")}
    return {**note, **{key: value for key, value in later.items() if value}, "counters": counters}


def notify(text: str) -> None:
    """Tell systemd, where it started this (sd_notify(3))."""
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
            wire.connect("\0" + address[1:] if address.startswith("@") else address)
            wire.sendall(text.encode())


def change(state: State, policy: str) -> dict[str, Any]:
    """Another policy for a served disk, without cutting a client; the filter's answer."""
    key, value = found.policy(policy)
    return control.ask(state.control, "reload", {key: value})
