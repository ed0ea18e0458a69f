"""The programs' own parts of a recipe: what they are set up with, and how they are paced."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

MIN_THETA_DISTANCE = 0.005
Weight = Annotated[int, Field(ge=1, le=1000)]
Mix = Annotated[dict[str, Weight], Field(min_length=1)]
Share = Annotated[float, Field(gt=0, le=1)]
Name = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
Script = Annotated[str, Field(min_length=1)]
MibPerS = Annotated[float, Field(gt=0, le=200)]


class Strict(BaseModel):
    """Base of recipes: frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Sizes(Strict):
    """Lognormal sizes of files or messages.

    Attributes:
        max_kib: larger ones are cut to this.
    """

    median_kib: float = Field(gt=0)
    sigma: float = Field(ge=0, le=3)
    max_kib: int = Field(ge=1, le=65_536)


class Clients(Strict):
    """How many clients of the program run at once."""

    clients: int = Field(ge=1, le=256)


class Pace(Strict):
    """What a recipe with a schedule says of the load; one with phases says it of each phase.

    Attributes:
        theta: Zipf exponent of the popularity, 0 uniform.
        drift: by how much the popular part moves on in a day: account pages, groups of accounts, users, domains (ranks
            by which one rises until it is the first and then the last), new articles or documents.
    """

    theta: float = Field(ge=0, le=3)
    drift: float = Field(ge=0)


class DatabasePace(Pace):
    """Transactions and jobs of a database.

    Attributes:
        mix: transactions to their weights.
        report_mib_s: pace of a report's scan of the ledger.
        batch_rows: ledger rows that a batch job appends.
    """

    mix: Mix
    report_mib_s: MibPerS
    batch_rows: int = Field(ge=1, le=1_000_000)


class PostgresPace(DatabasePace):
    """PostgreSQL's, whose pgbench wants an exponent above 1."""

    theta: float = Field(gt=1, le=3)


class PostgresLoad(Clients):
    """PostgreSQL under pgbench.

    Attributes:
        scale: pgbench's; 100,000 accounts (about 15 MB) each.
        ledger_mib: size of the ledger, the table that reports scan and orders append to.
        shared_buffers_mib: PostgreSQL's own cache; counts as memory of the group.
    """

    program: Literal["postgres"]
    scale: int = Field(ge=1, le=200)
    ledger_mib: int = Field(ge=1, le=1024)
    shared_buffers_mib: int = Field(ge=1, le=256)
    paced: PostgresPace | None = None


class MariadbPace(DatabasePace):
    """MariaDB's.

    Attributes:
        purge_rows: oldest rows that a purge deletes of the history and of the ledger.
    """

    purge_rows: int = Field(ge=1, le=1_000_000)

    @field_validator("theta")
    @classmethod
    def _invertible(cls, theta: float) -> float:
        if abs(theta - 1) < MIN_THETA_DISTANCE:
            raise ValueError("theta 1 has no inverse; take 0.99 or 1.01")
        return theta


class MariadbLoad(Clients):
    """MariaDB under sysbench.

    Attributes:
        accounts: rows of the accounts, about 230 bytes each.
        ledger_mib: size of the ledger.
        buffer_pool_mib: InnoDB's own cache; counts as memory of the group.
        log_mib: size of InnoDB's redo log, which is written round and round; 64 without.
    """

    program: Literal["mariadb"]
    accounts: int = Field(ge=1000, le=20_000_000)
    ledger_mib: int = Field(ge=1, le=1024)
    buffer_pool_mib: int = Field(ge=8, le=256)
    log_mib: int | None = Field(default=None, ge=8, le=4096)
    paced: MariadbPace | None = None


class SqliteLoad(Clients):
    """SQLite in the clients' own processes.

    Attributes:
        filler: bytes of an account's row beside its key and balance.
        ledger_rows: that the ledger begins with.
        cache_kib: SQLite's own cache, of each client.
    """

    program: Literal["sqlite"]
    accounts: int = Field(ge=1000, le=20_000_000)
    filler: int = Field(ge=0, le=4000)
    ledger_rows: int = Field(ge=1000, le=20_000_000)
    journal: Literal["wal", "delete"]
    cache_kib: int = Field(ge=64, le=65_536)


class RocksdbLoad(Clients):
    """RocksDB under its db_bench.

    Attributes:
        value_bytes: mean size of a value.
        cache_mib: RocksDB's own block cache.
        write_buffer_mib: size of a memtable, of which there are two.
        ranges: ranges of keys with a popularity of their own; 1 spreads the hot keys over all.
    """

    program: Literal["rocksdb"]
    keys: int = Field(ge=1000, le=50_000_000)
    value_bytes: int = Field(ge=8, le=65_536)
    cache_mib: int = Field(ge=1, le=256)
    write_buffer_mib: int = Field(ge=1, le=64)
    compression: Literal["none", "snappy", "lz4", "zstd"]
    ranges: int = Field(ge=1, le=1000)


class SitePace(Pace):
    """Visits and jobs of a site: a new article enters as the most popular and grows old.

    Attributes:
        crawl_rate: pages a second that the crawler fetches, in order.
        crawl_share: part of the site that it fetches.
        backup_mib_s: pace of the backup.
    """

    crawl_rate: float = Field(gt=0)
    crawl_share: Share
    backup_mib_s: MibPerS


class SiteLoad(Clients, Sizes):
    """A web server under wrk, on a site of articles, each a page and its assets.

    Attributes:
        articles: files are about `1 + assets` times as many.
        assets: mean number of assets of an article (geometric).
        min_bytes: smaller files are made as large as this.
        publish_articles: articles that a publish job writes anew.
        backup_share: part of the folders that a backup reads.
    """

    program: Literal["nginx", "lighttpd", "apache", "caddy"]
    articles: int = Field(ge=10, le=1_000_000)
    assets: float = Field(ge=0, le=20)
    min_bytes: int | None = Field(default=None, ge=1)
    publish_articles: int = Field(ge=1)
    backup_share: Share
    paced: SitePace | None = None


class Tenant(Strict):
    """What every tenant of the object store has.

    Attributes:
        name: of the tenant, of its folder and of its volume in the trace.
        objects: how many it has.
        median_kib, sigma: lognormal object sizes.
        min_kib, max_kib: bounds of a size.
        drift_objects: objects a day by which its newest objects move on.
        ingest_objects: objects that an ingest job writes anew.
        chunk_kib: largest range in one request.
    """

    name: str = Field(pattern=r"^[a-z][a-z0-9_]{0,15}$")
    objects: int = Field(ge=4, le=100_000)
    median_kib: float = Field(gt=0)
    sigma: float = Field(ge=0, le=3)
    min_kib: int = Field(ge=4)
    max_kib: int = Field(ge=4, le=1 << 20)
    drift_objects: int = Field(ge=0)
    ingest_objects: int = Field(ge=0)
    chunk_kib: int = Field(ge=4, le=65_536, multiple_of=4)


class ReadAllDay(Tenant):
    """Tenants that clients read all day.

    Attributes:
        share: weight among the requests.
        peak: time of day of the most load, as a part of the day.
        theta: Zipf exponent over the objects by age, 0 uniform.
        gap_s: seconds between the requests of a session.
    """

    share: float = Field(gt=0)
    peak: float = Field(ge=0, lt=1)
    theta: float = Field(ge=0, le=3)
    gap_s: float = Field(ge=0, le=60)


class StreamTenant(ReadAllDay):
    """Objects are read from their start, chunk by chunk.

    Attributes:
        follow: probability that a client goes on after a chunk.
    """

    kind: Literal["stream"]
    follow: float = Field(ge=0, le=1)


class ColumnTenant(ReadAllDay):
    """Objects are tables stored by column.

    Attributes:
        columns_read: mean number of columns that a query reads (geometric).
        footer_kib: the end of a table, which every query reads first.
    """

    kind: Literal["columns"]
    columns: int = Field(ge=1, le=256)
    columns_read: float = Field(ge=1)
    footer_kib: int = Field(ge=4, multiple_of=4)


class BatchTenant(Tenant):
    """Objects are read by scan jobs alone.

    Attributes:
        window_objects: objects of a scan, the newest ones.
        scan_mib_s: pace of a scan.
    """

    kind: Literal["batch"]
    window_objects: int = Field(ge=1)
    scan_mib_s: float = Field(gt=0, le=1000)


class BlobLoad(Clients):
    """Nginx as an object store under wrk: tenants on volumes of their own.

    Attributes:
        scan_clients: connections of a scan.
        read_kib: what the server reads at once.
        ingest_mib_s: pace of an ingest job.
        tenants: two or more, by different names.
    """

    program: Literal["blob"]
    scan_clients: int = Field(ge=1, le=64)
    read_kib: int = Field(ge=64, le=65_536, multiple_of=4)
    ingest_mib_s: float = Field(gt=0, le=1000)
    tenants: tuple[Annotated[StreamTenant | ColumnTenant | BatchTenant, Field(discriminator="kind")], ...] = Field(
        min_length=2, max_length=16
    )

    @model_validator(mode="after")
    def _names(self) -> Self:
        names = [tenant.name for tenant in self.tenants]
        if len(set(names)) < len(names) or all(isinstance(tenant, BatchTenant) for tenant in self.tenants):
            raise ValueError("tenants need names of their own, and one of them a kind that is read all day")
        return self


class PostmarkPace(Pace):
    """Visits of mail domains, and jobs.

    Attributes:
        hours: how much a domain's share of the visits changes over its day, as a part of its mean.
        backup_mib_s, backup_share: pace of the backup, part of the domains that it reads.
        search_mib_s: pace of searches and of compaction, which rewrites messages.
        search_share, compact_share: part of the domains that a job takes.
    """

    hours: float = Field(ge=0, lt=1)
    backup_mib_s: MibPerS
    backup_share: Share
    search_mib_s: MibPerS
    search_share: Share
    compact_share: Share


class PostmarkLoad(Strict):
    """Postmark as the mail server of many domains, each with a pool of messages.

    Attributes:
        clients: domains that are visited at once, in a closed loop.
        domains: mail domains, a postmark each.
        messages: messages in all pools.
        pool_sigma: of the lognormal number of messages of a domain.
        mean_kib: mean size of a message.
        size_sigma: of the domains' lognormal mean sizes; within a domain sizes are uniform.
        read_bias: tenths of the accesses to messages that read; the rest append. Domains differ by up to 1.
        archives: part of the domains that get no new messages and delete none.
        arriving: of ten messages that come or go in the other domains, how many come; 6 without, so that mail grows.
        visit_calls: mean number of reads and writes of 4 KiB of a visit; a schedule's rate counts these calls.
    """

    program: Literal["postmark"]
    clients: int | None = Field(default=None, ge=1, le=64)
    domains: int = Field(ge=1, le=256)
    messages: int = Field(ge=20, le=1_000_000)
    pool_sigma: float = Field(ge=0, le=3)
    mean_kib: float = Field(ge=1, le=1024)
    size_sigma: float = Field(ge=0, le=2)
    read_bias: int = Field(ge=1, le=10)
    archives: float = Field(ge=0, le=1)
    arriving: int | None = Field(default=None, ge=1, le=9)
    visit_calls: int = Field(ge=1, le=10_000)
    paced: PostmarkPace | None = None

    @model_validator(mode="after")
    def _clients_in_a_closed_loop(self) -> Self:
        if (self.clients is None) != (self.paced is not None):
            raise ValueError("clients belong to a closed loop, and paced to a schedule")
        return self


class MailboxLoad(Clients, Sizes):
    """Mailboxes of many users.

    Attributes:
        messages: messages in all mailboxes.
    """

    users: int = Field(ge=1, le=5000)
    messages: int = Field(ge=20, le=1_000_000)


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


class SpoolPace(Pace):
    """Visits of a mail server that is written to.

    Attributes:
        mix: deliver (a message through the queue), defer (one that stays in it until its next run), and read, flag and
            discard, what users do with a message of theirs, to their weights.
    """

    mix: Mix


class SpoolLoad(MailboxLoad):
    """Dovecot behind a queue, written to all day; each client has users of its own.

    Attributes:
        messages: in all inboxes at the start; expiry brings each inbox back to what it had.
        archived: messages in all archives, which nobody touches.
        user_sigma: of the lognormal number of messages of a user.
        format: how Dovecot stores messages.
    """

    program: Literal["spool"]
    archived: int = Field(ge=20, le=1_000_000)
    user_sigma: float = Field(ge=0, le=3)
    format: Literal["maildir", "sdbox", "mdbox"]
    paced: SpoolPace


class NotmuchLoad(Clients, Sizes):
    """Notmuch over a Maildir: an index that new mail goes to and that searches read.

    Attributes:
        messages: that it begins with.
        words: of the vocabulary.
        deliver: messages that come in at once.
    """

    program: Literal["notmuch"]
    messages: int = Field(ge=20, le=1_000_000)
    words: int = Field(ge=100, le=1_000_000)
    deliver: int = Field(ge=1, le=10_000)


class DbenchPace(Pace):
    """Visits of an office's users, and jobs.

    Attributes:
        mix: reads (a whole document), peeks (up to 32 KiB of it), edits (such a part, in place), saves (a document
            anew), appends (up to 16 KiB) and listings (its folder) to their weights.
        project_files: files of the project that a build copies.
        backup_mib_s: pace of the backup.
        scan_mib_s, scan_share: pace of a virus scan, part of the folders that it reads.
    """

    mix: Mix
    project_files: int = Field(ge=1, le=100_000)
    backup_mib_s: MibPerS
    scan_mib_s: MibPerS
    scan_share: Share


class DbenchLoad(Clients, Sizes):
    """Dbench as the users of an office's file server, a dbench and a home folder each.

    Attributes:
        files: documents of the office.
        shared: part of the documents that lie in shared folders.
        shared_visits: part of the visits to them.
        user_sigma: of the lognormal activity of the users.
        backup_share: part of the folders that a backup reads.
    """

    program: Literal["dbench"]
    files: int = Field(ge=100, le=1_000_000)
    shared: float = Field(gt=0, lt=1)
    shared_visits: float = Field(ge=0, le=1)
    user_sigma: float = Field(ge=0, le=2)
    backup_share: Share
    paced: DbenchPace | None = None

    @model_validator(mode="after")
    def _a_document_each(self) -> Self:
        if (1 - self.shared) * self.files < self.clients:
            message = f"files {self.files} leave no document of their own for {self.clients} clients; raise files"
            raise ValueError(message)
        return self


class TreeLoad(Clients, Sizes):
    """Trees of files that clients change, read and copy.

    Attributes:
        trees: repositories, projects or modules, each with files of its own.
        files: files in all trees.
        batch: files that one operation changes.
    """

    trees: int = Field(ge=1, le=1000)
    files: int = Field(ge=20, le=1_000_000)
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


class CommandServer(Strict):
    """A server that a recipe's scripts speak to.

    Attributes:
        command: becomes the server, in the foreground; it listens at $port, or where `ready` looks.
        ready: succeeds as soon as the server answers; without, $port has to take connections.
        fill: what it is filled with once it answers, neither limited nor recorded.
        stop: signal at which it ends in order.
    """

    command: Script
    ready: Script | None = None
    fill: Script | None = None
    stop: Literal["INT", "QUIT", "TERM"] = "TERM"


class CommandsLoad(Clients):
    """A program of Debian's that scripts drive. Scripts are the shell's, and end at the first command that fails.

    Every script has the variables $root, a folder on the traced filesystem; $work, one on the host's; $port and $other,
    free ports; $seed, $items, $batch and the recipe's values. An operation also has $item, one of the items by the
    phase's popularity; $set, `batch` of them; $draw, a number below 2^31; $number, which no other operation has; and
    $client.

    Attributes:
        name: what the trace is of.
        packages: Debian packages.
        items: what operations draw from.
        batch: items that an operation draws.
        values: further variables.
        prepare: fills $root, neither limited nor recorded.
        server: where the program has one.
        client: module of `tools.capture.clients`, whose class has the operations that have no script.
        operations: what a phase's mix may name, each a script or none.
        jobs: what a phase's `beside` may name.
    """

    program: Literal["commands"]
    name: Name
    packages: tuple[str, ...] = Field(min_length=1)
    items: int = Field(ge=1, le=100_000_000)
    batch: int = Field(default=1, ge=1, le=10_000)
    values: dict[Name, int | float | str] = {}
    prepare: Script
    server: CommandServer | None = None
    client: Name = "commands"
    operations: dict[Name, Script | None] = Field(min_length=1)
    jobs: dict[Name, Script] = {}

    @model_validator(mode="after")
    def _somebody_does_it(self) -> Self:
        bare = sorted(name for name, script in self.operations.items() if script is None)
        if bare and self.client == "commands":
            raise ValueError(f"operations {', '.join(bare)} have no script; give them one, or name a client")
        return self


Load = Annotated[
    PostgresLoad
    | MariadbLoad
    | SqliteLoad
    | RocksdbLoad
    | SiteLoad
    | BlobLoad
    | PostmarkLoad
    | MaildirLoad
    | DovecotLoad
    | SpoolLoad
    | NotmuchLoad
    | DbenchLoad
    | GitLoad
    | RsyncLoad
    | BuildLoad
    | CommandsLoad,
    Field(discriminator="program"),
]
