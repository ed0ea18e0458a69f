"""The workloads' own parts of a recipe, and which workload takes which."""

from typing import Self

from pydantic import BaseModel, ConfigDict, Field, model_validator


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


SECTIONS = {"database": "database", "web": "web", "mail": "mail", "fileserver": "fileserver"}
