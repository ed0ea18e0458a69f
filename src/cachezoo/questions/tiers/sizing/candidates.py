"""The hierarchies that a search tries where nobody names any."""

from dataclasses import dataclass

HCA = "hcalfu | tb=64K | lru"
L2ARC = "l2arc"


@dataclass(frozen=True)
class Candidate:
    """A hierarchy that may be recommended.

    Attributes:
        text: as `cachezoo.questions.tiers.hierarchy` reads it.
        name: as people write it.
        does: what it does, in a sentence without a subject.
    """

    text: str
    name: str
    does: str


CANDIDATES = (
    Candidate("lru", "LRU in RAM alone", "keeps in RAM what was used last; there is no SSD"),
    Candidate("arc", "ARC in RAM alone", "balances what was used lately and what is used often; there is no SSD"),
    Candidate("lirs", "LIRS in RAM alone", "keeps in RAM what comes back soon; there is no SSD"),
    Candidate("wtinylfu", "W-TinyLFU in RAM alone", "keeps in RAM what is asked for often; there is no SSD"),
    Candidate(HCA, "HCA", "keeps in RAM what is used most often, and what leaves it on the SSD, in batches"),
    Candidate("lru | tb=64K | lru", "LRU over LRU", "keeps in RAM what was used last, and what leaves it on the SSD"),
    Candidate("arc | tb=64K | lru", "ARC over LRU", "is ARC in RAM, with what leaves it on the SSD"),
    Candidate("lirs | tb=64K | lru", "LIRS over LRU", "is LIRS in RAM, with what leaves it on the SSD"),
    Candidate("wtinylfu | tb=64K | lru", "W-TinyLFU over LRU", "is W-TinyLFU in RAM, with what leaves it on the SSD"),
    Candidate("lru | tb=64K | s3fifo", "LRU over S3-FIFO", "drops early from the SSD what came once"),
    Candidate(
        "lru | tb=64K | rejectx+lru", "LRU over LRU behind RejectX", "lets a page on the SSD when it comes again"
    ),
    Candidate(
        "promotion: lru | s3fifo", "LRU with copies on S3-FIFO", "copies up what the SSD has, and keeps it there"
    ),
    Candidate("promotion: arc | lru", "ARC with copies on LRU", "copies up what the SSD has, and keeps it there"),
    Candidate("promotion: lirs | lfu", "LIRS with copies on LFU", "keeps on the SSD what RAM let go of most often"),
    Candidate("inclusive: lru | lru", "inclusive LRU and LRU", "puts every page that misses in RAM on the SSD too"),
    Candidate("inclusive: lru | s3fifo", "inclusive LRU and S3-FIFO", "puts what misses in RAM on the SSD too"),
    Candidate(L2ARC, "L2ARC", "is ZFS's ARC, which copies pages to the SSD before they leave RAM"),
)
TEXTS = tuple(one.text for one in CANDIDATES)
NAMES = {one.text: one.name for one in CANDIDATES}


def name_of(text: str) -> str:
    """How people write a hierarchy; one that is no candidate as it is."""
    return NAMES.get(text, text)
