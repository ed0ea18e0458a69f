class Gate:
    """Naive AcceptAll."""

    def __init__(self, stream, capacity):
        pass

    def admit(self, page, i):
        return True

    def saw(self, page, i):
        pass
