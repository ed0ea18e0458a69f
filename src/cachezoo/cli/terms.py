"""What a purchase of RAM and SSD is reckoned by: the options that `--only ram-ssd` and `--only tiers` share."""

from typing import Annotated, Any

import typer

EXPLAINED = "recommend --only ram-ssd"  # in whose help these options are
Lifetime = Annotated[
    str, typer.Option(metavar="TIME", help="Years of use to pay for: 5y, 36months.", rich_help_panel=EXPLAINED)
]
Endurance = Annotated[
    str | None,
    typer.Option(
        metavar="RATING",
        help="Class of the prices (mixed), 1DWPD or 600TBW; default all classes.",
        rich_help_panel=EXPLAINED,
    ),
]
Parts = Annotated[
    bool, typer.Option("--parts", help="Allow any size, not only whole modules and drives.", rich_help_panel=EXPLAINED)
]


def terms_of(lifetime: str, endurance: str | None, parts: bool) -> dict[str, Any]:
    """The fields `terms` and `termed` of the options of both commands.

    Raises:
        ConfigError: one of them cannot be read, or they contradict one another.
    """
    from cachezoo.cli.options import rating, years
    from cachezoo.questions.tiers.purchase import Rating, Terms

    terms = Terms(years(lifetime), parts, Rating() if endurance is None else rating(endurance))
    given = {"--lifetime": "".join(lifetime.split()) if lifetime != "5y" else None,
             "--endurance": None if endurance is None else "".join(endurance.split())}  # fmt: skip
    termed = [f"{name} {text}" for name, text in given.items() if text]
    return {"terms": terms, "termed": (*termed, *(["--parts"] if parts else []))}
