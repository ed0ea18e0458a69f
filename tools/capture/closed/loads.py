"""The programs' own parts of a closed-loop recipe."""

from typing import Annotated, Literal

from pydantic import Field

from tools.capture.loads import Strict


class _Clients(Strict):
    """What every load has.

    Attributes:
        clients: how many of the program's clients run at once.
    """

    clients: int = Field(ge=1, le=64)


class PostgresLoad(_Clients):
    """PostgreSQL under pgbench.

    Attributes:
        scale: pgbench's; 100,000 accounts (about 15 MB) each.
        ledger_mib: size of the ledger.
        shared_buffers_mib: PostgreSQL's own cache; counts as memory of the group.
    """

    program: Literal["postgres"]
    scale: int = Field(ge=1, le=200)
    ledger_mib: int = Field(ge=1, le=1024)
    shared_buffers_mib: int = Field(ge=1, le=256)


class MariadbLoad(_Clients):
    """MariaDB under sysbench.

    Attributes:
        accounts: rows of the accounts, about 230 bytes each.
        ledger_mib: size of the ledger.
        buffer_pool_mib: InnoDB's own cache; counts as memory of the group.
    """

    program: Literal["mariadb"]
    accounts: int = Field(ge=1000, le=20_000_000)
    ledger_mib: int = Field(ge=1, le=1024)
    buffer_pool_mib: int = Field(ge=8, le=256)


class SqliteLoad(_Clients):
    """SQLite in the clients' own processes.

    Attributes:
        accounts: rows of the accounts.
        filler: bytes of a row beside its key and balance.
        ledger_rows: rows that the ledger begins with.
        journal: of its kinds of journal.
        cache_kib: SQLite's own cache, of each client.
    """

    program: Literal["sqlite"]
    accounts: int = Field(ge=1000, le=20_000_000)
    filler: int = Field(ge=0, le=4000)
    ledger_rows: int = Field(ge=1000, le=20_000_000)
    journal: Literal["wal", "delete"]
    cache_kib: int = Field(ge=64, le=65_536)


class RocksdbLoad(_Clients):
    """RocksDB under its db_bench.

    Attributes:
        keys: of the database.
        value_bytes: mean size of a value.
        cache_mib: RocksDB's own block cache.
        write_buffer_mib: size of a memtable, of which there are two.
        compression: of its kinds.
        ranges: ranges of keys with a popularity of their own; 1 spreads the hot keys over all.
    """

    program: Literal["rocksdb"]
    keys: int = Field(ge=1000, le=50_000_000)
    value_bytes: int = Field(ge=8, le=65_536)
    cache_mib: int = Field(ge=1, le=256)
    write_buffer_mib: int = Field(ge=1, le=64)
    compression: Literal["none", "snappy", "lz4", "zstd"]
    ranges: int = Field(ge=1, le=1000)


class SiteLoad(_Clients):
    """A web server under wrk, on a site of articles, each a page and its assets.

    Attributes:
        articles: of the site.
        assets: mean number of assets of an article (geometric).
        median_kib, sigma: lognormal file sizes.
        max_kib: larger files are cut to this.
        publish_articles: articles that a publish job writes anew.
        backup_share: part of the folders that a backup reads.
    """

    program: Literal["nginx", "lighttpd", "apache", "caddy"]
    articles: int = Field(ge=10, le=1_000_000)
    assets: float = Field(ge=0, le=20)
    median_kib: float = Field(gt=0)
    sigma: float = Field(ge=0, le=3)
    max_kib: int = Field(ge=1)
    publish_articles: int = Field(ge=1)
    backup_share: float = Field(gt=0, le=1)


class PostmarkLoad(_Clients):
    """Postmarks, one a mail domain, of which `clients` run at once.

    Attributes:
        domains: mail domains.
        messages: messages in all pools.
        pool_sigma: of the lognormal number of messages of a domain.
        mean_kib: mean size of a message.
        size_sigma: of the domains' lognormal mean sizes.
        read_bias: tenths of the accesses to messages that read.
        archives: part of the domains that get no new messages and delete none.
        visit_calls: read and write calls of a visit to a domain.
    """

    program: Literal["postmark"]
    domains: int = Field(ge=1, le=256)
    messages: int = Field(ge=20, le=1_000_000)
    pool_sigma: float = Field(ge=0, le=3)
    mean_kib: float = Field(ge=1, le=1024)
    size_sigma: float = Field(ge=0, le=2)
    read_bias: int = Field(ge=1, le=10)
    archives: float = Field(ge=0, le=1)
    visit_calls: int = Field(ge=1, le=10_000)


class MailboxLoad(_Clients):
    """Mailboxes of many users.

    Attributes:
        users: how many.
        messages: messages in all mailboxes.
        median_kib, sigma: lognormal message sizes.
        max_kib: larger messages are cut to this.
        format: how messages are stored.
    """

    users: int = Field(ge=1, le=1000)
    messages: int = Field(ge=20, le=1_000_000)
    median_kib: float = Field(gt=0)
    sigma: float = Field(ge=0, le=3)
    max_kib: int = Field(ge=1, le=65_536)


class MaildirLoad(MailboxLoad):
    """Maildirs through Python's mailbox module."""

    program: Literal["maildir"]


class DovecotLoad(MailboxLoad):
    """Dovecot under clients that speak IMAP.

    Attributes:
        format: how Dovecot stores messages.
    """

    program: Literal["dovecot"]
    format: Literal["maildir", "sdbox", "mdbox"]


class NotmuchLoad(_Clients):
    """Notmuch over a Maildir: an index that new mail goes to and that searches read.

    Attributes:
        messages: that it begins with.
        median_kib, sigma: lognormal message sizes.
        max_kib: larger messages are cut to this.
        words: of the vocabulary.
        deliver: messages that come in at once.
    """

    program: Literal["notmuch"]
    messages: int = Field(ge=20, le=1_000_000)
    median_kib: float = Field(gt=0)
    sigma: float = Field(ge=0, le=3)
    max_kib: int = Field(ge=1, le=1024)
    words: int = Field(ge=100, le=1_000_000)
    deliver: int = Field(ge=1, le=10_000)


class DbenchLoad(_Clients):
    """Dbench as the users of an office, a dbench each.

    Attributes:
        files: documents of the office.
        shared: part of the documents that lie in shared folders.
        shared_visits: part of the visits to them.
        median_kib, sigma: lognormal document sizes.
        max_kib: larger documents are cut to this.
        user_sigma: of the lognormal activity of the users.
        backup_share: part of the folders that a backup reads.
    """

    program: Literal["dbench"]
    files: int = Field(ge=100, le=1_000_000)
    shared: float = Field(gt=0, lt=1)
    shared_visits: float = Field(ge=0, le=1)
    median_kib: float = Field(gt=0)
    sigma: float = Field(ge=0, le=3)
    max_kib: int = Field(ge=1, le=65_536)
    user_sigma: float = Field(ge=0, le=2)
    backup_share: float = Field(gt=0, le=1)


class TreeLoad(_Clients):
    """Trees of files that clients change, read and copy.

    Attributes:
        trees: repositories, projects or modules, each with files of its own.
        files: files in all trees.
        median_kib, sigma: lognormal file sizes.
        max_kib: larger files are cut to this.
        batch: files that one operation changes.
    """

    trees: int = Field(ge=1, le=1000)
    files: int = Field(ge=20, le=1_000_000)
    median_kib: float = Field(gt=0)
    sigma: float = Field(ge=0, le=3)
    max_kib: int = Field(ge=1, le=65_536)
    batch: int = Field(ge=1, le=10_000)


class GitLoad(TreeLoad):
    """Git repositories.

    Attributes:
        commits: of each repository's history at the start.
    """

    program: Literal["git"]
    commits: int = Field(ge=1, le=1000)


class RsyncLoad(TreeLoad):
    """Snapshots by rsync and archives by tar of trees that change.

    Attributes:
        keep: snapshots and archives of each tree that are kept.
    """

    program: Literal["rsync"]
    keep: int = Field(ge=1, le=100)


class BuildLoad(TreeLoad):
    """Builds of C projects by make, gcc, ar and ld; a file is a source with its embedded resource."""

    program: Literal["build"]


Load = Annotated[
    PostgresLoad
    | MariadbLoad
    | SqliteLoad
    | RocksdbLoad
    | SiteLoad
    | PostmarkLoad
    | MaildirLoad
    | DovecotLoad
    | NotmuchLoad
    | DbenchLoad
    | GitLoad
    | RsyncLoad
    | BuildLoad,
    Field(discriminator="program"),
]
