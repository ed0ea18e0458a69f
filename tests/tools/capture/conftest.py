"""One run of all real captures that the chosen tests look at."""

import os
from dataclasses import dataclass
from pathlib import Path

import pytest

from cachezoo.capture.tracefs import PREFIX, mounted_tracefs
from tests.captures import captured


@dataclass(frozen=True)
class Taken:
    """What a capture left.

    Attributes:
        said: on standard output.
        out: the trace.
    """

    said: str
    out: Path


@pytest.fixture(scope="session")
def all_taken(request, tmp_path_factory):
    """The folder of the captures, which are named by test module and parameter; its `recipe` says what they are."""
    recipes = {}
    for item in request.session.items:
        if item.path.parent == Path(__file__).parent and "taken" in getattr(item, "fixturenames", ()):
            recipes[capture_name(item)] = item.module.recipe(item.callspec.params["name"]).model_dump(
                mode="json", exclude_none=True
            )
    folder = tmp_path_factory.mktemp("captures")
    # Whoever mounts tracefs takes it away at the end, from under those who have yet to use it.
    with mounted_tracefs(f"{PREFIX}{os.getpid()}"):
        captured(folder, recipes)
    return folder


def capture_name(item):
    """Of the capture that a test looks at."""
    return f"{item.path.stem}-{item.callspec.params['name']}"


@pytest.fixture
def taken(request, all_taken):
    """The capture of the test's parameter `name`, which went well and left its trace alone."""
    name = capture_name(request.node)
    assert (all_taken / f"{name}.status").read_text() == "0", (all_taken / f"{name}.err").read_text()
    found = Taken((all_taken / f"{name}.out").read_text(), all_taken / name / "t.parquet")
    assert list(found.out.parent.iterdir()) == [found.out]
    return found
