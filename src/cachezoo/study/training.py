"""One training of a study in a process of its own: a system's stage, run in a folder laid out like the project."""

import os
import sys
from pathlib import Path

from cachezoo import paths
from cachezoo.console import complain
from cachezoo.errors import CachezooError, os_message
from cachezoo.io import read_json, write_json
from cachezoo.jobs import die_with_parent
from cachezoo.stage import heed_interrupts, settle_environment

JOB, DONE, LOG = "job.json", "done.json", "log.txt"
# What is asked of a trained model: the figure that may choose; with the verdict's; with those of the test traces too.
CHOOSING, JUDGED, WHOLE = "choosing", "judged", "whole"


def main(folder: Path, root: Path) -> None:
    """Run the stage that `job.json` in a folder names; `done.json`, written last, says that all is there.

    Args:
        folder: it has params.yaml, and links to what the stage reads.
        root: the project, whose cache of compiled kernels is used.
    """
    settle_environment(root)
    os.chdir(folder)
    from cachezoo.config.load import load_params
    from cachezoo.models.trained import read_trained
    from cachezoo.systems.base import studied_of
    from cachezoo.systems.registry import SYSTEMS

    job, params = read_json(Path(JOB)), load_params()
    studied = studied_of(SYSTEMS[job["system"]])
    keys = [job["category"]] if job["category"] else []
    if job["step"] == "fit":
        studied.fit(params, *keys)
        write_json(Path(DONE), {})
        return
    studied.judge(params, *keys)
    model = paths.trained(job["model"])
    trained = read_trained(model)
    figures: dict[str, object] = {"trained": trained.trained, "promoted": trained.promoted, "reason": trained.reason}
    if trained.trained:
        figures["choosing"] = studied.choosing(model)
        if job["depth"] != CHOOSING:
            figures["judging"] = trained.validation.get(studied.judging)
        if job["depth"] == WHOLE:
            figures["tests"] = studied.tests(params, *keys)
    write_json(Path(DONE), figures)


if __name__ == "__main__":
    die_with_parent()
    heed_interrupts()
    try:
        main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]).resolve())
    except CachezooError as error:
        complain(str(error))
        raise SystemExit(1) from error
    except OSError as error:
        complain(os_message(error))
        raise SystemExit(1) from error
