"""The process that serves a disk: it starts nbdkit, watches it, shows what it does, and stops it."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import re
import socket
import subprocess
import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from cachezoo.serve import attach, control, found, metrics, nbd, options, words
from cachezoo.serve.exposition import Family
from cachezoo.serve.options import Settings
from cachezoo.serve.state import State, replace
from cachezoo.serve.watch import Watch
from cachezoo.serve.words import ServeError

EVERY_S = 1.0  # between looks at the counters
LOOK_S, START_S = 30.0, 120.0  # how long the filter may take to answer, and to serve
TOLD_S = 5.0  # after so long people are told what the end waits for
KEPT = 50  # lines of nbdkit that are kept
STOPPED, ENDED, LEFT = 0, 1, 3  # exit status: all is on the disk; nbdkit ended; not all is on the disk
TURNS = ("cz-monitor", "cz-models", "cz-vote-every")  # of the filter: models that take turns below a bundle
ON_SSD = re.compile(r"([0-9]+) bytes are on the SSD alone")  # the filter's last line in mode back


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
        self._watch, self._guard = Watch(), threading.Lock()
        self._counters, self._known = dict[str, Any](), dict[str, Any]()  # of the moment, and the last ones
        self._said: deque[str] = deque(maxlen=KEPT)
        self._ready = self._failed = False
        self._asking, self._reloads = threading.Lock(), 0
        self._complained: set[str] = set()
        self._listener: threading.Thread | None = None
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
        """Start nbdkit, and wait until clients can connect and commands are taken."""
        line = found.command(self.wanted, *map(str, (self.state.socket, self.state.control, self.state.ready)))
        self._lock = os.dup(lock)
        # The main thread starts it: --exit-with-parent is of the thread that did.
        self._child = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                       stderr=subprocess.PIPE, pass_fds=(lock,), umask=0o077)  # fmt: skip
        self._started, self._since = time.time(), time.monotonic()
        listener = self._listener = threading.Thread(target=self._listen, args=(self._child,), daemon=True)
        listener.start()
        end = time.monotonic() + START_S
        while not (self.state.ready.exists() and self.state.ready.read_text() and control.listens(self.state.control)):
            if self._child.poll() is not None:
                listener.join(LOOK_S)
                raise ServeError(self._why())
            if self._stop:
                raise ServeError(f"{self.wanted.name}: stopped before it served")
            if time.monotonic() > end:
                raise ServeError(f"{self.wanted.name}: nbdkit did not serve within {START_S:.0f} s")
            time.sleep(0.01)
        if self.wanted.mode == found.BACK:
            self._take_up()
        self._ready = True
        for text in list(self._said):
            words.say(f"{self.wanted.name}: {words.here(text)}")

    def _take_up(self) -> None:
        """Connect once: the filter takes up what an SSD holds as the first client comes, and destages it only then."""
        try:
            nbd.connect(self.state.socket, START_S)
        except ServeError as error:
            time.sleep(0.1)  # the line that says why may be under way
            errors = self._errors()
            raise ServeError(words.here(errors[-1]) if errors else str(error)) from error

    def _listen(self, child: subprocess.Popen[bytes]) -> None:
        """Keep nbdkit's last lines, and pass them on: once it serves at once, before that with what it ends with."""
        assert child.stderr is not None
        for line in child.stderr:
            text = line.decode(errors="replace").strip()
            self._said.append(text)
            if self._ready:
                words.say(f"{self.wanted.name}: {words.here(text)}")

    def _errors(self) -> list[str]:
        """What nbdkit gave as errors so far."""
        return [line.split("error: ", 1)[1] for line in list(self._said) if "error: " in line]

    def _why(self) -> str:
        """Why nbdkit did not start: its first error, in the words of the options here."""
        errors = self._errors()
        text = (errors or list(self._said) or [f"nbdkit ended with status {self._child and self._child.returncode}"])[0]
        return words.here(text)

    def _look(self) -> None:
        """Take the counters, and write what is shown of them."""
        if not self._count():
            with self._guard:
                self._counters = {}
        self._attempt(str(self.state.note), lambda: self.state.write(self.note()))
        file = self.wanted.metrics_file
        if file is not None:
            self._attempt(file, lambda: metrics.write(Path(file), metrics.families(self.note())))

    def _attempt(self, what: str, write: Callable[[], None]) -> None:
        """Write a file. A full disk ends nothing: it is reported once, and again after a write that went well."""
        try:
            write()
        except (OSError, ValueError) as error:
            if what not in self._complained:
                reason = error.strerror if isinstance(error, OSError) else str(error)
                words.say(f"{self.wanted.name}: {what}: {reason}; serving goes on")
            self._complained.add(what)
        else:
            self._complained.discard(what)

    def _count(self) -> bool:
        """Take the counters of the moment; False where the filter does not answer.

        One thread at a time asks and notes: an older answer noted after a newer one looks like a restart.
        """
        with self._asking:
            try:
                counters = control.ask(self.state.control, "status", patience_s=LOOK_S)
            except ServeError:
                return False
            with self._guard:
                before, self._counters = self._counters or self._known, counters
                self._known = counters
                now, counts = time.monotonic(), metrics.accesses(counters)
                if counters.get("reloads", 0) != self._reloads:
                    self._reloads = counters.get("reloads", 0)
                    self._changed(before, counters, now)
                self._watch.note(now, *counts)
        return True

    def _changed(self, before: dict[str, Any], counters: dict[str, Any], now: float) -> None:
        """After a reload: another policy is measured from here on, and what was promised was of the one before."""
        if any(before.get(key) != counters.get(key) for key in ("policy", "bundle", "model_digest")):
            self._watch.begin(now, *metrics.accesses(counters))
            self.wanted = dataclasses.replace(self.wanted, promise=None)
        with contextlib.suppress(OSError, ValueError):
            promise = float(self.state.promise.read_text())
            self.state.promise.unlink()
            self.wanted = dataclasses.replace(self.wanted, promise=promise)

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
        self._count()
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
            return STOPPED
        words.say(f"{self.wanted.name}: nbdkit ended with status {self._child.returncode}; start it again to go on")
        self._failed = True
        return ENDED

    def reload(self, *_: object) -> None:
        """Take the policy, and what it promises, that the file of options names now."""
        try:
            if self.wanted.config is None:
                raise ServeError("there is no file of options; name a policy by serve reload NAME --policy")
            change(self.state, *of_file(self.wanted.config))
        except (ServeError, OSError) as error:
            words.say(f"{self.wanted.name}: not reloaded: {error}")

    def end(self) -> int:
        """Detach, stop nbdkit, and leave nothing behind, whatever fails.

        Returns:
            The exit status: STOPPED, or LEFT where the disk may not hold everything.
        """
        if self._server is not None:
            self._server.close()
        try:
            if isinstance(self._attached, attach.Attached):
                self._attached.detach()
        except (ServeError, OSError) as error:
            words.say(f"{self.wanted.name}: {error}")
        left: int | None = 0
        try:
            if self._child is not None:
                self._count()  # whether a client has come
                if self._child.poll() is None:
                    self._child.terminate()
                    self._last()
                left = self._left(self._child)
        finally:
            with contextlib.suppress(OSError), open(self.state.last, "r+", encoding="utf-8") as last:
                json.dump({"left": left}, last)  # who stops it has made the file, and waits
            self.state.remove(with_log=left == 0 and not self._failed)
        return STOPPED if left == 0 else LEFT

    def _left(self, child: subprocess.Popen[bytes]) -> int | None:
        """Bytes that the SSD alone holds, after nbdkit has ended; None: not known."""
        if self.wanted.mode != found.BACK or not self._started or not self._ready:
            return 0
        if self._listener is not None:
            self._listener.join(TOLD_S)
        counted = [int(match[1]) for match in map(ON_SSD.search, list(self._said)) if match]
        if counted:
            return counted[-1]
        return 0 if child.returncode == 0 and self._known.get("disk_bytes") else None

    def _last(self) -> None:
        """Wait until nbdkit has ended: in mode back it writes what only the SSD holds, which may take long.

        A second signal kills it, which loses nothing, as a crash does not; but then the disk does not hold everything.
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


def of_file(config: str) -> tuple[str, float | None, dict[str, str]]:
    """The policy that a file of options names, what it promises, and what lets models take turns below it."""
    texts = options.read_file(config)
    promise = texts.get("promise")
    promised = None if promise is None else words.share(promise, f"{config}: promise")
    return texts.get("policy", "lru"), promised, {key: texts[key] for key in TURNS if key in texts}


def change(state: State, policy: str, promise: float | None, turns: Mapping[str, str] | None = None) -> dict[str, Any]:
    """Another policy for a served disk, without cutting a client; the filter's answer.

    Args:
        state: of the disk.
        policy: that decides from here on.
        promise: what it promises; None for nothing.
        turns: options of `TURNS` that are given with it; without them no models take turns.

    Raises:
        ServeError: the filter refuses, and nothing has changed.
    """
    key, value = found.policy(policy)
    if promise is not None:
        replace(state.promise, repr(promise))  # the process that supervises takes it as it sees the change
    try:
        return control.ask(state.control, "reload", {key: value, **(turns or {})})
    except ServeError:
        state.promise.unlink(missing_ok=True)
        raise
