"""Response times of the test traces on devices of this machine, beside those of device models; see docs/devices.md.

    python -m lab.notes.real_devices [CATEGORY …] [--folder DIR] [--disk PATH --ssd PATH] [--rounds 3] …      as root

Without --disk and --ssd the disk is a file in --folder behind a loop device, and the SSD is zram, which is memory: both
are made, prepared and removed. With them it is what `cachezoo device prepare` has prepared. Writes are replayed as
writes. Needs the traces as files, no stage. Writes lab/results/real.json and real.png.
"""

import argparse
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from cachezoo.config.compose import compose
from cachezoo.config.load import validate_params
from cachezoo.console import out
from cachezoo.devices.profile import load_models
from cachezoo.errors import CachezooError
from cachezoo.io import write_json
from cachezoo.settings.device import RealDevice, Target
from cachezoo.settings.params import Params
from cachezoo.traces.read import read_any
from cachezoo.traces.table import Trace
from cachezoo.yaml_file import parsed
from lab.real.document import FILE, PLOT
from lab.real.plot import draw, tables
from lab.real.run import Category, run
from lab.real.targets import BLOCK_BYTES, disk_and_ram

LOOP = "a file on this machine's disk, behind a loop device with direct I/O"
RAM = "zram: this machine's memory"


def category(params: Params, name: str, train: int, test: int) -> Category:
    """A category's first train trace and all its test traces, the first requests of each; 0: all."""

    def read(key: str, count: int) -> Trace:
        trace = read_any(Path(params.data.traces[key].path), quiet=True)
        return trace.rows(0, min(count or len(trace), len(trace)))

    roles = params.data.roles[name]
    return Category(name, read(roles["train"][0], train), {key: read(key, test) for key in roles["test"]})


@contextmanager
def targets(asked: argparse.Namespace, reach: int) -> Iterator[tuple[Target, Target]]:
    """Those that were named, or such as can be made here."""
    if asked.disk:
        yield Target(path=asked.disk, name=asked.disk), Target(path=asked.ssd, name=asked.ssd)
        return
    with disk_and_ram(asked.folder, reach) as (disk, ram):
        yield Target(path=disk, name=LOOP), Target(path=ram, name=RAM)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, write the document and the plot, print the tables; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("categories", nargs="*", help="default: all page categories")
    parser.add_argument("--folder", type=Path, default=Path("/var/tmp"), help="on the disk, for the file")
    parser.add_argument("--disk", default="", help="a prepared target")
    parser.add_argument("--ssd", default="", help="a prepared target")
    parser.add_argument("--profile", default="wdredpro2tb_850pro", help="whose models stand beside")
    parser.add_argument("--rounds", type=int, default=3, help="of each test trace")
    parser.add_argument("--train-requests", type=int, default=20_000, help="first of each train trace; 0: all")
    parser.add_argument("--test-requests", type=int, default=0, help="first of each test trace; 0: all")
    asked = parser.parse_args(arguments)
    if bool(asked.disk) != bool(asked.ssd) or asked.rounds < 1:
        parser.error("give both --disk and --ssd or neither, and 1 round or more")
    params = validate_params(parsed(compose(Path("conf")), "conf"), "conf")
    names = asked.categories or params.data.page_categories
    try:
        found = [category(params, name, asked.train_requests, asked.test_requests) for name in names]
        traces = [trace for own in found for trace in (own.train, *own.tests.values())]
        reach = max(int((trace.offset + trace.size).max()) for trace in traces) + BLOCK_BYTES
        with targets(asked, reach) as (disk, ssd):
            device = RealDevice(source="real", hdd=disk, ssd=ssd, logical_block_bytes=BLOCK_BYTES, writes="replay")
            profile, fraction = load_models(asked.profile), params.evaluate.capacity_fraction
            shown = run(found, device, (asked.profile, profile), fraction, asked.rounds)
        draw(shown, PLOT)
        write_json(FILE, shown.model_dump(mode="json"))
    except CachezooError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    out().print(*tables(shown))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
