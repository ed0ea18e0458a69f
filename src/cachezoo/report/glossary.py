"""The page's words, and the commands behind its figures."""

TERMS = {
    "page access": "The cache's unit of 4 KiB; a request touches one or more, and each touch is an access.",
    "hit ratio": (
        "Page accesses found in the cache, of those in the second half of the trace; the first warms the cache up. All "
        "policies run at the same cache size. In points: hundredths."
    ),
    "classic": (
        "A policy that a cache could run and that learns nothing beforehand: FIFO, LRU, ARC … The best classic is "
        "the one with the most hits on the very trace, which nobody knows beforehand; the one that validation would "
        "have chosen, with its defaults or with values of its own, is what one could have deployed."
    ),
    "online": "A policy that learns while it runs, from the trace that it serves, and is not counted as a classic.",
    "bound, optimum": (
        "Sees the future: no cache can run it. The optimum is Belady's MIN with bypass; it bounds page hits, not "
        "response times or writes."
    ),
    "gap closed": (
        "The hit ratio's lead over the best classic, as a share of the optimum's lead over it. Negative: fewer hits "
        "than the best classic. None where the optimum leads by less than 2 points."
    ),
    "90 % interval": (
        "Over blocks of the trace's time, heeding that neighbours correlate. It says how far chance moves the figure "
        "on such a trace, not how another workload would do."
    ),
    "response time": (
        "The SSD's time where all pages of a request were in the cache, else the disk's, on the modelled devices, "
        "and a model's decision cost on every request."
    ),
    "decision cost": (
        "What conf/evaluate sets for a decision of each kind of model; measured times are in docs/benchmarks.md."
    ),
    "SSD writes": "Pages let into the cache, and pages written while they are in it.",
    "disks kept busy": (
        "Seconds of disk-head time for reads, a second: of the disk behind a flash cache, a seek and then the "
        "transfer. 2.1 means that two disks are not enough. Busiest window: what the disks must be bought for; one "
        "window decides it, so it has no interval."
    ),
    "RejectX, CoinFlip, OPT": (
        "RejectX admits on the second miss, CoinFlip by chance. OPT admits the best episodes, knowing the future. "
        "All are held to the same flash writes. The best policy without a model is RejectX or CoinFlip with the "
        "prefetch that validation chose."
    ),
    "HCA, L2ARC, CacheLib-like": (
        "Ways to put an SSD below RAM. HCA: what leaves RAM waits in a buffer and goes to the SSD in batches; a page "
        "is in one of them. ZFS's L2ARC: pages at RAM's tail are copied to the SSD now and then. CacheLib-like: what "
        "leaves RAM is copied to the SSD, and what is found there is copied up. Inclusive: what RAM misses goes to "
        "the SSD at once. Any policies: each order with policies of this project in RAM and on the SSD."
    ),
    "promoted, champion": (
        "Promoted is a model that beat its baseline on validation with the interval of the difference above 0. Test "
        "traces decide nothing. Such a model may be champion: the one that runs, as zoo.json says."
    ),
    "home, set-up": (
        "Where a test trace stands to what the cache for every workload was trained on: later days of the very "
        "recipes; another set-up of a program trained on; a program never trained on. The last two are the "
        "carry-over."
    ),
    "next use, expert, follower": (
        "A forest guesses in how many page accesses a page is used again, and a cache keeps what is worth most for "
        "its time. It is one expert beside classics; the follower holds what the expert that hits most of late "
        "holds."
    ),
    "floor": "At most 0.01 of hit ratio, and one reload of the cache, below the best classic in hindsight.",
    "unseen program": (
        "A test trace of the same kind of workload, recorded from a program that no train trace came from."
    ),
    "twsd, frequency, iosize": (
        "What the workload classifier is compared with: shares of kinds of requests in a window (by pattern, by how "
        "often they were accessed before, by size), named by a linear layer."
    ),
    "unknown": (
        "The workload classifier's answer where a window, or ten of them, is unlike every trace that it learned from."
    ),
    "share, split": (
        "Applications that run at the same time share one cache, or each has a part of its own; a partitioner decides "
        "how large. UCP and G-VPA change the parts as time goes by."
    ),
    "AcceptAll": (
        "A flash cache that lets everything in. It has no write budget, so it is no rival: it may write tens of "
        "times as much."
    ),
    "drive writes a day": (
        "How often the whole cache would be overwritten in a day of this load; SSDs are commonly rated for 0.3 to 3."
    ),
    "verdict": (
        "Deploy: surely more hits than the best classic and requests no slower, or surely fewer disks kept busy, in "
        "the busiest window too. Only if SSD writes matter: fewer SSD writes, but the hits may be chance or "
        "requests are slower. Don't: the rest. A workload's verdict is the worst of its home traces."
    ),
    "validation's classic": (
        "The classic that hits most on the validation traces, with its defaults or values of its own: what one "
        "would run without a model."
    ),
}

COMMANDS = (
    ("make repro", "everything on this page, from the traces on"),
    (".venv/bin/dvc repro report", "this page, and whatever it needs that is out of date"),
    (".venv/bin/dvc repro evaluate", "policies in the page cache: metrics/page/CATEGORY.json"),
    (".venv/bin/dvc repro evaluate_flash", "policies in the flash cache: metrics/flash/CATEGORY.json"),
    (
        ".venv/bin/dvc repro evaluate_tiers",
        "RAM and SSD for the same money: metrics/tiers/CATEGORY.json",
    ),
    (".venv/bin/dvc repro evaluate_share", "one cache for several applications: metrics/share/mixes.json"),
    (".venv/bin/dvc repro evaluate_workload", "the workload classifier: metrics/workload.json"),
    (".venv/bin/dvc repro evaluate_reuse", "one cache for every workload: metrics/reuse.json"),
    (".venv/bin/cachezoo models results", "the table of policies and traces in the terminal; --json for all digits"),
    (".venv/bin/cachezoo trace info FILE", "a trace's statistics"),
    (".venv/bin/cachezoo compare FILE --bundle DIR", "policies and a bundle on any trace"),
    (".venv/bin/cachezoo recommend --only tiers FILE --ram SIZE --ssd SIZE", "hierarchies of RAM and SSD on any trace"),
    (".venv/bin/cachezoo models bundle inspect DIR", "a bundle's figures and files"),
    ("make ui", "the same models as runs in MLflow, with learning curves"),
)
