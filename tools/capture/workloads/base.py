"""What a workload has to be able to do."""

import subprocess
from abc import ABC, abstractmethod
from typing import ClassVar

from tools.capture.recipe import Recipe
from tools.capture.sandbox import ONE_DISK, Sandbox
from tools.capture.schedule import Job, Segment


class Workload(ABC):
    """Real programs on a sandbox's filesystem, driven segment by segment.

    Attributes:
        id: as recipes name it.
        title: one line for people.
        packages: program to the Debian package that has it.
        jobs: the kinds of jobs a schedule may name.
    """

    id: ClassVar[str]
    title: ClassVar[str]
    packages: ClassVar[dict[str, str]]
    jobs: ClassVar[tuple[str, ...]]

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        """Keep the recipe and the sandbox."""
        self.recipe = recipe
        self.box = box

    @classmethod
    def volumes(cls, recipe: Recipe) -> tuple[str, ...]:
        """Names of the disks that the workload wants; one, unless it says otherwise."""
        return ONE_DISK

    @abstractmethod
    def prepare(self) -> None:
        """Fill the filesystem; neither limited nor traced."""

    @abstractmethod
    def start(self) -> None:
        """Start the servers, in the memory group."""

    @abstractmethod
    def segment(self, segment: Segment) -> "subprocess.Popen[bytes]":
        """Start a segment's load; the program ends by itself after `segment.seconds`."""

    @abstractmethod
    def check(self, segment: Segment, process: "subprocess.Popen[bytes]") -> None:
        """Look at what a segment's program left.

        Raises:
            CaptureError: it did not do its work.
        """

    @abstractmethod
    def job(self, job: Job) -> None:
        """Do a job to its end, at its own pace."""

    @abstractmethod
    def stop(self) -> None:
        """Stop the servers in order, with what they still write."""

    @staticmethod
    @abstractmethod
    def versions() -> dict[str, str]:
        """Program to the version it states."""
