"""What a cache did with a page access, and what a stream says of it; the codes that every policy shares."""

# Outcome of an access, uint8.
BYPASSED = 0
ADMITTED = 1
HIT = 2
PREFETCHED = 3

# What `insert` returns besides the page that it drove out.
NONE = -1
REFUSED = -2

# Bits of a stream's flags, uint8 for each access.
WRITE = 1
REQUEST = 2  # the first access of a request
UNIT = 4  # the first access of what one admission decision covers
PREFETCH = 8  # not asked for: fetched if the request before it missed and was admitted
AROUND = 16  # goes around the cache, whatever the admission says
METADATA = 32  # a file system's own data, by the request's flags
