"""Stage rcrnn_paper of lab/dvc.yaml, `rcrnn_paper.py MODEL`: a network of RC-RNN's as published, trained and judged."""

import sys

from cachezoo.stage import guarded
from lab.rcrnn.published import publish

if __name__ == "__main__":
    with guarded("rcrnn_paper"):
        publish(*sys.argv[1:])
