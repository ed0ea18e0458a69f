"""The run of a policy of the zoo as the I/Os of an SSD before a disk, write-through or write-back.

What enters takes the slot of what it evicts, else the next that was never used. A read takes from the SSD what is
there, the rest from the disk; what enters is filled later. Write-through: a write goes to the disk, and to the SSD if
its page is there or enters. Write-back: it goes to the SSD alone; a page that does not enter goes to the disk. A dirty
page that is evicted is read from the SSD and written to the disk, later. What RAM above it holds is read from there.
"""

import numpy as np

from cachezoo.arrays import I32, I64, U8, Bool
from cachezoo.kernels.jit import njit
from cachezoo.kernels.outcome import ADMITTED, HIT
from cachezoo.kernels.targets.log import LATER, ON_SSD, WRITE, Log, empty, note, room
from cachezoo.kernels.tiers import DISK, RAM, SSD


@njit
def policy_ios(start: I64, page: I32, write: Bool, address: I64, ram: Bool, outcome: U8, victim: I32, back: bool
               ) -> tuple[U8, Log, I32]:  # fmt: skip
    """The I/Os of a run.

    Args:
        start: int64[n + 1] of each request.
        page: int32[m].
        write: bool[n].
        address: int64[n_pages] on the volume.
        ram: bool[m] what RAM serves, which the policy does not see: `BYPASSED` without a victim.
        outcome: uint8[m] of the run.
        victim: int32[m] of the run.
        back: write-back; else write-through.

    Returns:
        uint8[m] where each access found its page; the I/Os; int32[n] dirty pages after each request.
    """
    n = write.size
    found = np.full(page.size, DISK, np.uint8)
    dirty = np.zeros(address.size, np.bool_)
    slot = np.zeros(address.size, np.int32)
    used, soiled = 0, 0
    left = np.empty(n, np.int32)
    log = empty(2 * n + 1)
    for i in range(n):
        log = room(log, 4 * (start[i + 1] - start[i]))
        for j in range(start[i], start[i + 1]):
            own, old = page[j], victim[j]
            here = outcome[j] == HIT
            enters = outcome[j] == ADMITTED
            if here:
                found[j] = SSD
            if old >= 0:
                if dirty[old]:
                    note(log, ON_SSD | LATER, i, slot[old], 1)
                    note(log, WRITE | LATER, i, address[old], 1)
                    dirty[old] = False
                    soiled -= 1
                slot[own] = slot[old]
            elif enters:
                slot[own] = used
                used += 1
            if ram[j]:
                found[j] = RAM
            elif not write[i]:
                if here:
                    note(log, ON_SSD, i, slot[own], 1)
                elif enters:
                    note(log, ON_SSD | WRITE | LATER, i, slot[own], 1)
            elif here or enters:
                note(log, ON_SSD | WRITE, i, slot[own], 1)
                if back and not dirty[own]:
                    dirty[own] = True
                    soiled += 1
        # The disk's own I/Os after those of the SSD, so that the pages of each go on from one to the next.
        for j in range(start[i], start[i + 1]):
            here, enters = outcome[j] == HIT, outcome[j] == ADMITTED
            if write[i] and not (back and (here or enters)):
                note(log, WRITE, i, address[page[j]], 1)
            elif not (write[i] or here or ram[j]):
                note(log, 0, i, address[page[j]], 1)
        left[i] = soiled
    return found, log, left
