from tests.oracles.evict import arc


class Cache:
    """Naive mARC: a naive ARC, the list of ids that the filter knows, oldest first, and the log of what happened.

    The log has a row for each access: hit, and whether the filter knew the page of a miss of the full cache.
    """

    def __init__(self, stream, capacity, window=1.0, **bounds):
        self.c, self.arc, self.filter, self.room = capacity, arc.Cache(stream, capacity), [], float(capacity)
        self.window = max(1, int(window * capacity))
        self.bounds = {"low": 0.05, "high": 0.2, "drop": 0.5, "band": 0.1, "fall": 0.7, "known": 0.1} | bounds
        self.mode, self.log = "unstable", []
        self.phase_start, self.judge_at = 0, 2 * self.window

    def has(self, page):
        return self.arc.has(page)

    def next_mode(self):
        b, window = self.bounds, self.log[-self.window :]
        recent = sum(hit for hit, _ in window) / self.window
        phase = sum(hit for hit, _ in self.log[self.phase_start :]) / (len(self.log) - self.phase_start)
        if self.mode == "unstable":
            if recent < b["drop"] * phase or recent < b["low"]:
                return "unique"
            if abs(phase - recent) < b["band"] * recent or (recent >= phase and recent >= b["high"]):
                return "stable"
        if self.mode == "stable" and recent <= b["fall"] * phase:
            return "unstable"
        if self.mode == "unique":
            if recent > b["low"] or sum(knew for _, knew in window) > b["known"] * self.window:
                return "unstable"
        return self.mode

    def count(self, hit, knew):
        self.log.append((hit, knew))
        if len(self.log) < self.judge_at:
            return
        mode = self.next_mode()
        self.judge_at += self.window
        if mode != self.mode:
            if mode == "unstable":
                self.judge_at += self.window
            else:
                self.room = 0.1 * self.c
            if mode != "stable":
                self.phase_start = len(self.log)
            self.mode = mode

    def touch(self, page, i):
        self.count(1, 0)
        shrunk = self.room - self.c / (self.c - self.room) if self.room < self.c else 0.0
        self.room = max(0.1 * self.c, shrunk)
        self.arc.touch(page, i)

    def remember(self, page):
        self.filter.append(page)
        while len(self.filter) > max(1, self.room):
            self.filter.pop(0)

    def insert(self, page, i):
        full = len(self.arc.t1) + len(self.arc.t2) == self.c
        knew = full and page in self.filter
        self.count(0, knew)
        if not full:
            return self.arc.insert(page, i)
        self.room = min(0.9 * self.c, self.room + self.c / self.room)
        if knew:
            self.filter.remove(page)
        if self.mode == "unstable":
            self.remember(page)
        elif not knew:
            self.remember(page)
            return -2
        return self.arc.insert(page, i)
