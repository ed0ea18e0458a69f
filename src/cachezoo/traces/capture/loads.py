"""The workloads' own parts of a recipe, and which workload takes which."""

from pydantic import BaseModel, ConfigDict, Field


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


SECTIONS = {"database": "database", "web": "web"}
