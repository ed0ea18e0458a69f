class Gate:
    """Naive RejectX: the list of all misses, searched."""

    def __init__(self, stream, capacity, window_capacities=4, x=1):
        self.window, self.x, self.misses = int(window_capacities * capacity), x, []

    def admit(self, page, i):
        before = [when for other, when in self.misses if other == page and i - when <= self.window]
        self.misses.append((page, i))
        return len(before) >= self.x

    def saw(self, page, i):
        pass
