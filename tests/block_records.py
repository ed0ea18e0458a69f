"""An encoder of blktrace's binary records, written from the kernel's header alone."""

import struct

QUEUE, REQUEUE, ISSUE, COMPLETE, REMAP = 1, 6, 7, 8, 15
READ, WRITE, FLUSH, SYNC, PC, NOTIFY, AHEAD, META, DISCARD, FUA = (
    1 << bit for bit in (0, 1, 2, 3, 9, 10, 11, 12, 13, 15)
)
CGROUP = 0x100
PROCESS, TIMESTAMP, MESSAGE = 0, 1, 2


class Records:
    """The records of one processor's file.

    Args:
        version: 7 or 8.
        order: ``<`` or ``>``.
        cpu: the processor.
    """

    def __init__(self, version=7, order="<", cpu=0):
        self.version, self.order, self.cpu = version, order, cpu
        self.parts = []

    def add(self, action, category, time_ns, sector=0, sectors=0, *, device=(8, 0), pid=1, error=0, pdu=b"", size=None):
        """Append a record; `size` in bytes instead of `sectors`."""
        magic = 0x65617400 | self.version
        action = category << 16 | action
        number = device[0] << 20 | device[1]
        size = 512 * sectors if size is None else size
        sector %= 2**64
        begin = (magic, len(self.parts) + 1, time_ns, sector, size)
        if self.version == 7:
            rest = (action, pid, number, self.cpu, error % 65536, len(pdu))
            self.parts.append(struct.pack(self.order + "IIQQIIIIIHH", *begin, *rest) + pdu)
        else:
            rest = (pid, action, number, self.cpu, error % 65536, len(pdu))
            self.parts.append(struct.pack(self.order + "IIQQIIQIIHH12x", *begin, *rest) + pdu)
        return self

    def name(self, pid, comm, time_ns=0):
        """Append the name of a process."""
        return self.add(PROCESS, NOTIFY, time_ns, device=(0, 0), pid=pid, pdu=comm.encode().ljust(16, b"\0"))

    @property
    def data(self):
        """The file."""
        return b"".join(self.parts)
