import math

from cachezoo.kernels.outcome import METADATA, PREFETCH, REQUEST, WRITE


def request_pages(stream):
    """Pages that the request of each access asks for."""
    requests = []
    for flags in stream.flags.tolist():
        if flags & REQUEST:
            requests.append([])
        requests[-1].append(flags & PREFETCH == 0)
    return [sum(request) for request in requests for _ in request]


class Cache:
    """Naive Hystor-like: worth of all pages in a dict, main area a set, write-back area a list, oldest first."""

    def __init__(self, stream, capacity, write_share=0.2):
        self.flags, self.sizes = stream.flags, request_pages(stream)
        self.for_writes = math.floor(write_share * capacity)
        self.for_main = capacity - self.for_writes
        self.worth, self.last, self.metadata, self.main, self.written = {}, {}, set(), set(), []

    def has(self, page):
        return page in self.main or page in self.written

    def touch(self, page, i):
        self.note(page, i)
        if page in self.written:
            self.written.remove(page)
            self.written.append(page)

    def insert(self, page, i):
        self.note(page, i)
        if page in self.metadata or not self.flags[i] & WRITE or self.for_writes == 0:
            return self.enter_main(page, page in self.metadata)
        self.written.append(page)
        if len(self.written) <= self.for_writes:
            return -1
        pushed = self.written.pop(0)
        left = self.enter_main(pushed, False)
        return pushed if left == -2 else left

    def note(self, page, i):
        self.worth[page] = self.worth.get(page, 0) + max(1, 128 >> int(math.log2(self.sizes[i])))
        self.last[page] = i
        if self.flags[i] & METADATA:
            self.metadata.add(page)

    def enter_main(self, page, always):
        self.main.add(page)
        if len(self.main) <= self.for_main:
            return -1
        others = self.main - {page} if always else self.main
        least = min(others, key=lambda q: (q in self.metadata, self.worth[q], self.last[q]))
        self.main.remove(least)
        return -2 if least == page else least
