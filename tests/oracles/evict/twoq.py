class Cache:
    """Naive 2Q, full version, the paper's procedure and names; lists with the head first."""

    def __init__(self, stream, capacity, kin=0.25, kout=0.5):
        self.capacity, self.kin, self.kout = capacity, int(capacity * kin), int(capacity * kout)
        self.a1in, self.a1out, self.am = [], [], []

    def has(self, page):
        return page in self.a1in or page in self.am

    def touch(self, page, i):
        if page in self.am:
            self.am.remove(page)
            self.am.insert(0, page)

    def insert(self, page, i):
        if page in self.a1out:
            self.a1out.remove(page)
            victim = self.reclaim()
            self.am.insert(0, page)
        else:
            victim = self.reclaim()
            self.a1in.insert(0, page)
        return victim

    def reclaim(self):
        if len(self.a1in) + len(self.am) < self.capacity:
            return -1
        if len(self.a1in) > self.kin or not self.am:
            victim = self.a1in.pop()
            self.a1out.insert(0, victim)
            if len(self.a1out) > self.kout:
                self.a1out.pop()
            return victim
        return self.am.pop()
