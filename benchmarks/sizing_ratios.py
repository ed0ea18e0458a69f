"""How the split of the money moves with the price of RAM over that of SSD, and with the size of the working set.

For each trace and ratio `cachezoo recommend --only ram-ssd` takes parts of modules and drives; printed is what
its advice does on the second half. RAM keeps its price and SSD gets dearer or cheaper. Money is a part of what RAM for
all pages costs to buy, so that the row before is also the same money in front of a working set four times as large.

    python benchmarks/sizing_ratios.py             # captured validation traces
    python benchmarks/sizing_ratios.py FILE...     # others
"""

import argparse
from pathlib import Path

from sizing import places

from cachezoo.devices.built_in import BUILT_IN
from cachezoo.questions.tiers.advice import Offer, advise
from cachezoo.questions.tiers.budget import GB, Money
from cachezoo.questions.tiers.options import SizeOptions
from cachezoo.questions.tiers.purchase import Terms
from cachezoo.settings.prices import BUILT_IN as PRICES
from cachezoo.settings.prices import Prices
from cachezoo.traces.pages import expand_pages
from cachezoo.traces.read import read_any
from cachezoo.traces.table import PAGE_BYTES

RATIOS = (2, 5, 20, 80)
SHARES = (1, 4, 16)
"""Hundredths of what RAM for all pages costs."""
HEADS = ("trace", "money", *(f"RAM {ratio} times as dear" for ratio in RATIOS))


def priced(ratio: float) -> Prices:
    """The built-in prices with another one for the SSD."""
    price = PRICES.ram.usd_per_gb / ratio
    return PRICES.model_copy(update={"ssd": PRICES.ssd.model_copy(update={"usd_per_gb": price})})


def cell(offer: Offer) -> str:
    """The hierarchy, RAM's part of the bytes, and the mean time of a page read."""
    point = offer.point
    if offer.nothing:
        return f"nothing, {offer.amat_us / 1e3:.2f} ms"
    part = point.ram_pages / (point.ram_pages + point.ssd_pages)
    return f"`{point.hierarchy}`, RAM {100 * part:.2g} %, {offer.amat_us / 1e3:.2f} ms".replace("|", "\\|")


def main() -> None:
    """Print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", type=Path, metavar="FILE")
    print("| " + " | ".join(HEADS) + " |\n" + "|---" * len(HEADS) + "|")
    for path in parser.parse_args().files or places():
        trace = read_any(path, quiet=True)
        pages = expand_pages(trace).n_pages
        for share in SHARES:
            most = share / 100 * pages * PAGE_BYTES / GB * PRICES.ram.usd_per_gb
            options = SizeOptions(terms=Terms(parts=True), budget=Money(most, monthly=False))
            found = [advise(path.stem, trace, BUILT_IN, priced(ratio), options, workers=1) for ratio in RATIOS]
            cells = (path.stem, f"{share} %", *(cell(advice.answer) for advice in found))
            print("| " + " | ".join(cells) + " |", flush=True)


if __name__ == "__main__":
    main()
