"""The programs, registered here: each has one class, with its ways of being driven."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from cachezoo.errors import CaptureError, ConfigError
from tools.capture.installed import missing_packages
from tools.capture.programs.base import Closed, Paced, Program
from tools.capture.programs.blob import Blob
from tools.capture.programs.commands import Commands
from tools.capture.programs.dbench import Dbench
from tools.capture.programs.dovecot import DovecotImap
from tools.capture.programs.mail import Maildirs, Notmuch
from tools.capture.programs.mariadb import Mariadb
from tools.capture.programs.postgres import Postgres
from tools.capture.programs.postmark import Postmark
from tools.capture.programs.rocksdb import Rocksdb
from tools.capture.programs.spool import Spool
from tools.capture.programs.sqlite import Sqlite
from tools.capture.programs.trees import Build, Git, Rsync
from tools.capture.programs.web import ApacheSite, CaddySite, LighttpdSite, NginxSite
from tools.capture.recipe import Recipe

COMMON_PACKAGES = {
    "losetup": "mount",
    "mkfs.ext4": "e2fsprogs",
    "mount": "mount",
    "setpriv": "util-linux",
    "umount": "mount",
}
_ALL: tuple[type[Program[Any]], ...] = (
    ApacheSite,
    Blob,
    Build,
    CaddySite,
    Commands,
    Dbench,
    DovecotImap,
    Git,
    LighttpdSite,
    Maildirs,
    Mariadb,
    NginxSite,
    Notmuch,
    Postgres,
    Postmark,
    Rocksdb,
    Rsync,
    Spool,
    Sqlite,
)
PROGRAMS: Mapping[str, type[Program[Any]]] = MappingProxyType({kind.program: kind for kind in _ALL})


def program_class(recipe: Recipe) -> type[Program[Any]]:
    """The program of a recipe.

    Raises:
        ConfigError: it cannot be driven in the recipe's way, or has no operation or job that the recipe names.
    """
    kind = PROGRAMS[recipe.load.program].of(recipe)
    if recipe.schedule is not None:
        if not issubclass(kind, Paced):
            raise ConfigError(f"schedule: {recipe.program} has no way to be paced; it needs phases")
        _check(recipe, "schedule.jobs", (job.kind for job in recipe.schedule.jobs), kind.jobs)
        _check(recipe, "load.paced.mix", getattr(getattr(recipe.load, "paced", None), "mix", ()), kind.transactions)
    elif not issubclass(kind, Closed):
        raise ConfigError(f"phases: {recipe.program} is driven by a schedule alone")
    else:
        for number, phase in enumerate(recipe.phases or ()):
            _check(recipe, f"phases.{number}.mix", phase.mix, kind.operations)
            _check(recipe, f"phases.{number}.beside", phase.beside, kind.beside)
    return kind


def _check(recipe: Recipe, where: str, names: Iterable[str], known: tuple[str, ...]) -> None:
    unknown = sorted(set(names) - set(known))
    if unknown:
        known_names = ", ".join(known) or "none"
        raise ConfigError(f"{where}: {recipe.program} has no {', '.join(unknown)}; it has {known_names}")


def check_packages(kind: type[Program[Any]]) -> None:
    """See that everything that a program runs is installed, and what every capture needs.

    Raises:
        CaptureError: names the missing Debian packages.
    """
    missing = missing_packages(COMMON_PACKAGES) | kind.missing()
    if missing:
        message = f"{kind.program} needs Debian packages that are missing: apt-get install {' '.join(sorted(missing))}"
        raise CaptureError(message)
