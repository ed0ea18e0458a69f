class Cache:
    """Naive LRU: a Python list, oldest first."""

    def __init__(self, stream, capacity):
        self.capacity, self.pages = capacity, []

    def has(self, page):
        return page in self.pages

    def touch(self, page, i):
        self.pages.remove(page)
        self.pages.append(page)

    def insert(self, page, i):
        self.pages.append(page)
        return self.pages.pop(0) if len(self.pages) > self.capacity else -1
