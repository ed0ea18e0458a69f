"""Places of extents, by a list in the order of use."""


def places(extents, room):
    """The place of each access's extent."""
    held, found = [], []  # pairs of extent and place, the one used last at the end
    for extent in extents:
        known = [place for own, place in held if own == extent]
        if known:
            place = known[0]
        elif len(held) < room:
            place = len(held)
        else:
            place = held.pop(0)[1]
        held = [pair for pair in held if pair[0] != extent] + [(extent, place)]
        found.append(place)
    return found
