"""Mail in a closed loop: postmark, Maildirs, Dovecot and notmuch."""

import random
import sys
from typing import ClassVar

import numpy as np

from cachezoo.seeds import derive_seed
from tools.capture.closed.base import ClosedWorkload, Player
from tools.capture.closed.clients.imap import fill as fill_imap
from tools.capture.closed.clients.messages import message
from tools.capture.closed.loads import DovecotLoad, MailboxLoad, MaildirLoad, NotmuchLoad, PostmarkLoad
from tools.capture.closed.recipe import ClosedRecipe, Phase
from tools.capture.closed.trees import backup_command
from tools.capture.programs import program, version_line
from tools.capture.sandbox import Sandbox
from tools.capture.workloads.dovecot import Dovecot
from tools.capture.workloads.office import lognormal_sizes
from tools.capture.workloads.postmark import Postmarks

LEAST_MESSAGES = 5
POOL_SIGMA = 0.8
FOLDERS = 50
SUBFOLDERS = ("cur", "new", "tmp")
MAILBOX_OPERATIONS = ("deliver", "listings", "reads", "flags", "expunge", "searches")


def message_sizes(load: MailboxLoad, seed: int) -> list[list[int]]:
    """For each user the sizes in bytes of the messages at the start; users differ in how many they have."""
    rng = np.random.default_rng(derive_seed(seed, "capture_users"))
    parts = np.exp(rng.normal(0.0, POOL_SIGMA, load.users))
    counts = np.maximum(LEAST_MESSAGES, load.messages * parts / parts.sum()).astype(np.int64)
    sizes = lognormal_sizes(
        load.median_kib, load.sigma, load.max_kib, int(counts.sum()), derive_seed(seed, "capture_sizes")
    )
    return [part.tolist() for part in np.split(sizes, np.cumsum(counts)[:-1])]


class PostmarkWorkload(ClosedWorkload):
    """Postmarks, of which a few run at once, each for a visit."""

    program = "postmark"
    title = "postmark: visits of mail domains whose popularity differs"
    packages: ClassVar[dict[str, str]] = {**Postmarks.packages, "tar": "tar"}
    operations = ("visits",)
    jobs = ("backup",)

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, PostmarkLoad)
        self.load = recipe.load
        self.postmarks = Postmarks(box, self.load, recipe.seed)

    def prepare(self) -> None:
        """Make the domains' folders and postmark's orders."""
        self.postmarks.prepare()

    def start(self) -> None:
        """Start each domain's postmark in the memory group; they wait, with their messages made."""
        self.postmarks.start()

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the client that lets postmarks run, and a backup where the phase has one."""
        drawn = {"mix": phase.mix, "theta": phase.theta, "move": phase.move, "layout": self.recipe.seed}
        pids = [server.pid for server in self.postmarks.servers]
        own = {"pids": pids, "at_once": self.load.clients, "calls": self.load.visit_calls}
        plan = {**drawn, **own, "seed": self.seed(number)}
        name = f"visits-{number}"
        players = [self.player(name, self.client("visits", name, plan), limited=False)]
        if "backup" in phase.beside:
            names = [self.postmarks.folder(domain).name for domain in range(max(1, self.load.domains // 4))]
            players.append(self.player(f"tar-{number}", backup_command(self.postmarks.spool, names)))
        return players

    def check(self, player: Player) -> None:
        """See that the program ended well and that no postmark ended."""
        self.postmarks.check()
        super().check(player)

    def stop(self) -> None:
        """End the postmarks; they clean up nothing."""
        self.postmarks.stop()

    @staticmethod
    def versions() -> dict[str, str]:
        """Postmark."""
        return {"postmark": Postmarks.version()}


class MaildirWorkload(ClosedWorkload):
    """Maildirs of many users, each client a delivery and mail program on the files themselves."""

    program = "maildir"
    title = "Maildirs through Python's mailbox module: deliveries, listings, reads, flags, expunges, searches"
    packages: ClassVar[dict[str, str]] = {}
    operations = MAILBOX_OPERATIONS

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, MaildirLoad)
        self.load = recipe.load
        self.spool = box.mount / "mail"

    def prepare(self) -> None:
        """Write the users' Maildirs; users' deliveries alternate, as they do in time."""
        draw = random.Random(self.recipe.seed)
        users = message_sizes(self.load, self.recipe.seed)
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
        load = self.load
        values = {"root": str(self.spool), "users": load.users, "kib": load.median_kib, "sigma": load.sigma}
        return self.clients("maildir", phase, number, {**values, "max_kib": load.max_kib})

    @staticmethod
    def versions() -> dict[str, str]:
        """Python, whose mailbox module it is."""
        return {"python": sys.version.split()[0]}


class DovecotWorkload(ClosedWorkload):
    """Dovecot, to which the clients speak IMAP."""

    program = "dovecot"
    title = "Dovecot and IMAP clients: deliveries, listings, reads, flags, expunges, searches"
    packages: ClassVar[dict[str, str]] = Dovecot.packages
    operations = MAILBOX_OPERATIONS

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, DovecotLoad)
        self.load = recipe.load
        self.server = Dovecot(box, self.load.format)

    def prepare(self) -> None:
        """Deliver the messages to Dovecot itself, without the limit and without waiting for the disk."""
        self.server.prepare()
        fill_imap(self.server.port, message_sizes(self.load, self.recipe.seed), self.recipe.seed)
        self.server.stop()

    def start(self) -> None:
        """Start Dovecot in the memory group."""
        self.server.start()

    def play(self, phase: Phase, number: int) -> list[Player]:
        """Start the clients."""
        load = self.load
        values = {"port": self.server.port, "users": load.users, "kib": load.median_kib, "sigma": load.sigma}
        return self.clients("imap", phase, number, {**values, "max_kib": load.max_kib})

    def stop(self) -> None:
        """Stop Dovecot; harmless when it does not run."""
        self.server.stop()

    @staticmethod
    def versions() -> dict[str, str]:
        """Dovecot and Python, whose imaplib the clients use."""
        return {"dovecot": Dovecot.version(), "python": sys.version.split()[0]}


class NotmuchWorkload(ClosedWorkload):
    """Notmuch over a Maildir."""

    program = "notmuch"
    title = "notmuch: new mail into an index, searches, reads, tags, dumps"
    packages: ClassVar[dict[str, str]] = {"notmuch": "notmuch"}
    operations = ("deliver", "searches", "reads", "tags", "scans")

    def __init__(self, recipe: ClosedRecipe, box: Sandbox) -> None:
        super().__init__(recipe, box)
        assert isinstance(recipe.load, NotmuchLoad)
        self.load = recipe.load
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
        sizes = lognormal_sizes(load.median_kib, load.sigma, load.max_kib, load.messages, seed)
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
            "kib": load.median_kib,
            "sigma": load.sigma,
            "max_kib": load.max_kib,
        }
        return self.clients("notmuch", phase, number, values)

    @staticmethod
    def versions() -> dict[str, str]:
        """Notmuch."""
        return {"notmuch": version_line("notmuch", "--version")}
