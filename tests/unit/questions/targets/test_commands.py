"""What is printed to be run, against the documented grammar of each program; options also against installed ones."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from cachezoo.questions.targets.bcache import BCACHE
from cachezoo.questions.targets.registry import TARGETS
from cachezoo.questions.targets.target import Devices, Sizes, moves

DISK, SSD, NAME = "/dev/disk/by-id/ata-DISK_1", "/dev/disk/by-id/nvme-SSD_1", "fast0"
DEVICES = Devices(DISK, SSD, NAME)
SIZES = Sizes(ssd=1 << 20, ram=1 << 16, disk=1 << 24)
DEVICE = re.compile(re.escape(DISK) + "|" + re.escape(SSD) + "(-part1)?")
NUMBER = re.compile("[0-9]+")
KIBS = re.compile("[0-9]+k")


def one_of(*words):
    return re.compile("|".join(map(re.escape, words)))


def between(low, high, unit=""):
    """Numbers in a range, behind which a unit stands."""

    class Range:
        pattern = f"{low} to {high}{unit}"

        @staticmethod
        def fullmatch(text):
            number = text.removesuffix(unit) if unit else text
            return text.endswith(unit) and number.isdigit() and low <= int(number) <= high

    return Range


SECONDS, MILLISECONDS = between(0, 3600), between(1, 60_000)
# casadm(8): of each command, and each namespace of --set-param, what options take; those in capitals are required.
CAS = {
    "--start-cache": {
        "--cache-device": DEVICE, "--cache-id": between(1, 16384), "--cache-mode": one_of("wt", "wb", "wa", "pt", "wo"),
        "--cache-line-size": one_of("4", "8", "16", "32", "64"),
    },
    "--add-core": {"--cache-id": between(1, 16384), "--core-device": DEVICE},
    "promotion": {"--policy": one_of("always", "nhit")},
    "promotion-nhit": {"--threshold": between(2, 1000), "--trigger": between(0, 100)},
    "seq-cutoff": {"--threshold": between(1, 4_194_181), "--policy": one_of("always", "full", "never")},
    "cleaning": {"--policy": one_of("nop", "alru", "acp")},
}  # fmt: skip
# zfs(4), in 2.2 and 2.3.
ZFS_PARAMETERS = {
    "zfs_arc_min": NUMBER, "zfs_arc_max": NUMBER,
    "l2arc_write_max": NUMBER, "l2arc_write_boost": NUMBER, "l2arc_headroom": NUMBER,
    "l2arc_noprefetch": one_of("0", "1"), "l2arc_mfuonly": one_of("0", "1", "2"), "l2arc_feed_secs": between(1, 3600),
    "l2arc_feed_min_ms": MILLISECONDS,
}  # fmt: skip
# Documentation/admin-guide/bcache.rst: sysfs of the backing device, of the cache set and of the cache.
BCACHE_FILES = {
    "cache_mode": one_of("writethrough", "writeback", "writearound", "none"), "sequential_cutoff": KIBS,
    "readahead_cache_policy": one_of("all", "meta-only"), "writeback_percent": between(0, 40),
    "writeback_delay": NUMBER,
    "cache/congested_read_threshold_us": NUMBER, "cache/congested_write_threshold_us": NUMBER,
    "cache/cache0/cache_replacement_policy": one_of("lru", "fifo", "random"),
}  # fmt: skip
VOLUME = re.compile(re.escape(NAME) + "(/[a-z]+)?")
LVM = {
    "vgcreate": ({}, [VOLUME, DEVICE, DEVICE]),
    "lvcreate": ({"--name": re.compile("[a-z]+"), "--extents": one_of("100%PVS"), "--type": one_of("cache-pool"),
                  "--size": between(4, 1 << 40, "m"), "--chunksize": between(32, 1 << 20, "k")}, [VOLUME, DEVICE]),
    "lvconvert": ({"--yes": None, "--type": one_of("cache"), "--cachepool": re.compile("[a-z]+"),
                   "--cachemode": one_of("writethrough", "writeback", "passthrough"), "--cachepolicy": one_of("smq"),
                   "--cachesettings": re.compile("[a-z_]+=[0-9]+")}, [VOLUME]),
}  # fmt: skip
MAKE_BCACHE = {"--bucket": KIBS, "--block": NUMBER, "--cache": DEVICE, "--bdev": DEVICE}


def options(words, known):
    """Check options and their values; the words that are neither."""
    words, rest = list(words), []
    while words:
        word = words.pop(0)
        if not word.startswith("-"):
            rest.append(word)
            continue
        assert word in known, f"no option {word}"
        if known[word] is not None:
            assert words, f"{word} without a value"
            value = words.pop(0)
            assert known[word].fullmatch(value), f"{word} {value}: {known[word].pattern}"
    return rest


def documented():
    """The options of the filter, as docs/mounted.md has them."""
    text = (Path(__file__).parents[4] / "docs" / "mounted.md").read_text(encoding="utf-8")
    return set(re.findall(r"\b(cz-[a-z-]+)=", text))


def check(line):
    """Is a line what its program takes?

    Raises:
        AssertionError: it is not.
    """
    words = shlex.split(line, comments=True)
    if not words:
        return
    program, rest = words[0], words[1:]
    if program == "casadm":
        command, rest = rest[0], rest[1:]
        if command == "--set-param":
            assert rest[0] == "--name"
            command, rest = rest[1], rest[2:]
            assert rest[0] == "--cache-id"
            assert between(1, 16384).fullmatch(rest[1])
            rest = rest[2:]
            assert command in CAS
            assert not command.startswith("-")
        assert command in CAS, f"no command {command}"
        assert options(rest, CAS[command]) == []
    elif program == "echo":
        *said, sign, path = rest
        assert sign == ">"
        if path.startswith("/sys/block/bcache0/bcache/"):
            known = BCACHE_FILES[path.removeprefix("/sys/block/bcache0/bcache/")]
        elif path == f"/etc/modprobe.d/{NAME}.conf":
            assert said[:2] == ["options", "zfs"]
            for word in said[2:]:
                name, _, value = word.partition("=")
                assert ZFS_PARAMETERS[name].fullmatch(value), word
            return
        else:
            known = ZFS_PARAMETERS[path.removeprefix("/sys/module/zfs/parameters/")]
        assert len(said) == 1
        assert known.fullmatch(said[0]), line
    elif program == "make-bcache":
        assert options(rest, MAKE_BCACHE) == []
        assert "--bdev" in rest
    elif program == "parted":
        assert rest[:5] == ["--script", SSD, "mklabel", "gpt", "mkpart"]
        assert rest[5:7] == [NAME, "1MiB"]
        assert between(2, 1 << 40, "MiB").fullmatch(rest[7])
        assert len(rest) == 8
    elif program in LVM:
        known, places = LVM[program]
        given = options(rest, known)
        assert len(given) == len(places)
        assert all(place.fullmatch(word) for place, word in zip(places, given, strict=True)), line
    elif program == "zpool":
        assert rest in (["create", NAME, DISK], ["add", NAME, "cache", SSD])
    elif program == "zfs":
        size, block = re.fullmatch(
            rf"create -V ([0-9]+)M -o volblocksize=([0-9]+)K {NAME}/volume", " ".join(rest)
        ).groups()
        assert int(size) > 0
        assert int(block) in (4, 8, 16, 32, 64, 128)
        assert int(size) * 1024 % int(block) == 0
    elif program == "nbdkit":
        assert rest[0] == "-U"
        assert rest[2].startswith("--filter=runtimes/c/build/")
        assert rest[3:5] == ["file", DISK]
        names = [word.partition("=")[0] for word in rest[5:]]
        assert set(names) <= documented()
        assert {"cz-ssd", "cz-size", "cz-mode"} <= set(names)
    elif program == "nbd-client":
        assert rest == ["-unix", f"/run/{NAME}.sock", "/dev/nbd0"]
    else:
        assert line == "make -C runtimes/c filter"


def every():
    """All lines that can be printed, where one knob at most is not as it comes."""
    for target in TARGETS.values():
        for mode in target.modes:
            for settings in [target.defaults, *moves(target, mode.id, target.defaults)]:
                for sizes in (SIZES, Sizes(ssd=300, ram=20, disk=1001)):
                    yield target, mode, target.commands(sizes, mode.id, settings, DEVICES)


@pytest.mark.parametrize("name", TARGETS)
def test_every_line_is_what_its_program_takes(name):
    lines = [line for target, _, own in every() if target.id == name for line in own]
    assert len(lines) > 4
    for line in lines:
        check(line)


@pytest.mark.parametrize("name", TARGETS)
def test_every_knob_that_a_mode_has_is_in_its_commands(name):
    """A setting that no line shows would be advised and never set."""
    target = TARGETS[name]
    for mode in target.modes:
        if mode.writes == "none":
            continue
        usual = target.commands(SIZES, mode.id, target.defaults, DEVICES)
        for settings in moves(target, mode.id, target.defaults):
            assert target.commands(SIZES, mode.id, settings, DEVICES) != usual, settings


@pytest.mark.parametrize("name", TARGETS)
def test_both_devices_are_named_and_the_ssd_where_it_caches(name):
    target = TARGETS[name]
    for mode in target.modes:
        text = "\n".join(target.commands(SIZES, mode.id, target.defaults, DEVICES))
        assert DISK in text
        assert mode.writes == "none" or SSD in text


@pytest.mark.parametrize("line", [
    "casadm --start-cache --cache-device /dev/sda --cache-id 1", "casadm --add-core --cache-id 0 --core-device " + DISK,
    "casadm --set-param --name promotion-nhit --cache-id 1 --threshold 1 --trigger 80",
    "casadm --set-param --name seq-cutoff --cache-id 1 --policy sometimes", "casadm --stop",
    "echo 2 > /sys/module/zfs/parameters/l2arc_noprefetch", "echo 1 > /sys/module/zfs/parameters/l2arc_wrong",
    "echo write > /sys/block/bcache0/bcache/cache_mode",
    "echo options zfs l2arc_mfuonly=3 > /etc/modprobe.d/fast0.conf",
    "make-bcache --bucket 64 --bdev " + DISK, "lvconvert --type cache --cachemode writearound fast0/main",
    "lvcreate --type cache-pool --size 3m fast0 " + SSD, "zpool add fast0 log " + SSD, "sgdisk --zap-all " + SSD,
    "zfs create -V 3M -o volblocksize=12K fast0/volume",
    "nbdkit -U a --filter=runtimes/c/build/f.so file " + DISK + " cz-ssd=a cz-size=1M cz-mode=lru cz-wrong=1",
])  # fmt: skip
def test_the_grammar_can_fail(line):
    with pytest.raises((AssertionError, KeyError, AttributeError)):
        check(line)


def helped(program, *words):
    """What an installed program says of itself."""
    place = shutil.which(program)
    if place is None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run([place, *words, "--help"], capture_output=True, text=True, timeout=20, check=False)
    return done.stdout + done.stderr


def test_make_bcache_has_the_options():
    text = helped("make-bcache")
    assert all(option in text for option in MAKE_BCACHE)


@pytest.mark.parametrize("program", ["lvcreate", "lvconvert"])
def test_lvm_has_the_options(program):
    text = helped(program, "--longhelp")
    assert all(option in text for option in LVM[program][0])


def test_parted_takes_a_script():
    text = helped("parted")
    assert "--script" in text
    assert "mkpart" in text


def test_zpool_and_zfs_have_the_commands():
    assert "add [" in helped("zpool")
    assert "create [" in helped("zfs")


def test_bcaches_partition_is_named_as_its_device_is():
    whole = BCACHE.commands(SIZES, "writeback", BCACHE.defaults, Devices("/dev/sdb", "/dev/nvme0n1", NAME))
    assert any("--cache /dev/nvme0n1p1 " in line for line in whole)


PARTITIONS = (
    "/dev/disk/by-id/nvme-SSD_1-part4", "/dev/disk/by-path/pci-0000:00:1f.2-ata-3-part12", "/dev/sdz1", "/dev/sdab10",
    "/dev/vdb2", "/dev/nvme0n1p4", "/dev/mmcblk0p1", "/dev/md0p1", "/dev/loop0p2", "/dev/disk/by-partuuid/12ab-03",
    "/dev/disk/by-partlabel/cache", "/dev/disk/by-uuid/3f2a-01", "/dev/mapper/vg-fast", "/dev/vg/fast", "/dev/dm-3",
    "/dev/disk/by-id/dm-name-vg-fast", "/dev/disk/by-id/lvm-pv-uuid-x",
)  # fmt: skip
DRIVES = {
    "/dev/sdz": "/dev/sdz1", "/dev/sdab": "/dev/sdab1", "/dev/vdb": "/dev/vdb1", "/dev/nvme0n1": "/dev/nvme0n1p1",
    "/dev/nvme10n2": "/dev/nvme10n2p1", "/dev/mmcblk0": "/dev/mmcblk0p1", "/dev/md0": "/dev/md0p1",
    "/dev/disk/by-id/nvme-SSD_1": "/dev/disk/by-id/nvme-SSD_1-part1",
    "/dev/disk/by-path/pci-0000:00:1f.2-ata-3": "/dev/disk/by-path/pci-0000:00:1f.2-ata-3-part1",
}  # fmt: skip


def named(lines):
    """The devices in lines that run, but those that they make."""
    return {
        word for line in lines for word in re.split(r"[\s=]+", line)
        if word.startswith("/dev/") and not line.startswith("#") and word != "/dev/nbd0"
    }  # fmt: skip


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("part", PARTITIONS)
def test_a_partition_is_used_as_it_is(name, part):
    target = TARGETS[name]
    for mode in target.modes:
        lines = target.commands(SIZES, mode.id, target.defaults, Devices(DISK, part, NAME))
        assert named(lines) <= {DISK, part}
        assert not any("mklabel" in line or line.startswith("#") for line in lines)
        assert mode.writes == "none" or part in named(lines)


@pytest.mark.parametrize("name", TARGETS)
@pytest.mark.parametrize("drive", DRIVES)
def test_what_removes_a_drives_partitions_says_so_in_the_line_before(name, drive):
    target = TARGETS[name]
    for mode in target.modes:
        lines = target.commands(SIZES, mode.id, target.defaults, Devices(DISK, drive, NAME))
        assert named(lines) <= {DISK, drive, DRIVES[drive]}
        tables = [k for k, line in enumerate(lines) if "mklabel" in line]
        assert [k for k, line in enumerate(lines) if line.startswith("#")] == [k - 1 for k in tables]
        for k in tables:
            assert f"removes all partitions of {drive}." in lines[k - 1]
            assert DRIVES[drive] in named(lines[k + 1 :])
