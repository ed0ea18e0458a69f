"""The workloads' own parts of a recipe, and which workload takes which."""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

MIN_THETA_DISTANCE = 0.005


class Strict(BaseModel):
    """Base of recipes: frozen, unknown keys refused."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class DatabaseLoad(Strict):
    """PostgreSQL under pgbench with scripts of our own.

    Attributes:
        scale: pgbench's scale; 100,000 accounts (about 15 MB) each.
        ledger_mib: size of the ledger, the table that reports scan and orders append to.
        shared_buffers_mib: PostgreSQL's own cache; counts as memory of the group.
        clients: connections of a segment.
        theta: Zipf exponent over the account pages, above 1.
        drift_pages: account pages a day by which the hot set moves.
        lookups, updates, recents, orders: weights of the transactions.
        report_mib_s: pace of a report's scan.
        batch_rows: ledger rows that a batch job appends.
    """

    scale: int = Field(ge=1, le=200)
    ledger_mib: int = Field(ge=1, le=1024)
    shared_buffers_mib: int = Field(ge=1, le=256)
    clients: int = Field(ge=1, le=64)
    theta: float = Field(gt=1, le=3)
    drift_pages: int = Field(ge=0)
    lookups: int = Field(ge=1)
    updates: int = Field(ge=1)
    recents: int = Field(ge=1)
    orders: int = Field(ge=1)
    report_mib_s: float = Field(gt=0, le=200)
    batch_rows: int = Field(ge=1, le=1_000_000)


class WebLoad(Strict):
    """Nginx and wrk on a site of articles, each a page and its assets.

    Attributes:
        articles: articles of the site; files are about `1 + assets` times as many.
        assets: mean number of assets of an article (geometric).
        median_kib, sigma: lognormal file sizes.
        max_kib: larger files are cut to this.
        clients: connections of a segment.
        theta: Zipf exponent over the articles by age, 0 uniform.
        drift_articles: new articles a day; an article enters as the most popular and grows old.
        publish_articles: articles that a publish job writes.
        crawl_rate: pages a second that the crawler fetches, in order.
        crawl_share: part of the site it fetches.
        backup_mib_s: pace of the backup.
        backup_share: part of the site's folders that it reads.
    """

    articles: int = Field(ge=10, le=1_000_000)
    assets: float = Field(ge=0, le=20)
    median_kib: float = Field(gt=0)
    sigma: float = Field(ge=0, le=3)
    max_kib: int = Field(ge=1)
    clients: int = Field(ge=1, le=256)
    theta: float = Field(ge=0, le=3)
    drift_articles: int = Field(ge=0)
    publish_articles: int = Field(ge=1)
    crawl_rate: float = Field(gt=0)
    crawl_share: float = Field(gt=0, le=1)
    backup_mib_s: float = Field(gt=0, le=200)
    backup_share: float = Field(gt=0, le=1)


class MariadbLoad(Strict):
    """MariaDB under sysbench with a script of our own.

    Attributes:
        accounts: rows of the accounts, about 230 bytes each.
        ledger_mib: size of the ledger, the table that reports scan and orders append to.
        buffer_pool_mib: InnoDB's own cache; counts as memory of the group.
        clients: connections of a segment.
        theta: Zipf exponent over groups of accounts, not 1.
        drift_groups: groups a day by which the hot set moves.
        lookups, updates, recents, ranges, orders: weights of the transactions.
        report_mib_s: pace of a report's scan.
        batch_rows: ledger rows that a batch job appends.
        purge_rows: oldest rows that a purge deletes of the history and of the ledger.
        log_mib: size of InnoDB's redo log, which is written round and round; 64 without.
    """

    accounts: int = Field(ge=1000, le=20_000_000)
    ledger_mib: int = Field(ge=1, le=1024)
    buffer_pool_mib: int = Field(ge=8, le=256)
    clients: int = Field(ge=1, le=64)
    theta: float = Field(gt=0, le=3)
    drift_groups: int = Field(ge=0)
    lookups: int = Field(ge=1)
    updates: int = Field(ge=1)
    recents: int = Field(ge=1)
    ranges: int = Field(ge=1)
    orders: int = Field(ge=1)
    report_mib_s: float = Field(gt=0, le=200)
    batch_rows: int = Field(ge=1, le=1_000_000)
    purge_rows: int = Field(ge=1, le=1_000_000)
    log_mib: int | None = Field(default=None, ge=8, le=4096)

    @field_validator("theta")
    @classmethod
    def _invertible(cls, theta: float) -> float:
        if abs(theta - 1) < MIN_THETA_DISTANCE:
            message = "theta 1 has no inverse; take 0.99 or 1.01"
            raise ValueError(message)
        return theta


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


class _ReadAllDay(Tenant):
    """Attributes of tenants that clients read all day.

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


class StreamTenant(_ReadAllDay):
    """Objects are read from their start, chunk by chunk.

    Attributes:
        follow: probability that a client goes on after a chunk.
    """

    kind: Literal["stream"]
    follow: float = Field(ge=0, le=1)


class ColumnTenant(_ReadAllDay):
    """Objects are tables stored by column.

    Attributes:
        columns: of a table.
        columns_read: mean number that a query reads (geometric).
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


class BlobLoad(Strict):
    """Nginx as an object store under wrk: tenants on volumes of their own.

    Attributes:
        clients: connections of a segment.
        scan_clients: connections of a scan.
        read_kib: what the server reads at once.
        ingest_mib_s: pace of an ingest job.
        tenants: two or more, by different names.
    """

    clients: int = Field(ge=1, le=256)
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
            message = "tenants need names of their own, and one of them a kind that is read all day"
            raise ValueError(message)
        return self


class MailLoad(Strict):
    """Postmark as the mail server of many domains, each with a pool of messages.

    Attributes:
        domains: mail domains, a postmark each.
        messages: messages in all pools.
        pool_sigma: of the lognormal number of messages of a domain.
        mean_kib: mean size of a message.
        size_sigma: of the domains' lognormal mean sizes; within a domain sizes are uniform.
        read_bias: tenths of the accesses to messages that read; the rest append. Domains differ by up to 1.
        archives: part of the domains that get no new messages and delete none.
        theta: Zipf exponent over the domains, 0 uniform.
        drift_domains: ranks a day by which a domain rises until it is the first and then the last.
        hours: how much a domain's share of the visits changes over its day, as a part of its mean.
        visit_calls: mean number of reads and writes of 4 KiB of a visit; the schedule's rate counts these calls.
        backup_mib_s, backup_share: pace of the backup, part of the domains that it reads.
        search_mib_s: pace of searches and of compaction, which rewrites messages.
        search_share, compact_share: part of the domains that a job takes.
    """

    domains: int = Field(ge=1, le=256)
    messages: int = Field(ge=20, le=1_000_000)
    pool_sigma: float = Field(ge=0, le=3)
    mean_kib: float = Field(ge=1, le=1024)
    size_sigma: float = Field(ge=0, le=2)
    read_bias: int = Field(ge=1, le=10)
    archives: float = Field(ge=0, le=1)
    theta: float = Field(ge=0, le=3)
    drift_domains: float = Field(ge=0)
    hours: float = Field(ge=0, lt=1)
    visit_calls: int = Field(ge=1, le=10_000)
    backup_mib_s: float = Field(gt=0, le=200)
    backup_share: float = Field(gt=0, le=1)
    search_mib_s: float = Field(gt=0, le=200)
    search_share: float = Field(gt=0, le=1)
    compact_share: float = Field(gt=0, le=1)


class SpoolLoad(Strict):
    """Dovecot behind a queue, written to all day.

    Attributes:
        users: mailboxes.
        messages: in all inboxes at the start; expiry brings each inbox back to what it had.
        archived: messages in all archives, which nobody touches.
        user_sigma: of the lognormal number of messages of a user.
        median_kib, sigma: lognormal message sizes.
        max_kib: larger messages are cut to this.
        clients: at once, each with users of its own.
        theta: Zipf exponent over the users, 0 uniform.
        drift_users: ranks a day by which the users' order moves on.
        deliver, defer, read, flag, discard: weights of the visits: a message through the queue, one that stays in it
            until its next run, and what users do with a message of theirs.
        format: how Dovecot stores messages.
    """

    users: int = Field(ge=2, le=5000)
    messages: int = Field(ge=20, le=1_000_000)
    archived: int = Field(ge=20, le=1_000_000)
    user_sigma: float = Field(ge=0, le=3)
    median_kib: float = Field(gt=0)
    sigma: float = Field(ge=0, le=3)
    max_kib: int = Field(ge=1, le=65_536)
    clients: int = Field(ge=1, le=64)
    theta: float = Field(ge=0, le=3)
    drift_users: int = Field(ge=0)
    deliver: int = Field(ge=1)
    defer: int = Field(ge=0)
    read: int = Field(ge=0)
    flag: int = Field(ge=0)
    discard: int = Field(ge=0)
    format: Literal["maildir", "sdbox", "mdbox"]


class FileserverLoad(Strict):
    """Dbench as the users of an office's file server.

    Attributes:
        clients: users, each with a home folder.
        files: documents of the office.
        shared: part of the documents that lie in shared folders.
        shared_visits: part of the visits to them.
        median_kib, sigma: lognormal document sizes.
        max_kib: larger documents are cut to this.
        user_sigma: of the lognormal activity of the users.
        theta: Zipf exponent over the documents by age, 0 uniform.
        drift_files: documents a day that become the most popular in turn.
        reads, peeks, edits, saves, appends, listings: weights of the visits: read a whole document or up to 32 KiB of
            it, write such a part in place, write a document anew, append up to 16 KiB to it, list its folder.
        project_files: files of the project that a build copies.
        backup_mib_s, backup_share: pace of the backup, part of the folders that it reads.
        scan_mib_s, scan_share: the same of a virus scan.
    """

    clients: int = Field(ge=1, le=64)
    files: int = Field(ge=100, le=1_000_000)
    shared: float = Field(gt=0, lt=1)
    shared_visits: float = Field(ge=0, le=1)
    median_kib: float = Field(gt=0)
    sigma: float = Field(ge=0, le=3)
    max_kib: int = Field(ge=1, le=65_536)
    user_sigma: float = Field(ge=0, le=2)
    theta: float = Field(ge=0, le=3)
    drift_files: int = Field(ge=0)
    reads: int = Field(ge=1)
    peeks: int = Field(ge=0)
    edits: int = Field(ge=0)
    saves: int = Field(ge=0)
    appends: int = Field(ge=0)
    listings: int = Field(ge=0)
    project_files: int = Field(ge=1, le=100_000)
    backup_mib_s: float = Field(gt=0, le=200)
    backup_share: float = Field(gt=0, le=1)
    scan_mib_s: float = Field(gt=0, le=200)
    scan_share: float = Field(gt=0, le=1)

    @model_validator(mode="after")
    def _a_document_each(self) -> Self:
        if (1 - self.shared) * self.files < self.clients:
            message = f"files {self.files} leave no document of their own for {self.clients} clients; raise files"
            raise ValueError(message)
        return self


SECTIONS = {
    "database": "database",
    "web": "web",
    "lighttpd": "web",
    "blob": "blob",
    "mariadb": "mariadb",
    "mail": "mail",
    "fileserver": "fileserver",
    "spool": "spool",
}
