"""The geometry of a category's blocks."""

from cachezoo.settings.flash import EpisodeLabel


def label_of(label: EpisodeLabel, category: str) -> EpisodeLabel:
    """`label.episodes` of a category: with its own geometry where it has one, the common one otherwise."""
    own = label.geometry.get(category)
    return label if own is None else EpisodeLabel(**{**dict(label), **dict(own)})
