"""A policy's run as I/Os, naively: which page lies in which slot, and which pages are dirty."""

BYPASSED, ADMITTED, HIT = 0, 1, 2
WRITE, ON_SSD, LATER = 1, 2, 4


def policy_ios(requests, ram, outcomes, address, back):
    """Of requests (write, pages), and of each page ram and (what, victim): (code, request, place), and dirty pages."""
    slot, dirty, ios, left, used = {}, set(), [], [], 0
    ram, outcomes = iter(ram), iter(outcomes)
    for number, (write, pages) in enumerate(requests):
        disk = []
        for page in pages:
            what, victim = next(outcomes)
            if next(ram):
                continue
            if victim >= 0:
                slot[page] = slot.pop(victim)
                if victim in dirty:
                    ios += [(ON_SSD | LATER, number, slot[page]), (WRITE | LATER, number, address[victim])]
                    dirty.remove(victim)
            elif what == ADMITTED:
                slot[page], used = used, used + 1
            if what == BYPASSED or (write and not back) or (not write and what != HIT):
                disk.append((WRITE * write, number, address[page]))
            if write and what != BYPASSED:
                ios.append((ON_SSD | WRITE, number, slot[page]))
                dirty |= {page} if back else set()
            if not write and what == HIT:
                ios.append((ON_SSD, number, slot[page]))
            if not write and what == ADMITTED:
                ios.append((ON_SSD | WRITE | LATER, number, slot[page]))
        ios += disk
        left.append(len(dirty))
    return ios, left
