"""RC-RNN's Fig. 17 live: two programs in turn on a filesystem behind the mounted cache, whose models take turns.

`.venv/bin/python -m benchmarks.fig17_live` (as root; nbdkit, nbdfuse and the programs of a capture) prints a line for
each cache:

- `no cache`: the disk alone;
- `lru`, `s3fifo`: classics, `cz-policy`;
- `database's model` …: the caching bundle of one category throughout, `cz-bundle`;
- `models in turn`: the caching bundles of all categories, with the monitor that chooses among them, `cz-monitor`;
- `models in turn, no unknown`: the same with a monitor that always names a category, as the paper's does. The zoo's
  says unknown where requests are unlike all that it was trained on, and then nothing changes.

The paper's single_model, which loads a model before it decides, is not among them: the filter holds all models.

The disk is a file behind an nbdkit of its own, which serves one request at a time and takes `--disk-ms` for each: half
a revolution at 7,200 rpm is 4.2 ms, and seeks within the few GiB of the filesystem are short. Disk and SSD are files on
`--folder`, a tmpfs, so that only this time passes. Caches write back, as in the paper. nbdfuse shows the cached disk as
a file, and a loop device, which goes around the host's page cache, makes a disk with ext4 of that. The programs run on
it in the memory group of a capture, so that the kernel holds little. Each is set up by its capture's recipe, whose
phases are its turns, all of `--seconds`, in which its clients go as fast as they can. Every run begins from the same
image, with the same seeds and an empty SSD.

After each run the cache is stopped, and started again before the same disk, now without delay. Then every file of the
web site must be what it was, and the balances of the database's accounts the sum of their changes; at the end e2fsck
looks at the disk.
"""

import argparse
import hashlib
import itertools
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from cachezoo.bundles import load
from cachezoo.demo.mounted import serving
from cachezoo.io import write_json
from cachezoo.serve import control
from cachezoo.serve.metrics import accesses
from cachezoo.show.formats import words
from cachezoo.show.output import print_table
from cachezoo.sizes import PAGE_BYTES
from lab.reconfigure.live import FILE, IN_TURN, NAMING, NO_CACHE, PLOT, Live, Load, Run, Turn, draw, rows_of, table
from tests.bundle_data import reseal
from tools.capture.disk import MIB, call
from tools.capture.installed import program
from tools.capture.programs import check_packages, program_class
from tools.capture.programs.base import Closed, Player
from tools.capture.programs.postgres import Postgres
from tools.capture.programs.web import Site
from tools.capture.recipe import RECIPES, load_recipe
from tools.capture.recipe import given as required
from tools.capture.run import check_rights, orderly_signals
from tools.capture.sandbox import Sandbox, stop_process

ROOT = Path(__file__).parents[1]
POLL_S = 0.25
PERIOD_S = 2.0
READY_S = 30.0
NEVER = 1e9  # no window is so strange
LATENCY_MS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}


@dataclass(frozen=True)
class Way:
    """A cache that is measured.

    Attributes:
        name: in the table.
        options: of the filter; None: there is none.
        begins: category whose model decides at first; empty without a model.
    """

    name: str
    options: list[str] | None
    begins: str = ""


def ways_of(
    bundles: Path, categories: Sequence[str], classics: Sequence[str], folder: Path
) -> tuple[list[Way], dict[str, str]]:
    """Every cache, and the digests of the bundles by their names.

    Args:
        bundles: folder of one bundle of kind workload and caching bundles.
        categories: of the programs, in their order; each has a caching bundle.
        classics: policies that no model decides.
        folder: for the bundle of a monitor that finds nothing unknown.
    """
    found = {
        path: load(path) for path in sorted(bundles.iterdir()) if path.name.split(".")[0] in ("caching", "workload")
    }
    caching = {one.manifest["category"]: path for path, one in found.items() if one.manifest["kind"] == "caching"}
    monitor = next((path for path, one in found.items() if one.manifest["kind"] == "workload"), None)
    if monitor is None or not set(categories) <= set(caching):
        raise SystemExit(f"{bundles}: it needs a bundle of kind workload, and of kind caching of {words(categories)}")
    fixed = [Way(f"{one}'s model", [f"cz-bundle={caching[one]}"], one) for one in categories]
    naming = folder / monitor.name
    shutil.copytree(monitor, naming)
    reseal(naming, lambda manifest: manifest["policy"].update(unknown_above={"window": NEVER, "vote": NEVER}))
    begins, models = f"cz-bundle={caching[categories[0]]}", f"cz-models={':'.join(map(str, caching.values()))}"
    in_turn = [
        Way(name, [begins, f"cz-monitor={path}", models], categories[0])
        for name, path in ((IN_TURN, monitor), (NAMING, naming))
    ]
    plain = [Way(one, [f"cz-policy={one}"]) for one in classics]
    ways = [Way(NO_CACHE, None), *plain, *fixed, *in_turn]
    return ways, {path.name: one.model_digest for path, one in found.items()}


def said(player: Player) -> tuple[float, float]:
    """Operations per second of a program, and their mean response time in ms, as its clients' log has them."""
    text = player.log.read_text(errors="replace")
    if player.name.startswith("wrk"):
        (latency, unit) = re.findall(r"Latency\s+([\d.]+)(us|ms|s|m)\b", text)[0]
        return float(re.findall(r"Requests/sec:\s+([\d.]+)", text)[0]), float(latency) * LATENCY_MS[unit]
    rows = [tuple(map(float, row)) for row in re.findall(r"progress: [\d.]+ s, ([\d.]+) tps, lat ([\d.]+) ms", text)]
    done = sum(tps for tps, _ in rows)
    if not done:
        raise SystemExit(f"{player.name}: no second with a transaction; give longer --seconds")
    return done / len(rows), sum(tps * ms for tps, ms in rows) / done


@contextmanager
def as_file(socket: Path, box: Sandbox, folder: Path) -> Iterator[Path]:
    """What a server of NBD has, as a file."""
    place = folder / "fuse"
    place.mkdir(exist_ok=True)
    command = [program("nbdfuse"), str(place / "disk"), f"nbd+unix:///?socket={socket}"]
    process = box.spawn(command, box.work / "nbdfuse.log", limited=False)
    try:
        end = time.monotonic() + READY_S
        while not (place / "disk").exists():
            if process.poll() is not None or time.monotonic() > end:
                raise SystemExit(f"nbdfuse: {(box.work / 'nbdfuse.log').read_text()}")
            time.sleep(0.01)
        yield place / "disk"
    finally:
        stop_process(process)


@dataclass(frozen=True)
class Bench:
    """Two programs on a filesystem, and what lies on the folder.

    Attributes:
        box: where they run.
        programs: in the order of their turns.
        loads: what they are.
        folder: of disk and SSD.
        library: the filter.
        cache_bytes: of the cache.
        disk_ms: that the disk takes for a request.
    """

    box: Sandbox
    programs: Sequence[Closed[Any]]
    loads: Sequence[Load]
    folder: Path
    library: Path
    cache_bytes: int
    disk_ms: int

    @property
    def turns(self) -> int:
        """As many rounds as both recipes have phases for."""
        return len(self.programs) * min(len(required(one.recipe.phases)) for one in self.programs)

    @property
    def image(self) -> Path:
        """The disk of a run."""
        return self.folder / "disk.img"

    @property
    def control(self) -> Path:
        """The filter's socket."""
        return self.folder / "control"

    def begin(self) -> None:
        """Lay out the disk as every run finds it, with an empty SSD."""
        for name in ("ssd", "label"):
            (self.folder / name).unlink(missing_ok=True)
        (disk,) = self.box.disks.values()
        call(["cp", "--sparse=always", str(disk.image), str(self.image)])
        for log in self.box.work.glob("*.log"):
            log.unlink()

    @contextmanager
    def mounted(self, way: Way, disk_ms: int) -> Iterator[None]:
        """The run's filesystem behind a cache; everything is destaged and gone afterwards."""
        words = ["file", f"file={self.image}"]
        if disk_ms:
            slow = [f"rdelay={disk_ms}ms", f"wdelay={disk_ms}ms", "serialize=all-requests"]
            words = ["--filter=noparallel", "--filter=delay", *words, *slow]
        places = {name: self.folder / name for name in ("slow", "cached")}
        for place in places.values():
            place.mkdir(exist_ok=True)
        with ExitStack() as down:
            socket = down.enter_context(serving(places["slow"], words))
            if way.options is not None:
                own = {
                    "socket": socket, "cz-disk": self.image, "cz-ssd": self.folder / "ssd", "cz-size": self.cache_bytes,
                    "cz-writes": "back", "cz-label": self.folder / "label", "cz-control": self.control,
                }  # fmt: skip
                options = [*(f"{key}={value}" for key, value in own.items()), *way.options]
                socket = down.enter_context(serving(places["cached"], [f"--filter={self.library}", "nbd", *options]))
            file = down.enter_context(as_file(socket, self.box, self.folder))
            (disk,) = self.box.disks.values()
            down.enter_context(disk.served_from(file))
            yield

    def counters(self, way: Way) -> dict[str, Any]:
        """Of the filter; empty without."""
        return control.ask(self.control, "status") if way.options is not None else {}

    def reads(self) -> tuple[int, int]:
        """Reads of the mounted disk so far, and the milliseconds that they took."""
        (disk,) = self.box.disks.values()
        fields = (disk.sysfs / "stat").read_text().split()
        return int(fields[0]), int(fields[3])


def requests(counters: dict[str, Any]) -> int:
    """That reached the cache."""
    return sum(int(counters.get(key, 0)) for key in ("read_requests", "write_requests", "zeroes", "trims"))


def decides(counters: dict[str, Any], way: Way) -> str:
    """The category whose model does; empty without one."""
    return counters.get("decides") or way.begins


def turn(bench: Bench, way: Way, place: int, seconds: int) -> Turn:
    """Let a program have its turn, with the next phase of its recipe.

    Args:
        bench: with the filesystem mounted and the programs started.
        way: the cache.
        place: of the turn.
        seconds: how long it is.
    """
    number, who = divmod(place, len(bench.programs))
    playing, category = bench.programs[who], bench.loads[who].category
    phase = required(playing.recipe.phases)[number]
    first, first_reads, began = bench.counters(way), bench.reads(), time.monotonic()
    players = playing.play(phase, place)
    right = (0.0, 0) if decides(first, way) == category else None
    samples, now = [accesses(first)], first
    while (passed := time.monotonic() - began) < seconds:
        time.sleep(min(POLL_S, seconds - passed))
        now, passed = bench.counters(way), time.monotonic() - began
        if right is None and decides(now, way) == category:
            right = passed, requests(now) - requests(first)
        while passed >= len(samples) * PERIOD_S:
            samples.append(accesses(now))
    last_reads = bench.reads()
    playing.end(players)
    operations, response_ms = said(players[0])
    reads, read_ms = (after - before for after, before in zip(last_reads, first_reads, strict=True))
    units, hits = (after - before for after, before in zip(accesses(now), accesses(first), strict=True))
    periods = [(after[0] - before[0], after[1] - before[1]) for before, after in itertools.pairwise(samples)]
    return Turn(
        program=playing.program,
        seconds=passed,
        operations=operations,
        response_ms=response_ms,
        read_ms=read_ms / max(1, reads),
        accesses=units,
        hits=hits,
        ssd_mib=(now.get("ssd_write_bytes", 0) - first.get("ssd_write_bytes", 0)) / MIB,
        takeovers=now.get("takeovers", 0) - first.get("takeovers", 0),
        right_after_s=None if right is None else right[0],
        right_after_requests=None if right is None else right[1],
        periods=[hit / count if count else None for count, hit in periods],
    )


def digest(root: Path) -> str:
    """Of the names and contents of all files of a tree."""
    found = hashlib.sha256()
    for path in sorted(path for path in root.rglob("*") if path.is_file()):
        found.update(f"{path.relative_to(root)}\0".encode())
        found.update(hashlib.sha256(path.read_bytes()).digest())
    return found.hexdigest()


def sites(bench: Bench) -> list[str]:
    """The digest of every web site."""
    return [digest(one.site) for one in bench.programs if isinstance(one, Site)]


def run(bench: Bench, way: Way, seconds: int, before: list[str]) -> list[Turn]:
    """All turns before a cache, and a look at the data afterwards.

    Args:
        bench: the programs; they do not run.
        way: the cache.
        seconds: of a turn.
        before: digests of the sites as they were made.

    Raises:
        CaptureError: a program fails; a database or the filesystem is damaged.
    """
    bench.begin()
    with bench.mounted(way, bench.disk_ms):
        # What still ran would keep the filesystem from being unmounted.
        with ExitStack() as running:
            for one in bench.programs:
                running.callback(one.stop)
                one.start()
            found = [turn(bench, way, k, seconds) for k in range(bench.turns)]
        counters = bench.counters(way)
    with bench.mounted(way, 0):
        faults = [key for key in ("ssd_errors", "ssd_corrupt", "policy_failures", "lost_units") if counters.get(key)]
        if faults or counters.get("bypassed") or sites(bench) != before:
            raise SystemExit(f"{way.name}: the data of the site are not what they were, or {faults or 'bypassed'}")
        for one in bench.programs:
            if isinstance(one, Postgres):
                with ExitStack() as running:
                    running.callback(one.stop)
                    one.start()
                    one.check_books()
    call(["e2fsck", "-fn", str(bench.image)])
    return found


def measure(given: argparse.Namespace, library: Path, folder: Path) -> Iterator[Live]:
    """What is known after each repeat of every cache; their order moves on by one from repeat to repeat."""
    recipes = [load_recipe(path) for path in given.recipes]
    loads = [
        Load(program=one.program, recipe=path.stem, category=one.category)
        for one, path in zip(recipes, given.recipes, strict=True)
    ]
    kinds = [program_class(one) for one in recipes]
    for kind in kinds:
        check_packages(kind)
    ways, models = ways_of(given.bundles, [one.category for one in loads], given.classics, folder)
    sizes = (sum(one.disk_mib for one in recipes), max(one.memory_mib for one in recipes), recipes[0].readahead_kib)
    found: list[Run] = []
    with Sandbox(*sizes) as box:
        programs = [kind(recipe, box) for kind, recipe in zip(kinds, recipes, strict=True)]
        bench = Bench(box, programs, loads, folder, library, given.cache_mib * MIB, given.disk_ms)
        for one in programs:
            one.prepare()
        before = sites(bench)
        for disk in box.disks.values():
            disk.close()
        for repeat in range(given.repeats):
            for k in range(len(ways)):
                way = ways[(k + repeat) % len(ways)]
                made = Run(repeat=repeat, cache=way.name, turns=run(bench, way, given.seconds, before))
                found.append(made)
                speeds = ", ".join(f"{one.program} {one.operations:.0f}/s" for one in made.turns)
                sys.stderr.write(f"repeat {repeat + 1}, {way.name}: hit ratio {made.hit_ratio:.4f}; {speeds}\n")
            yield Live(
                loads=loads, turn_s=given.seconds, turns=bench.turns, repeats=repeat + 1,
                cache_pages=bench.cache_bytes // PAGE_BYTES, disk_ms=given.disk_ms, period_s=PERIOD_S, models=models,
                checked=len(found), runs=list(found), rows=rows_of(found),
            )  # fmt: skip


def main() -> None:
    """Build, measure, and after each repeat print, and write document and plot where wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    recipes = [RECIPES / f"turns/{name}.yaml" for name in ("database", "web")]
    parser.add_argument("--recipes", type=Path, nargs=2, default=recipes, help="of postgres and a site, with phases")
    parser.add_argument("--bundles", type=Path, default=ROOT / "models/bundles", help="folder of the models' bundles")
    parser.add_argument("--classics", nargs="*", default=["lru", "s3fifo"], help="policies")
    parser.add_argument("--seconds", type=int, default=60, help="of a turn")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--cache-mib", type=int, default=32)
    parser.add_argument("--disk-ms", type=int, default=4, help="that the disk takes for a request")
    parser.add_argument("--folder", type=Path, default=Path("/dev/shm"), help="where disk and SSD lie")
    parser.add_argument("--filter", type=Path, help="a filter that is built already")
    parser.add_argument("--out", type=Path, help=f"folder for {FILE.name} and {PLOT.name}")
    given = parser.parse_args()
    check_rights()
    with orderly_signals(), tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder = Path(name)
        if not given.filter:
            make = ["make", "-s", "-C", str(ROOT / "runtimes/c"), "filter", f"BUILD={folder / 'build'}"]
            subprocess.run(make, check=True, stdout=subprocess.DEVNULL)
        for found in measure(given, given.filter or folder / "build/nbdkit-cachezoo-filter.so", folder):
            print_table(table(found))
            if given.out is not None:
                given.out.mkdir(parents=True, exist_ok=True)
                write_json(given.out / FILE.name, found.model_dump(mode="json"))
                draw(found, given.out / PLOT.name)


if __name__ == "__main__":
    main()
