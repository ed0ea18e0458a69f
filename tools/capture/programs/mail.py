"""Mail that programs keep in files: Maildirs and notmuch, in a closed loop."""

import random
import sys
from typing import ClassVar

import numpy as np

from cachezoo.seeds import derive_seed
from tools.capture.clients.messages import message
from tools.capture.installed import program
from tools.capture.loads import MailboxLoad, MaildirLoad, NotmuchLoad
from tools.capture.programs.base import Closed, Player
from tools.capture.programs.draws import lognormal_sizes, sizes_plan
from tools.capture.recipe import Phase, Recipe
from tools.capture.sandbox import Sandbox

LEAST_MESSAGES = 5
USER_SIGMA = 0.8
FOLDERS = 50
SUBFOLDERS = ("cur", "new", "tmp")
MAILBOX_OPERATIONS = ("deliver", "listings", "reads", "flags", "expunge", "searches")


def message_sizes(load: MailboxLoad, messages: int, user_sigma: float, seed: int, *folder: str) -> list[list[int]]:
    """For each user the sizes in bytes of the messages at the start.

    Args:
        load: the recipe's part.
        messages: of all users.
        user_sigma: of the lognormal number of messages of a user.
        seed: of the recipe.
        folder: of the mailboxes, where they have several.
    """
    rng = np.random.default_rng(derive_seed(seed, "capture_users"))
    parts = np.exp(rng.normal(0.0, user_sigma, load.users))
    counts = np.maximum(LEAST_MESSAGES, messages * parts / parts.sum()).astype(np.int64)
    sizes = lognormal_sizes(load, int(counts.sum()), derive_seed(seed, "capture_sizes", *folder))
    return [part.tolist() for part in np.split(sizes, np.cumsum(counts)[:-1])]


class Maildirs(Closed[MaildirLoad]):
    """Maildirs of many users, each client a delivery and mail program on the files themselves."""

    program = "maildir"
    operations = MAILBOX_OPERATIONS

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        self.spool = box.mount / "mail"

    def prepare(self) -> None:
        """Write the users' Maildirs; users' deliveries alternate, as they do in time."""
        draw = random.Random(self.recipe.seed)
        users = message_sizes(self.load, self.load.messages, USER_SIGMA, self.recipe.seed)
        for user in range(self.load.users):
            for part in SUBFOLDERS:
                (self.spool / f"u{user:04d}" / part).mkdir(parents=True)
        order = [user for user, sizes in enumerate(users) for _ in sizes]
        draw.shuffle(order)
        for number, user in enumerate(order):
            path = self.spool / f"u{user:04d}" / "cur" / f"{number:08d}.M1P1.host:2,S"
            path.write_bytes(message(draw, number, users[user].pop()))

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the clients."""
        values = {"root": str(self.spool), "users": self.load.users, **sizes_plan(self.load)}
        return self.clients("maildir", phase, number, values)

    @classmethod
    def versions(cls) -> dict[str, str]:
        """Python, whose mailbox module it is."""
        return {"python": sys.version.split()[0]}


class Notmuch(Closed[NotmuchLoad]):
    """Notmuch over a Maildir."""

    program = "notmuch"
    packages: ClassVar[dict[str, str]] = {"notmuch": "notmuch"}
    asks: ClassVar[dict[str, tuple[str, ...]]] = {"notmuch": ("--version",)}
    operations = ("deliver", "searches", "reads", "tags", "scans")

    def __init__(self, recipe: Recipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        self.mail = box.mount / "mail"
        self.config = box.work / "notmuch.conf"

    def prepare(self) -> None:
        """Write the messages and index them."""
        load = self.load
        draw = random.Random(self.recipe.seed)
        for folder in range(FOLDERS):
            for part in SUBFOLDERS:
                (self.mail / f"f{folder:02d}" / part).mkdir(parents=True)
        seed = derive_seed(self.recipe.seed, "capture_sizes")
        sizes = lognormal_sizes(load, load.messages, seed)
        for number, size in enumerate(sizes.tolist()):
            path = self.mail / f"f{number % FOLDERS:02d}" / "cur" / f"{number:08d}.M1P1.host:2,S"
            path.write_bytes(message(draw, number, size, load.words))
        self.config.write_text(
            f"[database]\npath={self.mail}\n[user]\nname=A\nprimary_email=a@example.org\n[new]\ntags=new\n"
            "[search]\nexclude_tags=deleted\n[maildir]\nsynchronize_flags=false\n"
        )
        command = ["env", f"NOTMUCH_CONFIG={self.config}", program("notmuch"), "new", "--quiet"]
        self.box.run(command, self.log("notmuch"), limited=False)

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the clients."""
        load = self.load
        values = {
            "root": str(self.mail),
            "config": str(self.config),
            "notmuch": program("notmuch"),
            "messages": load.messages,
            "folders": FOLDERS,
            "words": load.words,
            "batch": load.deliver,
            **sizes_plan(load),
        }
        return self.clients("notmuch", phase, number, values)
