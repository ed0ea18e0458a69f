"""FIU traces (IODedup, SRCMap): `time pid process lba size W|R major minor [digest]` between blanks, no header.

Times are nanoseconds of a monotonic clock of any origin; lba and size count 512-byte sectors. Major and minor are the
tracer's own numbers of the device. The digest of the content is not read: it may be missing, has 32 digits a row, or
32 for each sector, which makes very long lines. The files are called `.blkparse`, but are not blkparse's output.
Source: Koller and Rangaswami, "I/O Deduplication" (FAST '10), and the collection's README.
"""

from collections.abc import Iterator

from cachezoo.traces.delimited import Column, Layout, delimited, joined
from cachezoo.traces.formats.base import BOTH, Fit, Format, Head, Options, is_whole, most_fit
from cachezoo.traces.reading import READ_OR_WRITE, SECTOR_BYTES, Chunk, Reading, bytes_of, microseconds

LAYOUT = Layout(
    (
        Column("time", "int"),
        Column("pid", "skip"),
        Column("process", "text"),
        Column("lba", "int"),
        Column("size", "int"),
        Column("op", "text", words=READ_OR_WRITE),
        Column("major", "text"),
        Column("minor", "text"),
    ),
    delimiter=" ",
    ragged=True,
)


def _row_fits(row: list[str]) -> bool:
    return row[5].lower() in ("r", "w") and all(is_whole(row[place]) for place in (0, 1, 3, 4, 6, 7))


def recognise(head: Head) -> Fit:
    """Eight or nine fields, numbers but for the process, the letter R or W and the digest."""
    rows = head.rows(None)
    # One line may be longer than the head; its fields are known well before its end.
    rows = rows or ([] if head.text is None else [head.text.split()])
    return Fit.SURE if most_fit([row[:8] if len(row) <= 9 else [] for row in rows], 8, _row_fits) else Fit.NO


def read(reading: Reading, options: Options) -> Iterator[Chunk]:
    """Requests in the files' order; `user` is the process's name, `volume` MAJOR,MINOR."""
    del options
    for rows in delimited(reading, LAYOUT):
        op, text = rows.op("op")
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.ints("time"), "ns"),
            op=op,
            offset=bytes_of(rows.ints("lba"), SECTOR_BYTES),
            size=bytes_of(rows.ints("size"), SECTOR_BYTES),
            coded={"volume": joined(rows.coded("major"), rows.coded("minor"), ","), "user": rows.coded("process")},
            op_text=text,
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="fiu",
    title="FIU IODedup and SRCMap (nanoseconds, 512-byte sectors)",
    recognise=recognise,
    read=read,
    layout=LAYOUT,
    needs="eight or nine fields at blanks, numbers but for the process, W or R, and a digest",
    name=r"\.blkparse\b|\bfiu|cheetah|homes|webmail",
    sectors=BOTH,
    keeps=("user",),
)
