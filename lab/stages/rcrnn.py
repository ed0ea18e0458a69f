"""Stage rcrnn of lab/dvc.yaml: RC-RNN's figures, with what the paper says of each."""

from typing import TYPE_CHECKING

from cachezoo.stage import stage
from lab.rcrnn.listed import write_figures

if TYPE_CHECKING:
    from cachezoo.config.schema import Params


def main(params: "Params") -> None:
    """Write every figure's document and plot."""
    write_figures(params)


if __name__ == "__main__":
    stage(main)()
