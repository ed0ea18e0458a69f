"""Where nbdkit, the filter and bundles are looked for, what is refused, and what starts nbdkit."""

import os

import pytest

from cachezoo.serve import found
from cachezoo.serve.found import Store
from cachezoo.serve.options import OPTIONS, settings
from cachezoo.serve.show import answer, started, status
from cachezoo.serve.words import ServeError
from tests.serve_data import counters, note


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """With a disk, an SSD and a filter, as the working folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(found, "SYSTEM_PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    for name, size in (("disk", 1 << 20), ("ssd", 0), ("filter.so", 1), ("bin/nbdkit", 1)):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(bytes(size))
    (tmp_path / "bin/nbdkit").chmod(0o755)
    return tmp_path


def wanted(**changes):
    given = {"ssd": "ssd", "size": "256K", "filter": "filter.so"} | changes
    disk = given.pop("disk", "disk")
    return settings(
        disk, dict.fromkeys(OPTIONS) | {key.replace("_", "-"): text for key, text in given.items()}, [], None
    )


def bundle(folder, name):
    (folder / name).mkdir(parents=True)
    (folder / name / "manifest.json").write_text("{}")


def test_the_line_that_starts_nbdkit(folder):
    given = wanted(policy="rejectx(x=1)+lirs", mode="through", write_rate="20MB/s", label="l", name="n")
    assert found.command(given, "S", "C", "P") == [
        str(folder / "bin/nbdkit"), "-f", "--exit-with-parent", "-U", "S", "-P", "P", f"--filter={folder}/filter.so",
        "file", f"file={folder}/disk", f"cz-ssd={folder}/ssd", "cz-size=262144", "cz-policy=rejectx(x=1)+lirs",
        "cz-writes=through", "cz-volume=n", "cz-control=C", f"cz-label={folder}/l", "cz-write-rate=20000000",
    ]  # fmt: skip


def test_mode_back_has_a_label_of_its_own(folder, monkeypatch):
    monkeypatch.setenv("STATE_DIRECTORY", str(folder / "state"))
    assert found.label(wanted(mode="around")) is None
    assert found.label(wanted(mode="back", label="l")) == str(folder / "l")
    assert found.label(wanted(mode="back")) == str(folder / "state/disk.label")


def test_a_bundle_is_found_by_its_id_folder_or_archive(folder, monkeypatch):
    bundle(folder, "models/bundles/caching.web.lstm_small")
    bundle(folder, "elsewhere/reuse.follow")
    for version in ("0.9.0", "0.10.0"):
        (folder / f"elsewhere/admission.web.lgbm-{version}.zip").write_bytes(b"")
    monkeypatch.setenv("CACHEZOO_BUNDLES", "/nowhere:elsewhere")
    for text, place in (
        ("caching.web.lstm_small", "models/bundles/caching.web.lstm_small"),
        ("reuse.follow", "elsewhere/reuse.follow"),
        ("admission.web.lgbm", "elsewhere/admission.web.lgbm-0.10.0.zip"),
        ("elsewhere/reuse.follow", "elsewhere/reuse.follow"),
    ):
        assert found.policy(text) == ("cz-bundle", str(folder / place))
    assert found.policy("coinflip(p=0.3)+twoq") == ("cz-policy", "coinflip(p=0.3)+twoq")


def test_root_runs_nothing_of_the_working_folder(folder, monkeypatch):
    (folder / "runtimes/c/build").mkdir(parents=True)
    (folder / "runtimes/c/build" / found.FILTER).touch()
    bundle(folder, "models/bundles/caching.web.lstm_small")
    monkeypatch.setattr(found, "HERE", folder / "a/b/c/d/found.py")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    try:
        assert str(folder) not in found.filter_file(None)  # where one is installed
    except ServeError as error:
        assert found.FILTER in str(error)
    with pytest.raises(ServeError, match="no bundle of this id in /etc"):
        monkeypatch.setattr(found, "CLONE", folder / "none")
        found.policy("caching.web.lstm_small")


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"disk": "none"}, "DISK .*/none: there is no such file or device"),
        ({"disk": "bin"}, "DISK .*/bin: it is neither a block device nor a file"),
        ({"disk": "ssd"}, "DISK .*/ssd: it is empty"),
        ({"ssd": "none/ssd"}, "--ssd .*/none/ssd: there is no such file or device"),
        ({"ssd": "/dev/null"}, "--ssd /dev/null: it is neither a block device nor a file"),
        ({"ssd": "disk"}, "--ssd .*/disk: it is the disk itself"),
        ({"ssd": "link"}, "--ssd .*/link: it is the disk itself"),
        ({"size": "4095B"}, "--size: 4,095 bytes are less than a page"),
        ({"size": "1000T"}, "--size: .* bytes do not fit in the folder of .*/ssd, where"),
        ({"label": "none/l"}, "--label .*/none/l: .*/none is no folder that can be written to"),
        ({"metrics_file": "none/x.prom"}, "--metrics-file .*/none is no folder"),
        ({"policy": "caching.web.nothing"}, "--policy caching.web.nothing: no bundle of this id in models/bundles"),
        ({"policy": "none.zip"}, "--policy none.zip: there is no such bundle"),
        ({"policy": "./none"}, "--policy ./none: there is no such bundle"),
    ],
)
def test_what_cannot_be_served_is_refused_in_a_line(folder, changes, says):
    (folder / "link").symlink_to("disk")
    before = sorted(os.listdir(folder))
    with pytest.raises(ServeError, match=says) as refused:
        found.check(wanted(**changes))
    assert "\n" not in str(refused.value)
    assert sorted(os.listdir(folder)) == before and (folder / "ssd").stat().st_size == 0


def test_a_size_that_a_device_cannot_hold_with_its_table_is_refused(folder, monkeypatch):
    def fits(device, size, **changes):
        monkeypatch.setattr(found, "store", lambda path, *_, **__: Store(path.endswith("ssd"), device))
        try:
            found.check(wanted(size=f"{size}B", **changes))
        except ServeError as error:
            said = f"--size: {size:,} bytes do not fit on {folder}/ssd, which has {device:,}: with its table"
            assert said in str(error)
            return False
        return True

    small = 300 << 20
    assert not fits(small, 64 << 30) and not fits(small, small)
    # The filter on a device of these bytes: "the device has 314572800 bytes and the tier needs 317030400".
    assert not fits(small, 313_524_224) and not fits(317_030_399, 313_524_224) and fits(317_030_400, 313_524_224)
    assert fits(small, 290 << 20) and not fits(small, 290 << 20, mode="back", label="l")
    assert not fits(small, 297 << 20)
    bundle(folder, "admission.web.lgbm")
    assert fits(small, 297 << 20, policy="./admission.web.lgbm")  # larger units, a smaller table
    assert not fits(small, 299 << 20, policy="./admission.web.lgbm")


def test_what_is_not_installed_is_named(folder):
    (folder / "bin/nbdkit").unlink()
    with pytest.raises(ServeError, match="apt install nbdkit"):
        found.nbdkit()
    with pytest.raises(ServeError, match="none\\.so: there is no filter"):
        found.filter_file("none.so")


def test_people_read_the_answer_first():
    assert answer(note()) == "d: 52.0 % of reads hit (5,000 reads in 1 h)."
    assert answer(note(promised=0.5)).endswith("; promised 50.0 %, kept.")
    assert answer(note(promised=0.6, promise_missed=True)).endswith("; promised 60.0 %, MISSED.")
    assert answer(note(measured=None, mode="back")) == "d: served, too few accesses yet to measure hits."
    assert answer(note(counters={})) == "d: served, but the filter does not answer."
    failed = answer(note(counters=counters(bypassed=True, bypass_reason="8 errors in a row")))
    assert failed == "d: BYPASSED, the disk answers alone: 8 errors in a row. Next: serve attach d --ssd DEV"
    failed = answer(note(mode="back", counters=counters(bypassed=True)))  # where attach is refused
    assert failed == "d: BYPASSED: the SSD failed. Next: serve stop d, then start it with another SSD"
    assert "of reads hit" in answer(note(mode="through")) and "of reads and writes hit" in answer(note(mode="back"))
    refused = [answer(note(mode=mode, counters=counters(writes_refused=True))) for mode in ("around", "back")]
    assert all(line.startswith("d: WRITES ARE REFUSED") for line in refused)
    assert "replace SSD and label" in refused[0] and "replace" not in refused[1]  # it may hold what the disk does not


def test_the_table_of_a_status():
    lines = status(note(write_rate=2e7, counters=counters(ssd_errors=3, dirty=2, ssd_writes_over_budget=5)))
    assert lines[1] == ""
    assert dict(line.split(maxsplit=1) for line in lines[2:] if line[0] != " ") == {
        "Cache": "/dev/sdb behind 64 GiB on /dev/nvme0n1p4, s3fifo, mode around: writes go around it",
        "Device": "nbd+unix:///?socket=/run/cachezoo/d/nbd.sock",
        "Up": "2 h, process 7",
        "Holds": "128 KiB of 256 KiB, 8 KiB not on the disk yet",
        "Reads": "2 by ssd, half within 95 µs, 99 % within 300 µs",
        "Writes": "2, half within 95 µs, 99 % within 300 µs",
        "SSD": "16 KiB written, 0 B/s in the last minute; the most is 20 MB/s (5 units not written to keep it)",
        "Faults": "3 errors of the SSD",
    }


def test_the_lines_of_a_start_say_how_to_use_it():
    lines = started(note(promised=0.5, metrics="http://127.0.0.1:9469/metrics"))
    assert "nbd+unix:///?socket=/run/cachezoo/d/nbd.sock" in lines[1] and "the kernel has no nbd" in lines[1]
    assert lines[-2:] == ["Promised   50.0 % hits", "Look       serve status d"]
    assert lines[2].split("#")[0].strip().startswith("mkdir -p mnt && nbdfuse mnt/disk 'nbd+unix:")
    assert "Use it     /dev/nbd0" in started(note(device="/dev/nbd0"))
