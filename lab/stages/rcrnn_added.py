"""Stage rcrnn_added of lab/dvc.yaml: the classifier trained for fewer categories (RC-RNN, Figs. 9 and 16)."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.stage import stage
from lab.rcrnn.added_fit import fit_added
from lab.rcrnn.trained import ADDED

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params") -> None:
    """Train, write the accuracies."""
    write_json(ADDED, fit_added(params).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
