"""What tests cost: seconds by folder at the end of a run, and no test that takes longer than its marks say.

`make test-fast` leaves out what tests/slow.txt lists: functions whose cases took over a tenth of a second of processor
time each, in the run that stored the list: `python -m pytest --store-slow ...`.

The limit is on processor time, of the test process and of those that it has waited for, so that a busy machine fails
nothing. Set-up counts, but for what many tests share: session-wide fixtures, and kernels that are not compiled yet.
"""

import math
import os
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path, PurePosixPath

import pytest
from hypothesis import settings
from numba.core import event

LIMIT_S = 20.0
LISTED_S = 5.0
SLOW_S = 0.1
SLOW = Path(__file__).with_name("slow.txt")
COMPILING = "numba:compile"
PHASES = ("setup", "call", "teardown")
OVER = "took {:.0f} s of processor time; a test may take {:g} s, or as many as it is marked for: slow(seconds=...)"


def processor() -> float:
    """Seconds that this process and its ended children have computed for."""
    return sum(os.times()[:4])


def limit(item: pytest.Item) -> float:
    """Seconds of processor time that a test may take; what has a lane of its own, as many as it likes."""
    if item.get_closest_marker("long") or settings.get_current_profile_name() == "long":
        return math.inf
    return max([LIMIT_S, *(marker.kwargs.get("seconds", 0.0) for marker in item.iter_markers("slow"))])


class Meter(event.Listener):
    """Writes processor seconds into every report, and fails a test that took too many."""

    def __init__(self) -> None:
        self.clock, self.since, self.own = processor, 0.0, 0.0
        self.shared, self.depth = 0.0, 0  # when what is nobody's own began, and how many such are under way

    def on_start(self, event: event.Event | None = None) -> None:
        """What is nobody's own begins: a kernel is compiled, maybe for another one."""
        if self.depth == 0:
            self.shared = self.clock()
        self.depth += 1

    def on_end(self, event: event.Event | None = None) -> None:
        """It has ended."""
        self.depth -= 1
        if self.depth == 0:
            self.own -= self.clock() - self.shared

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, object, object]:
        """A test begins."""
        self.since, self.own = self.clock(), 0.0
        return (yield)

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[object]) -> Generator[None, object, object]:
        """A session-wide fixture is nobody's own."""
        if fixturedef.scope != "session":
            return (yield)
        self.on_start()
        try:
            return (yield)
        finally:
            self.on_end()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """A set-up, a test or what comes after it has ended."""
        report = yield
        now = self.clock()
        report.processor = now - self.since
        self.own += now - self.since
        report.own = self.own
        self.since = now
        if report.when == "call" and report.passed and self.own > limit(item):
            report.outcome, report.longrepr = "failed", OVER.format(self.own, limit(item))
        return report


def pytest_addoption(parser: pytest.Parser) -> None:
    """`--seconds` asks for the summary, `--store-slow` for what `make test-fast` leaves out."""
    parser.addoption("--seconds", action="store_true", help="seconds by folder, and of every test that took over five")
    parser.addoption("--store-slow", action="store_true", help=f"list the slow tests of this run in tests/{SLOW.name}")


def pytest_configure(config: pytest.Config) -> None:
    """Every process measures; the one that has all reports prints."""
    meter = Meter()
    config.pluginmanager.register(meter)
    event.register(COMPILING, meter)
    config.add_cleanup(lambda: event.unregister(COMPILING, meter))


def folder(nodeid: str) -> str:
    """A test's folder, of those two below `tests`."""
    return "/".join(PurePosixPath(nodeid.partition("::")[0]).parent.parts[:3])


def function(nodeid: str) -> str:
    """A test without its case."""
    return nodeid.partition("[")[0]


def mark_slow(items: list[pytest.Item]) -> None:
    """The listed tests are slow."""
    slow = set(SLOW.read_text().splitlines())
    for item in items:
        if function(item.nodeid) in slow:
            item.add_marker(pytest.mark.slow)


def store_slow(owns: dict[str, float]) -> None:
    """Store which functions are slow, by the seconds of each test; what was not run stays as it is."""
    cases: dict[str, list[float]] = defaultdict(list)
    for nodeid, own in owns.items():
        cases[function(nodeid)].append(own)
    others = [name for name in SLOW.read_text().splitlines() if name not in cases]
    kept = {name for name in others if Path(name.partition("::")[0]).exists()}
    slow = kept | {name for name, each in cases.items() if sum(each) / len(each) > SLOW_S}
    SLOW.write_text("".join(f"{name}\n" for name in sorted(slow)))


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Seconds by folder, and tests above five seconds; both by wall time, with processor time beside it."""
    every = [report for reports in terminalreporter.stats.values() for report in reports]
    reports = [report for report in every if getattr(report, "when", None) in PHASES]
    if config.getoption("store_slow"):
        owns: dict[str, float] = {}
        for report in reports:
            owns[report.nodeid] = max(report.own, owns.get(report.nodeid, 0.0))
        store_slow(owns)
    if not config.getoption("seconds"):
        return
    tests: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])
    for report in reports:
        tests[report.nodeid][0] += report.duration
        tests[report.nodeid][1] += report.processor
    folders: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0, 0.0])
    for nodeid, (wall, computed) in tests.items():
        for index, value in enumerate((wall, computed, 1)):
            folders[folder(nodeid)][index] += value
    terminalreporter.section("seconds by folder")
    terminalreporter.write_line(" seconds  processor  tests")
    for name, (wall, computed, number) in sorted(folders.items(), key=lambda entry: -entry[1][0]):
        terminalreporter.write_line(f"{wall:8.1f} {computed:10.1f} {number:6.0f}  {name}")
    listed = sorted((entry for entry in tests.items() if entry[1][0] > LISTED_S), key=lambda entry: -entry[1][0])
    terminalreporter.section(f"tests above {LISTED_S:g} s: {len(listed)}")
    for nodeid, (wall, computed) in listed:
        terminalreporter.write_line(f"{wall:8.1f} {computed:10.1f}  {nodeid}")
