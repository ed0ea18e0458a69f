"""NetSys' traces of disaggregated storage: `batch time ±page pages` at blanks, no header.

Times are microseconds. A page with a plus is written, one with a minus read; pages have 4,096 bytes. The batch says
nothing of a request and is not read.
"""

from collections.abc import Iterator

from pydantic import Field

from cachezoo.traces.delimited import Column, Layout, delimited
from cachezoo.traces.formats.base import Fit, Format, Head, Options, is_int, most_fit
from cachezoo.traces.reading import Chunk, Reading, bytes_of, microseconds
from cachezoo.traces.table import OP_READ, OP_WRITE, PAGE_BYTES

OPS = {"+": OP_WRITE, "-": OP_READ}


class NetsysOptions(Options):
    """`unit_bytes`: bytes of a page."""

    unit_bytes: int = Field(default=PAGE_BYTES, ge=1, le=2**30)


def _parted(block: bytes) -> bytes:
    """Rows whose signs are fields of their own: as a number, -0 would lose its sign."""
    return block.replace(b" +", b" + ").replace(b" -", b" - ")


LAYOUT = Layout(
    (
        Column("batch", "skip"),
        Column("time", "int"),
        Column("sign", "text", words=OPS),
        Column("page", "int"),
        Column("pages", "int"),
    ),
    delimiter=" ",
    edit=_parted,
)
FIELDS = 4


def _row_fits(row: list[str]) -> bool:
    return row[2][:1] in OPS and all(text.isascii() and text.isdigit() for text in (row[0], row[1], row[2][1:], row[3]))


def recognise(head: Head) -> Fit:
    """Four whole numbers, the third with its sign, plus and minus."""
    rows = head.rows(None)
    if not most_fit(rows, FIELDS, _row_fits):
        return Fit.NO
    # Without a plus the minus could be of any number.
    return Fit.SURE if any(len(row) == FIELDS and row[2].startswith("+") and is_int(row[3]) for row in rows) else Fit.NO


def read(reading: Reading, options: NetsysOptions) -> Iterator[Chunk]:
    """Requests in the files' order."""
    reading.notes["unit_bytes"] = str(options.unit_bytes)
    for rows in delimited(reading, LAYOUT):
        op, text = rows.op("sign", OPS)
        chunk = Chunk(
            row=rows.row,
            time_us=microseconds(rows.ints("time"), "us"),
            op=op,
            offset=bytes_of(rows.ints("page"), options.unit_bytes),
            size=bytes_of(rows.ints("pages"), options.unit_bytes),
            op_text=text,
        )
        yield reading.checked(rows.source, chunk)


FORMAT = Format(
    id="netsys",
    title="NetSys disaggregation text: batch, time, signed page, pages (microseconds, 4,096-byte pages)",
    recognise=recognise,
    read=read,
    options=NetsysOptions,
    needs="four whole numbers at blanks, the third with a plus (write) or a minus (read)",
    name="netsys|disaggregat",
)
