"""Stage corpus@category: the corpus's raw traces of one category to canonical requests with dense page ids."""

from typing import TYPE_CHECKING

from cachezoo.stage import stage
from cachezoo.traces.corpus import ingest_corpus

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params", category: str) -> None:
    """Ingest the corpus of `category`."""
    ingest_corpus(params, category)


if __name__ == "__main__":
    stage(main)()
