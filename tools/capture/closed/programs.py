"""The programs of the corpus, registered here."""

from collections.abc import Mapping
from types import MappingProxyType

from cachezoo.errors import ConfigError
from tools.capture.closed.base import ClosedWorkload
from tools.capture.closed.database import MariadbClosed, PostgresWorkload, RocksdbWorkload, SqliteWorkload
from tools.capture.closed.fileserver import BuildWorkload, DbenchWorkload, GitWorkload, RsyncWorkload
from tools.capture.closed.mail import DovecotWorkload, MaildirWorkload, NotmuchWorkload, PostmarkWorkload
from tools.capture.closed.web import ApacheSite, CaddySite, LighttpdSite, NginxSite

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
