"""The words of a trace's page."""

TERMS = {
    "page access, page": "A page is the cache's unit of 4 KiB. A request touches one or more; each touch is an access.",
    "page hit ratio, hits": "Share of the page accesses of the trace's second half that find their page in the cache.",
    "warm-up": "A cache begins empty, so the first half of a trace warms it up and is not counted.",
    "LRU": "Least recently used: what was used longest ago is evicted first. The usual policy.",
    "ARC, S3-FIFO": "Policies that tell pages used once from pages used again, and resist scans better than LRU.",
    "optimum": (
        "Belady's rule with bypass: it knows the future, evicts what is used again last, and lets in no page that is "
        "not worth it. No cache can get more page hits."
    ),
    "footprint": "The distinct pages that the trace touches: the cache size from which nothing is ever evicted.",
    "working set": "The distinct pages touched in a window of time.",
    "reuse distance": (
        "How many other pages were accessed since a page's last access. LRU serves exactly the accesses whose "
        "distance is below the cache's size."
    ),
    "index of dispersion": (
        "Variance over mean of the requests in a window. 1 by chance (Poisson); larger: bursts; growing with the "
        "window: bursts of bursts."
    ),
    "Hurst": (
        "Hurst's exponent: 0.5 where load averages out as it does by chance; towards 1 the longer busy and quiet "
        "stretches last. From the variance of means over 1 to 128 of 8,192 windows."
    ),
    "Zipf": (
        "Zipf's law: the page of rank k gets accesses in proportion to k to the power of -s. The larger s, the more "
        "uneven."
    ),
    "sequential": (
        "Of 128 KiB or more, or beginning or ending where an earlier request of its window of 100 ends or begins."
    ),
    "strided": "Up to 64 KiB away from an earlier request of its window of 100.",
    "overlapped": "Sharing bytes with an earlier request of its window of 100.",
    "random": "None of the others: neither sequential, strided nor overlapped.",
    "TWSD": "Temporal Working Set Distribution: a way to sort requests into four kinds, as RC-RNN describes it.",
    "run": "Requests of one volume in a row, each beginning where the one before ended.",
    "write-back": "A write is answered from the cache and reaches the disk later, when its page is evicted.",
    "admission filter": "A rule that keeps pages out of the cache that are unlikely to come again.",
    "RC-RNN": "Ebrahimi et al.: a cache for storage that is reconfigured by recurrent neural networks.",
    "FIOS": "Bhimani et al.: puts writes of a like lifetime into one stream of an SSD by features of the workload.",
    "ACF": "Autocorrelation of the times between neighbouring writes; near 1: a short one follows a short one.",
}
