"""Stage rcrnn_sizes of lab/dvc.yaml: caching models and classics at other sizes (RC-RNN, Figs. 10 to 15)."""

from typing import TYPE_CHECKING

from cachezoo.io import write_json
from cachezoo.stage import stage
from lab.rcrnn.sizes import FILE
from lab.rcrnn.sizes_run import run_sizes

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params") -> None:
    """Simulate, write the rows."""
    write_json(FILE, run_sizes(params).model_dump(mode="json"))


if __name__ == "__main__":
    stage(main)()
