"""One alternative against another on one trace: what counts, in which blocks of time, the lead, the verdict."""
