"""Stage evaluate_share: one cache for several applications, shared or split, on mixes of the test traces."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.questions.share.columns import share_metrics
from cachezoo.questions.share.stage import Settings, evaluate_share
from cachezoo.stage import stage

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params") -> None:
    """Evaluate all mixes."""
    write_json(share_metrics(), evaluate_share(Settings.of(params)).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
