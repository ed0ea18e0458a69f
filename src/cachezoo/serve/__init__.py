"""`cachezoo serve`: a cache on an SSD before a disk, started, watched and stopped. Python 3.9 and the standard library.

One process supervises one nbdkit with the filter of `runtimes/c/nbdkit`. The package for servers runs this folder as
`cachezoo-serve` with the system's Python; `cachezoo serve` calls the same functions.
"""
