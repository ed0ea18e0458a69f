"""Load files of the fileserver workload: what dbench is to do is there to do, and follows the schedule."""

import re
from dataclasses import replace

import numpy as np
import pytest

from cachezoo.errors import ConfigError
from tools.capture.loads import Sizes
from tools.capture.programs.draws import lognormal_sizes
from tools.capture.programs.office import ACTIONS, NOTHING, Office
from tools.capture.recipe import RECIPES, load_recipe, parse_recipe
from tools.capture.schedule import Segment, build_schedule

RECIPE = load_recipe(RECIPES / "fileserver_tiny.yaml")
LOAD = RECIPE.load
SEGMENT = Segment(index=0, start_s=0, seconds=5, rate=200.0, elapsed_days=0.1, seed=11)
OPENED = re.compile(r'NTCreateX "(\S+)" 0x40 0x(\d) (\d+) ')
MOVED = re.compile(r"(ReadX|WriteX) (\d+) (\d+) (\d+) (\d+) NT_STATUS_OK")


def visits(text):
    """When each visit is to begin."""
    lines = [line for line in text.splitlines() if line[0].isdigit() and not line.endswith(NOTHING)]
    return [float(line.split()[0]) for line in lines]


def replay(office, texts, sizes):
    """Play load files on a table of sizes, as a filesystem would; every read has to be of what is there."""
    for text in texts:
        handles = {}
        for line in text.splitlines():
            operation = line.split(maxsplit=1)[1] if line[0].isdigit() else line
            if opened := OPENED.fullmatch(operation.removesuffix("NT_STATUS_OK")):
                path, disposition, handle = opened.groups()
                assert disposition == "5" or path in sizes
                if disposition == "5":
                    sizes[path] = 0
                handles[handle] = path
            elif moved := MOVED.fullmatch(operation):
                name, handle, first, size, returned = moved.groups()
                assert size == returned and 0 < int(size) <= 65_536
                end, path = int(first) + int(size), handles[handle]
                assert name == "WriteX" or end <= sizes[path]
                sizes[path] = max(sizes[path], end)
            elif operation.startswith("Close"):
                del handles[operation.split()[1]]
            elif operation.startswith("Rename"):
                old, new = re.findall(r'"(\S+)"', operation)
                sizes[new] = sizes.pop(old)
            else:
                assert operation.startswith(("QUERY_", "FIND_FIRST", "Flush"))
        assert not handles


def test_load_files_are_a_function_of_load_seed_and_segments():
    assert Office(LOAD, 5).segment(SEGMENT) == Office(LOAD, 5).segment(SEGMENT)
    assert Office(LOAD, 5).segment(SEGMENT) != Office(LOAD, 6).segment(SEGMENT)
    assert Office(LOAD, 5).segment(SEGMENT) != Office(LOAD, 5).segment(replace(SEGMENT, seed=12))


def test_operations_fit_the_files():
    """One user at a time, so that nobody reads what another has yet to write."""
    load = LOAD.model_copy(update={"clients": 1, "files": 300})
    office = Office(load, 5)
    sizes = {office.path(document): int(office.sizes[document]) for document in range(office.documents)}
    for index in range(4):
        replay(office, office.segment(replace(SEGMENT, seed=index, elapsed_days=index / 4)), sizes)
    assert sizes == {office.path(document): int(office.sizes[document]) for document in range(office.documents)}


def test_lines_are_as_dbench_takes_them():
    texts = Office(LOAD, 5).segment(SEGMENT)
    assert len(texts) == LOAD.clients
    for text in texts:
        lines = text.splitlines()
        assert text.endswith("\n") and all(line.endswith("NT_STATUS_OK") for line in lines)
        assert max(len(word) for line in lines for word in line.split()) < 100
        times = visits(text)
        assert times == sorted(times) and times[-1] < SEGMENT.seconds
        # Idle lines end the file, so that dbench does not start it anew.
        idle = [float(line.split()[0]) for line in lines if line.endswith(NOTHING)]
        assert idle[0] == SEGMENT.seconds and idle[-1] > SEGMENT.seconds + 4
        assert np.diff(idle).max() < 0.15
        assert all(line.endswith(NOTHING) for line in lines[-len(idle) :])


def test_users_keep_to_their_homes_and_the_shared_folders():
    office = Office(LOAD, 5)
    for user, text in enumerate(office.segment(SEGMENT)):
        folders = {path.rsplit("/", 2)[0] for path in re.findall(r'NTCreateX "(\S+)"', text)}
        assert folders == {"/shared", f"/home/u{user:03d}"}
    folders = office.folders()
    assert sum(folders.values()) == office.sizes[: office.documents].sum()
    assert {name.split("/")[1] for name in folders} == {"shared", "home"}


def test_no_two_drafts_have_one_name():
    """A segment may go on while the next one has begun."""
    office = Office(LOAD.model_copy(update={"files": 300}), 5)
    texts = [text for index in range(3) for text in office.segment(replace(SEGMENT, seed=index))]
    drafts = [draft for text in texts for draft in re.findall(r'Rename "(\S+)"', text)]
    assert len(drafts) > 100 and len(set(drafts)) == len(drafts)


def test_visits_follow_the_schedule():
    schedule = build_schedule(RECIPE.schedule.model_copy(update={"day_s": 60, "segment_s": 5}), RECIPE.seed)
    office = Office(LOAD, RECIPE.seed)
    counts = [sum(len(visits(text)) for text in office.segment(part)) for part in schedule.segments]
    rates = [part.rate * part.seconds for part in schedule.segments]
    assert counts == pytest.approx(rates, rel=0.35)
    assert max(counts) / np.mean(counts) >= 1.8


def test_morning_reads_and_evening_writes():
    office = Office(LOAD, 5)
    morning, evening = (dict(zip(ACTIONS, office.weights(days), strict=True)) for days in (1.25, 1.75))
    assert sum(morning.values()) == pytest.approx(1) and sum(evening.values()) == pytest.approx(1)
    assert morning["reads"] > evening["reads"]
    assert evening["saves"] > 3 * morning["saves"]


def test_new_documents_become_popular():
    paced = LOAD.paced.model_copy(update={"drift": 400})
    load = LOAD.model_copy(update={"clients": 1, "files": 1000, "shared_visits": 1.0, "paced": paced})
    office = Office(load, 5)

    def popular(days):
        text = office.segment(replace(SEGMENT, rate=2000.0, elapsed_days=days))[0]
        names, counts = np.unique(re.findall(r'QUERY_PATH_INFORMATION "(\S+)"', text), return_counts=True)
        return set(names[np.argsort(-counts)[:20]])

    assert len(popular(0.0) & popular(0.01)) > 10
    assert len(popular(0.0) & popular(1.0)) < 8


def test_sizes_are_bounded_and_about_their_median():
    load = Sizes(median_kib=16, sigma=1, max_kib=256)
    sizes = lognormal_sizes(load, 4000, 3)
    assert sizes.min() >= 512 and sizes.max() <= 256 * 1024
    assert np.median(sizes) == pytest.approx(16 * 1024, rel=0.1)
    assert np.array_equal(sizes, lognormal_sizes(load, 4000, 3))


def test_every_user_needs_a_document():
    values = RECIPE.model_dump()
    values["load"] |= {"files": 100, "shared": 0.99}
    with pytest.raises(ConfigError, match=r"^here: load.dbench: .*no document of their own for 4 clients"):
        parse_recipe(values, "here")
