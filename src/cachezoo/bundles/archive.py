"""A bundle as one .zip: stored, ordered, timestamp-free, so that equal bundles are equal bytes.

There is one such archive for a bundle. A reader builds it anew from the entries it found and compares, so
that no byte of the archive can differ, comments, dates and gaps included.
"""

import io
import struct
import zipfile
from collections.abc import Mapping

from cachezoo.bundles.protocol import one_line
from cachezoo.errors import BundleError

EPOCH = (1980, 1, 1, 0, 0, 0)
MODE = 0o100644 << 16
UNIX = 3


def archive_bytes(files: Mapping[str, bytes]) -> bytes:
    """The archive of a bundle's files (all of them, manifest and seal included)."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(files):
            entry = zipfile.ZipInfo(name, EPOCH)
            entry.create_system = UNIX
            entry.external_attr = MODE
            archive.writestr(entry, files[name])
    return buffer.getvalue()


def read_archive(data: bytes, where: str) -> dict[str, bytes]:
    """Files of an archive that `archive_bytes` made.

    Raises:
        BundleError: damaged, or not the one archive of its files.
    """
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            entries = archive.infolist()
            stored = all(entry.compress_type == zipfile.ZIP_STORED for entry in entries)
            bounded = sum(entry.file_size for entry in entries) <= len(data)
            files = {entry.filename: archive.read(entry) for entry in entries} if stored and bounded else {}
    except (zipfile.BadZipFile, struct.error, ValueError, RuntimeError, EOFError, OSError, KeyError) as error:
        raise BundleError(f"{where}: not a readable zip ({one_line(error)}); copy or export it again") from error
    if len(files) != len(entries) or archive_bytes(files) != data:
        message = f"{where}: not the one archive of its files; unpack it and load the folder, or export it again"
        raise BundleError(message)
    return files
