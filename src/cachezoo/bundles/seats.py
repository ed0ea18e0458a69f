"""Seats: what one bundle is run as, and so what may be compared with what."""

PAGE, FLASH = "page", "flash"
ALL = "all"
ROLES = {"caching": PAGE, "reuse": PAGE, "admission": FLASH}


def seat_of(kind: str, category: str | None) -> str | None:
    """The seat of a bundle: `page/all`, `flash/web`; None where its kind does not run alone.

    Args:
        kind: of the bundle.
        category: of the bundle; None where it is of all.
    """
    return f"{ROLES[kind]}/{category or ALL}" if kind in ROLES else None
