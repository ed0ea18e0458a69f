"""What the commands do; `cachezoo serve` and `cachezoo-serve` call these."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import sys
import time
from typing import Any

from cachezoo.serve import attach as devices
from cachezoo.serve import control, found, show, words
from cachezoo.serve.options import Settings
from cachezoo.serve.state import State, served, served_by_root
from cachezoo.serve.supervisor import LOOK_S, TOLD_S, Served, change, notify, of_file, with_counters
from cachezoo.serve.words import ServeError

NEXT = "Do not mount the disk itself, and keep SSD and label: start it again, and stop it"
UNKNOWN = f"The SSD may hold what is not on the disk. {NEXT}"


def check(wanted: Settings) -> str:
    """Check all that can be checked without starting, and say what would run.

    Raises:
        ServeError: it could not be served.
    """
    found.check(wanted)
    state = State(wanted.name)
    paths = (str(one) for one in (state.socket, state.control, state.ready))
    return " ".join(shlex.quote(word) for word in found.command(wanted, *paths))


def start(wanted: Settings, as_json: bool = False, background: bool = False) -> int:
    """Serve until a signal, or nbdkit ends; in the background return once it serves.

    Returns:
        The exit status.

    Raises:
        ServeError: it cannot be served, in one line.
    """
    one = Served(wanted, State(wanted.name))
    if background:
        found.check(wanted)  # so that most of what is wrong is said by this process
        return _in_background(one, as_json)
    return _serve(one, as_json)


def _serve(one: Served, as_json: bool) -> int:
    """Serve in this process, which says so once clients can connect."""
    before = {number: signal.signal(number, one.stop) for number in (signal.SIGTERM, signal.SIGINT)}
    # With a terminal goes what it runs; what reads a file of options reads it again on SIGHUP.
    before[signal.SIGHUP] = signal.signal(signal.SIGHUP, one.reload if one.wanted.config else one.stop)
    try:
        note = one.start()
        try:
            _print([json.dumps(note)] if as_json else show.started(note))
            notify("READY=1")
            status = one.wait()
        finally:
            notify("STOPPING=1")
            left = one.end()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    return status or left


def _in_background(one: Served, as_json: bool) -> int:
    """Serve in a process of its own session; this one returns when that serves, or says why it does not."""
    read, write = os.pipe()
    if os.fork() == 0:  # pragma: no cover - coverage ends at the fork
        status = 1
        try:
            os.close(read)
            os.setsid()
            _serve_away(one, write, as_json)
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, encoding="utf-8") as pipe:
        said = pipe.read()
    if not said.startswith("+"):
        raise ServeError(said[1:] or f"{one.wanted.name}: the process ended before it served")
    _print(said[1:].splitlines())
    return 0


def _serve_away(one: Served, pipe: int, as_json: bool) -> None:
    try:
        null = os.open(os.devnull, os.O_RDWR)
        one.state.make()
        log = os.open(one.state.log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        for number, handle in ((0, null), (1, null), (2, log)):
            os.dup2(handle, number)
        for number, handler in ((signal.SIGTERM, one.stop), (signal.SIGINT, one.stop), (signal.SIGHUP, one.reload)):
            signal.signal(number, handler)
        note = one.start()
    except (ServeError, OSError) as error:
        with contextlib.suppress(ServeError):
            one.state.forget()  # unless another process serves it
        said = words.of_system(error) if isinstance(error, OSError) else str(error)
        os.write(pipe, f"-{said}".encode(errors="replace"))
        return
    lines = [json.dumps(note)] if as_json else [words.plain(line) for line in show.started(note)]
    os.write(pipe, ("+" + "\n".join(lines)).encode())
    os.close(pipe)
    try:
        one.wait()
    finally:
        one.end()  # where it did not end well the log stays, and says why


def _print(lines: list[str]) -> None:
    for line in lines:
        sys.stdout.write(f"{words.plain(line)}\n")
    with contextlib.suppress(BrokenPipeError):
        sys.stdout.flush()


def name_of(given: str | None) -> str:
    """The name that is meant: the one given, or the only one that is served.

    Raises:
        ServeError: none is served, or several.
    """
    if given is not None:
        return given
    names = [one for one in served() if State(one).locked()]
    others = [] if names else served_by_root()
    if others:
        raise ServeError(f"{', '.join(others)}: served by root: run this by sudo")
    if len(names) != 1:
        raise ServeError(f"name one of {', '.join(names)}" if names else "nothing is served")
    return names[0]


def status(given: str | None, as_json: bool = False) -> None:
    """Print how one served disk does; without a name each that is served.

    Raises:
        ServeError: it is not served.
    """
    names = [given] if given is not None else [one for one in served() if State(one).locked()]
    if not names and not as_json:
        others = served_by_root()
        if others:
            raise ServeError(f"{', '.join(others)}: served by root: sudo cachezoo-serve status")
        raise ServeError("nothing is served; begin with serve DISK --ssd DEV --size SIZE")
    notes = [noted(name) for name in names]
    if as_json:
        _print([json.dumps(notes if given is None else notes[0])])
        return
    for k, note in enumerate(notes):
        _print([*([""] if k else []), *show.status(note)])


def noted(name: str) -> dict[str, Any]:
    """The note of a served disk, with the counters of this moment."""
    state = State(name)
    note = state.running()
    with contextlib.suppress(ServeError):
        note = with_counters(note, control.ask(state.control, "status", patience_s=LOOK_S))
        note["seconds"] = time.time() - note["started"]
    return note


def stop(given: str | None) -> str:
    """Stop serving, and return when all has ended.

    Returns:
        A sentence.

    Raises:
        ServeError: it is not served, its device is in use, or it has stopped and the disk does not hold everything.
    """
    name = name_of(given)
    state = State(name)
    if state.read() is not None and not state.locked():
        mode = (state.read() or {}).get("mode")
        state.forget()
        if mode == found.BACK:
            raise ServeError(f"{name}: its process had been killed. {UNKNOWN}")
        return f"{name}: it had ended; what it left is removed."
    note = state.running()
    used = devices.in_use(note["device"]) if note["device"] else None
    if used:
        raise ServeError(f"{note['device']}: {used}; unmount it first")
    # This process has the file open: it is read also after the folder is gone.
    with open(os.open(state.last, os.O_RDWR | os.O_CREAT | os.O_TRUNC, 0o600), encoding="utf-8") as last:
        os.kill(int(note["pid"]), signal.SIGTERM)
        begin, told = time.monotonic(), False
        while state.locked():
            if time.monotonic() - begin > TOLD_S and not told:
                words.say(f"{name}: nbdkit is still writing to the disk")
                told = True
            time.sleep(0.02)
        said = last.read()
    if note["mode"] != found.BACK:
        return f"{name}: stopped. The disk holds everything."
    left = json.loads(said)["left"] if said else None
    if left is None:
        raise ServeError(f"{name}: stopped. {UNKNOWN}")
    if left:
        raise ServeError(f"{name}: stopped, but {words.size_text(left)} are on the SSD alone. {NEXT}")
    return f"{name}: stopped. The disk holds everything."


def reload(given: str | None, policy: str | None, promise: str | None = None) -> str:
    """Another policy without cutting a client: the one named, or the one that the file of options names now.

    Returns:
        A sentence.

    Raises:
        ServeError: it is not served, or the filter refuses, and nothing has changed.
    """
    promised = words.share(promise, "--promise") if promise else None
    name = name_of(given)
    state = State(name)
    note = state.running()
    from_file, turns = policy is None, dict[str, str]()
    if policy is None:
        if note["config"] is None:
            raise ServeError(f"{name}: there is no file of options; name a policy by --policy")
        policy, own, turns = of_file(note["config"])
        promised = own if promised is None else promised
    done = change(state, policy, promised, turns)
    kept = done.get("kept_units")
    stay = f"; {kept:,} units stay cached" if kept is not None else ""
    file = f" Write it into {note['config']}, too." if note["config"] and not from_file else ""
    return f"{name}: {done.get('policy') or done.get('bundle') or policy} decides now{stay}.{file}"


def attach(given: str | None, ssd: str, size: str | None, form: str | None, label: str | None) -> str:
    """Another SSD for a served disk, without cutting a client.

    Returns:
        A sentence.

    Raises:
        ServeError: it is not served, or the filter refuses.
    """
    name = name_of(given)
    state = State(name)
    note = state.running()
    n_bytes = words.n_bytes(size, "--size") if size else None
    own = os.path.abspath(ssd)
    store = found.store(own, "--ssd", absent_is_fine=True)
    wanted = n_bytes or note["size"]
    unit = note["counters"].get("unit_bytes")
    found.must_fit(wanted, found.on_ssd(wanted, unit, note["mode"]), ssd, store)
    options = {"cz-ssd": own, "cz-size": str(n_bytes) if n_bytes else None, "cz-format": form,
               "cz-label": os.path.abspath(label) if label else None}  # fmt: skip
    done = control.ask(state.control, "attach", options)
    held = words.size_text(done.get("cache_bytes", wanted))
    file = f" Write it into {note['config']}, too." if note["config"] else ""
    return f"{name}: {done.get('ssd', own)} is the cache now, {held}; it fills.{file}"
