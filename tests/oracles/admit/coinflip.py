class Gate:
    """Naive CoinFlip: the draw of an access in plain Python integers."""

    def __init__(self, stream, capacity, p=0.5, seed=0):
        self.p, self.seed = p, seed

    def admit(self, page, i):
        return mixed(mixed(i) ^ mixed(self.seed ^ 0x5BD1E995)) / 2**32 < self.p

    def saw(self, page, i):
        pass


def mixed(value):
    for shift, factor in ((16, 0x7FEB352D), (15, 0x846CA68B)):
        value = (value ^ (value >> shift)) * factor % 2**32
    return value ^ (value >> 16)
