class Cache:
    """Naive LIRS, in the paper's words: one stack S, its top last; a list Q of resident HIR blocks, its front first."""

    def __init__(self, stream, capacity, hir=0.01, stack=2.0):
        self.lhirs = max(1, int(hir * capacity))
        self.llirs = capacity - self.lhirs
        self.limit = int(stack * capacity)
        self.s, self.q, self.lir = [], [], set()

    def has(self, page):
        return page in self.lir or page in self.q

    def prune(self):
        while self.s and self.s[0] not in self.lir:
            self.s.pop(0)

    def top(self, page):
        if page in self.s:
            self.s.remove(page)
        self.s.append(page)
        self.prune()
        while len(self.s) > self.limit:
            self.s.remove(next(block for block in self.s if block not in self.lir))

    def exchange(self, page):
        """A HIR block becomes LIR, and the LIR block at the bottom HIR."""
        bottom = self.s.pop(0)
        self.lir.remove(bottom)
        self.q.append(bottom)
        self.lir.add(page)

    def touch(self, page, i):
        if page in self.lir:
            self.top(page)
            return
        self.q.remove(page)
        if page in self.s:
            self.exchange(page)
        else:
            self.q.append(page)
        self.top(page)

    def insert(self, page, i):
        if len(self.lir) < self.llirs:
            self.lir.add(page)
            self.top(page)
            return -1
        left = self.q.pop(0) if len(self.q) == self.lhirs else -1
        if page in self.s:
            self.exchange(page)
        else:
            self.q.append(page)
        self.top(page)
        return left
