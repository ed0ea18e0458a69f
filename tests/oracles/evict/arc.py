class Cache:
    """Naive ARC, line by line from the paper's figure: four lists, oldest first."""

    def __init__(self, stream, capacity):
        self.c, self.p = capacity, 0.0
        self.t1, self.t2, self.b1, self.b2 = [], [], [], []

    def has(self, page):
        return page in self.t1 + self.t2

    def touch(self, page, i):
        (self.t1 if page in self.t1 else self.t2).remove(page)
        self.t2.append(page)

    def replace(self, page):
        if self.t1 and (len(self.t1) > self.p or (page in self.b2 and len(self.t1) == self.p)):
            left, ghosts = self.t1.pop(0), self.b1
        else:
            left, ghosts = self.t2.pop(0), self.b2
        ghosts.append(left)
        return left

    def insert(self, page, i):
        if page in self.b1:
            self.p = min(float(self.c), self.p + max(1.0, len(self.b2) / len(self.b1)))
            left = self.replace(page)
            self.b1.remove(page)
            self.t2.append(page)
            return left
        if page in self.b2:
            self.p = max(0.0, self.p - max(1.0, len(self.b1) / len(self.b2)))
            left = self.replace(page)
            self.b2.remove(page)
            self.t2.append(page)
            return left
        left = -1
        l1 = len(self.t1) + len(self.b1)
        l2 = len(self.t2) + len(self.b2)
        if l1 == self.c:
            if len(self.t1) < self.c:
                self.b1.pop(0)
                left = self.replace(page)
            else:
                left = self.t1.pop(0)
        elif l1 + l2 >= self.c:
            if l1 + l2 == 2 * self.c:
                self.b2.pop(0)
            left = self.replace(page)
        self.t1.append(page)
        return left
