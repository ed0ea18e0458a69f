"""Lines that load what is to be run, to copy from the page."""

from collections.abc import Sequence

from cachezoo import paths
from cachezoo.metrics.flash import FlashMetrics
from cachezoo.sizes import PAGE_BYTES, human

FILTER = "runtimes/c/build/nbdkit-cachezoo-filter.so"
MODELS = ("bundle", "prefetch-bundle")  # the filter's options; the second is for a prefetch model, if there is one
MOUNTED = ("rejectx",)  # policies without a model that the nbdkit filter runs


def page_lines(run: str, model: bool, capacity: int | None, fraction: float) -> str:
    """Run a bundle's page cache from Python, or try a classic on one's own trace.

    Args:
        run: the bundle's or the policy's id.
        model: whether it is a bundle.
        capacity: pages of a cache that it was measured with; None where none was.
        fraction: that as a part of a trace's distinct pages.
    """
    share = f"{100 * fraction:g}%"
    if not model:
        return f".venv/bin/cachezoo simulate TRACE --policy '{run}' --size {share}"
    pages = capacity or 16_384
    return (
        "from cachezoo import runtime  # make wheel\n"
        f'model = runtime.open("{paths.bundle(run)}", capacity={pages})\n'
        f"cache = model.cache({pages})  # pages of 4 KiB: {human(pages * PAGE_BYTES)}"
    )


def flash_lines(run: Sequence[str], model: bool, flash: FlashMetrics, mode: str) -> str:
    """Mount a disk behind a flash cache; nothing for a policy that the filter does not run.

    Args:
        run: ids of an admission and perhaps a prefetch bundle, or of a policy.
        model: whether these are bundles.
        flash: the category's figures, for the window that met the write budget.
        mode: the prefetch mode.
    """
    if model:
        how = [f"cz-{name}={paths.bundle(one)}" for name, one in zip(MODELS, run, strict=False)]
    elif run[0] in MOUNTED:
        found = flash.modes[run[0]].figures
        window = found[mode].knob if isinstance(found, dict) else 0.0
        how = [f"cz-mode={run[0]} cz-window={window:.0f} 'cz-prefetch={mode}'"]
    else:
        return ""
    options = " \\\n".join(["cz-ssd=/dev/disk/by-id/nvme-SSD-part4 cz-size=64G", *how])
    return f"nbdkit -U disk.sock file /dev/disk/by-id/ata-DISK \\\n--filter={FILTER} \\\n{options}"
