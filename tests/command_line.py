"""The command line in this process: a process of its own takes a second to begin."""

import contextlib
import io
import os
import subprocess
import sys

import pytest

from cachezoo import cli, console


def run(*args, ok=True):
    """Run `cachezoo ARGS`; what it printed, and its status: 0, with `ok=False` another, with `ok=None` any."""
    out, err = io.StringIO(), io.StringIO()
    _no_consoles()
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        pytest.raises(SystemExit) as left,
    ):
        patch.setattr(sys, "argv", ["cachezoo", *map(str, args)])
        # Where nothing is said of processes, none begin: each would take seconds for what takes this one none.
        patch.setattr(os, "cpu_count", lambda: 1)
        cli.main()
    _no_consoles()
    done = subprocess.CompletedProcess(args, left.value.code, out.getvalue(), err.getvalue())
    assert ok is None or (done.returncode == 0) is ok, done.stderr
    return done


def _no_consoles():
    """Tables are as wide as COLUMNS says now, as in a process of its own."""
    console.out.cache_clear()
    console.err.cache_clear()
