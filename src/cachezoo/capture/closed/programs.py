"""The programs of the corpus, registered here."""

from collections.abc import Mapping
from types import MappingProxyType

from cachezoo.capture.closed.base import ClosedWorkload
from cachezoo.capture.closed.database import MariadbClosed, PostgresWorkload, RocksdbWorkload, SqliteWorkload
from cachezoo.capture.closed.fileserver import BuildWorkload, DbenchWorkload, GitWorkload, RsyncWorkload
from cachezoo.capture.closed.mail import DovecotWorkload, MaildirWorkload, NotmuchWorkload, PostmarkWorkload
from cachezoo.capture.closed.web import ApacheSite, CaddySite, LighttpdSite, NginxSite
from cachezoo.errors import ConfigError

PROGRAMS: Mapping[str, type[ClosedWorkload]] = MappingProxyType(
    {
        kind.program: kind
        for kind in (
            ApacheSite,
            BuildWorkload,
            CaddySite,
            DbenchWorkload,
            DovecotWorkload,
            GitWorkload,
            LighttpdSite,
            MariadbClosed,
            MaildirWorkload,
            NginxSite,
            NotmuchWorkload,
            PostgresWorkload,
            PostmarkWorkload,
            RocksdbWorkload,
            RsyncWorkload,
            SqliteWorkload,
        )
    }
)


def closed_class(name: str) -> type[ClosedWorkload]:
    """The program of this id.

    Raises:
        ConfigError: unknown.
    """
    if name not in PROGRAMS:
        message = f"unknown program {name!r}; there are {', '.join(sorted(PROGRAMS))}"
        raise ConfigError(message)
    return PROGRAMS[name]
