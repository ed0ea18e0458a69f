"""A test that takes more processor time than it is marked for fails, and a run ends with seconds by folder."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests import seconds

pytest_plugins = ["pytester"]

HEAD = "import pytest\nfrom tests import seconds\n\ndef take(more):\n    seconds.now += more\n"


@pytest.fixture
def ran(pytester, monkeypatch):
    """Runs tests whose processor time is what they say, and gives pytest's result."""
    monkeypatch.setattr(seconds, "now", 0.0, raising=False)
    monkeypatch.setattr(seconds, "processor", lambda: seconds.now)

    def run(text, *arguments):
        folder = pytester.mkdir("tests") / "unit" / "some" / "deep"
        folder.mkdir(parents=True)
        (folder / "test_it.py").write_text(f"{HEAD}\n{text}")
        pytester.makeini("[pytest]\nmarkers =\n    slow: x\n    long: x\n")
        return pytester.runpytest_inprocess("-p", "tests.seconds", "-p", "no:cacheprovider", *arguments)

    return run


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("def test_it():\n    take(20)\n", 0),
        ("def test_it():\n    take(21)\n", 1),
        ("@pytest.mark.slow\ndef test_it():\n    take(21)\n", 1),
        ("@pytest.mark.slow(seconds=30)\ndef test_it():\n    take(30)\n", 0),
        ("@pytest.mark.slow(seconds=30)\ndef test_it():\n    take(31)\n", 1),
        ("@pytest.mark.long\ndef test_it():\n    take(1e6)\n", 0),
        ("pytestmark = pytest.mark.slow(seconds=30)\n\n@pytest.mark.slow\ndef test_it():\n    take(30)\n", 0),
    ],
)
def test_a_test_takes_no_more_than_it_is_marked_for(ran, text, failed):
    done = ran(text)
    done.assert_outcomes(passed=1 - failed, failed=failed)
    said = re.search(r"took \d+ s of processor time; a test may take (20|30) s", done.stdout.str())
    assert (said is not None) == bool(failed)


@pytest.mark.parametrize(("scope", "failed"), [("session", 0), ("module", 1), ("function", 2)])
def test_set_up_counts_where_it_is_not_for_all_tests(ran, scope, failed):
    mark = f"@pytest.fixture(scope='{scope}')\n"
    inner = f"{mark}def inner():\n    take(15)\n"
    outer = f"{mark}def made(request):\n    request.getfixturevalue('inner')\n    take(15)\n"
    done = ran(f"{inner}\n{outer}\ndef test_it(made):\n    take(1)\n\ndef test_other(made):\n    take(19)\n")
    done.assert_outcomes(passed=2 - failed, failed=failed)


def test_compiling_a_kernel_is_no_tests_own(ran):
    kernel = "    with event.trigger_event(seconds.COMPILING):\n        take({})\n"
    text = f"from numba.core import event\n\ndef test_it():\n{kernel.format(30)}    take({{}})\n"
    done = ran(text.format(20) + "\n" + text.format(21).replace("test_it", "test_other"))
    done.assert_outcomes(passed=1, failed=1)


def test_what_ends_after_a_test_is_not_the_next_ones(ran):
    fixture = "@pytest.fixture\ndef made():\n    yield\n    take(50)\n"
    ran(f"{fixture}\ndef test_it(made):\n    pass\n\ndef test_next():\n    pass\n").assert_outcomes(passed=2)


def test_a_failure_stays_what_it_was(ran):
    done = ran("def test_it():\n    take(21)\n    assert 1 == 2\n")
    done.assert_outcomes(failed=1)
    assert "processor time" not in done.stdout.str()


def test_a_run_ends_with_seconds_by_folder_and_what_took_long(ran, monkeypatch):
    monkeypatch.setattr(seconds, "LISTED_S", 0.0)
    done = ran("def test_it():\n    take(3)\n\ndef test_other():\n    take(4)\n", "--seconds")
    said = done.stdout.str()
    assert re.search(r"^ +[\d.]+ +7\.0 +2  tests/unit/some$", said, re.MULTILINE)
    assert "tests above 0 s: 2" in said
    assert len(re.findall(r"^ +[\d.]+ +[34]\.0  tests/unit/some/deep/test_it\.py::\w+$", said, re.MULTILINE)) == 2


def test_seconds_of_children_count_once_they_have_ended():
    before = seconds.processor()
    burn = "import time\nwhile time.process_time() < 0.3: pass"
    subprocess.run([sys.executable, "-c", burn], check=True)
    assert seconds.processor() - before > 0.25


def test_what_took_long_in_a_run_is_slow_in_the_next(ran, monkeypatch, tmp_path):
    monkeypatch.setattr(seconds, "SLOW", tmp_path / "slow.txt")
    place = "tests/unit/some/deep/test_it.py::"
    seconds.SLOW.write_text(f"{place}test_other\n")
    cases = '@pytest.mark.parametrize("more", [0.05, 0.1, 0.2])\n'
    done = ran(f"{cases}def test_it(more):\n    take(more)\n\ndef test_other():\n    pass\n", "--store-slow")
    done.assert_outcomes(passed=4)
    assert seconds.SLOW.read_text() == f"{place}test_it\n"


def test_a_part_of_the_tests_stores_a_part_of_the_list(monkeypatch, tmp_path):
    monkeypatch.setattr(seconds, "SLOW", tmp_path / "slow.txt")
    here = "tests/unit/test_seconds.py"
    seconds.SLOW.write_text(f"{here}::test_a\n{here}::test_b\ntests/gone.py::test_c\n")
    seconds.store_slow({f"{here}::test_b[1]": 0.05, f"{here}::test_b[2]": 0.1, f"{here}::test_d": 0.11})
    assert seconds.SLOW.read_text() == f"{here}::test_a\n{here}::test_d\n"


def test_the_list_is_sorted_and_of_files_that_there_are():
    listed = seconds.SLOW.read_text().splitlines()
    assert listed == sorted(set(listed))
    assert all(Path(name.partition("::")[0]).exists() for name in listed)
