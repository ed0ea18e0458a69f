"""Capabilities of the machine: a test skips, with its reason, without one; CZ_REQUIRE makes the run fail instead."""

import fcntl
import gc
import os
import re
import signal

import pytest
from hypothesis import settings

from tests import seconds
from tests.capabilities import CAPABILITIES, advice, there
from tests.left_behind import Machine
from tests.passed import remember

# Hypothesis: a run says the same each time it is repeated; `make test-long` (--hypothesis-profile=long) looks for more.
# A test that names no number of examples of its own takes it from here.
settings.register_profile("ci", max_examples=25, deadline=None, derandomize=True)
settings.register_profile("long", max_examples=400, deadline=None)
if settings.get_current_profile_name() != "long":  # where a test runs this file once more
    settings.load_profile("ci")

# Thousands of tests and their modules are objects that stay: to look for garbage among them as often as usual takes a
# tenth of the time of a run.
gc.set_threshold(100_000, 10, 10)
# As for stages: where another process wants the cores too, threads that spin while they wait slow everything down.
os.environ.setdefault("OMP_WAIT_POLICY", "passive")
# On small traces a process takes longer to start than its job.
os.environ.setdefault("CACHEZOO_JOBS", "1")
# `su` without a login leaves a root's PATH without the folders where losetup and mkfs are.
os.environ["PATH"] = os.pathsep.join(dict.fromkeys([*os.get_exec_path(), "/usr/sbin", "/sbin"]))
# Tables are as wide as COLUMNS says, which a parallel run sets, and make speaks otherwise below another make.
for name in ("COLUMNS", "MAKELEVEL", "MAKEFLAGS", "MFLAGS"):
    os.environ.pop(name, None)
# A run in the background inherits Ctrl-C ignored, and so would the programs that tests interrupt.
if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

LACKS = "needs {}, which this machine lacks"
SYSTEM = {"loop", "cgroup", "tracefs", "capture", "nbdkit"}
# Files of tests that need these: one process has them all, as two would wait for each other (see `alone`).
SYSTEM_FILES = (
    "tests/e2e/test_nbd_", "tests/tools/capture/", "tests/unit/capture/", "tests/unit/devices/fio/",
    "tests/unit/devices/nbd/", "tests/unit/devices/test_emulated.py", "tests/unit/test_cli_calibrate.py",
    "tests/unit/serve/test_package.py", "tests/unit/demo/", "tests/e2e/test_serve_recommended.py",
    "tests/lab/test_real_targets.py",
)  # fmt: skip
# The file that begins by running the tiny pipeline, and those that then take a copy of it.
PIPELINE = "tests/e2e/test_pipeline.py"
COPIES = tuple(f"tests/e2e/test_{name}.py" for name in ("bad_input", "full_disk", "real_device", "sources", "study"))
# Of those the one whose tests two processes share, each on its own copy: both then end at the same time.
SHARED = COPIES[0]


def pytest_addoption(pluginmanager):
    """Options are asked for as soon as a plugin with some is there."""
    pluginmanager.register(seconds, "seconds")


def pytest_sessionstart(session):
    required = [name.strip() for name in os.environ.get("CZ_REQUIRE", "").split(",") if name.strip()]
    for name in required:
        if name not in CAPABILITIES:
            pytest.exit(f"CZ_REQUIRE names {name}, which is none of {', '.join(CAPABILITIES)}", returncode=2)
        if not there(name):
            pytest.exit(f"CZ_REQUIRE names {name}, and this machine lacks it", returncode=2)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config, log):
    """`--dist loadfile`, with the files that exclude each other taken for one."""
    from xdist.scheduler import LoadFileScheduling

    class Together(LoadFileScheduling):
        def _split_scope(self, nodeid):
            if nodeid.startswith(SHARED):
                return nodeid
            return "system" if nodeid.startswith(SYSTEM_FILES) else super()._split_scope(nodeid)

    return Together(config, log) if config.getvalue("dist") == "loadfile" else None


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config, items):
    """Of two test processes neither should wait for the other: what takes long begins first, file by file.

    Tests on a copy of the tiny pipeline come last, when it has long run. Slow tests are marked before pytest chooses.
    """
    seconds.mark_slow(items)
    if hasattr(config, "workerinput"):  # a worker of pytest-xdist
        longest = {}
        for item in items:
            cost = (seconds.limit(item), item.get_closest_marker("slow") is not None)
            longest[item.path] = max(cost, longest.get(item.path, cost))
        items.sort(
            key=lambda item: (
                item.nodeid.startswith(COPIES), item.nodeid.startswith(SHARED),
                not item.nodeid.startswith(SYSTEM_FILES),
                not item.nodeid.startswith(PIPELINE), [-cost for cost in longest[item.path]],
            )
        )  # fmt: skip


def needed(item):
    """Names of the capabilities that a test is marked with."""
    return [name for marker in item.iter_markers("needs") for name in marker.args]


@pytest.fixture(scope="session", autouse=True)
def left_behind(tmp_path_factory):
    """Torn down last: no test may change /dev, or leave a mounted file system or a loop device."""
    machine, folder = Machine(), tmp_path_factory.getbasetemp()
    before = machine.nodes()
    yield
    left = machine.changed(before) + machine.taken(folder)
    assert not left, f"a test has left something behind: {', '.join(left)}"


@pytest.fixture(scope="module", autouse=True)
def alone(request, tmp_path_factory):
    """Of two test processes one at a time makes loop devices and the like: they look for what others left behind."""
    mine = [item for item in request.session.items if item.path == request.path]
    if not SYSTEM & {name for item in mine for name in needed(item)}:
        yield
        return
    here = request.node.nodeid.startswith("tests/")  # and no test that a test has written
    known = request.node.nodeid.startswith((*SYSTEM_FILES, *COPIES))
    assert not here or known, "tests/conftest.py: add this file to SYSTEM_FILES"
    with (tmp_path_factory.getbasetemp().parent / "system.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def pytest_runtest_setup(item):
    lacking = [name for name in needed(item) if not there(name)]
    if lacking:
        pytest.skip(LACKS.format(", ".join(lacking)))


def pytest_terminal_summary(terminalreporter):
    """The words of the documents, where tests/docs has counted them."""
    every = [report for reports in terminalreporter.stats.values() for report in reports]
    for report in every:
        said = dict(getattr(report, "user_properties", ())).get("words")
        if said and report.when == "call":
            terminalreporter.section("words of the documents")
            terminalreporter.write_line(said)


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_sessionfinish(session):
    """After everything else, one line that says what would make the skipped tests run."""
    yield
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is None:  # a worker of pytest-xdist
        return
    remember(session)
    reasons = [str(report.longrepr) for report in reporter.stats.get("skipped", [])]
    found = [re.search(LACKS.format(r"([\w, ]+)"), reason) for reason in reasons]
    lacking = {name for match in found if match for name in match[1].split(", ")} & set(CAPABILITIES)
    if lacking:
        reporter.write_line(advice(lacking))
