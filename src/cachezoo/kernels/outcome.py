"""What a cache did with a page access, and what a stream says of it: the one table of codes, for every cache."""

# Outcome of an access, uint8.
BYPASSED = 0
ADMITTED = 1
HIT = 2
PREFETCHED = 3
ADMITTED_FREE = 4  # of an oracle alone: into free space; `ADMITTED` is then in place of another page

# What `insert` returns where it is not the page evicted: no page was, or the page asked for was kept out.
NONE = -1
REFUSED = -2

# Bits of a stream's flags, uint8 for each access.
WRITE = 1
REQUEST = 2  # the first access of a request
UNIT = 4  # the first access of what one admission decision covers
PREFETCH = 8  # not asked for: fetched if the request before it missed and was admitted
AROUND = 16  # goes around the cache, whatever the admission says
METADATA = 32  # a file system's own data, by the request's flags
